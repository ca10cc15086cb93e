import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import type { Offer } from '../../domain/offer.ts'
import { probePrice } from '../../domain/price.ts'
import { quote, quoteSchema } from '../../domain/quote.ts'
import type { RailName } from '../../domain/rail.ts'
import {
  type FreeAnswer,
  free,
  type Host,
  paid,
  type Route,
  referenceParams,
  STATUS_ANSWERS,
} from '../../domain/route.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'
import type { RowContext } from '../surface.ts'
import { chargeOf } from './accelerate.ts'
import { type CraftConfig, craftConfigSchema } from './config.ts'
import type { Accelerate, Burn, CraftSchemas } from './schema.ts'
import { toolTexts } from './tools.ts'
import { accelerateActionSchema, burnActionSchema, craftActionSchema } from './view.ts'

export type CraftCounter = {
  readonly burn: ReadonlyMap<RailName, Offer<Burn>>
  readonly accelerate: ReadonlyMap<RailName, Offer<Accelerate>>
  readonly schemas: CraftSchemas
  readonly config: CraftConfig
  readonly defaultAmount: bigint
  readonly examples: { readonly burn: JsonObject; readonly accelerate: JsonObject }
}

const craftQuoteSchema = quoteSchema
  .extend({
    type: z.enum(['burn', 'accelerate']),
    amount: z.string().optional().describe('What an acceleration would charge, in atomic units of the craft token'),
    amountSource: z.enum(['request', 'default']).optional(),
  })
  .meta({ id: 'CraftQuote', description: 'A free check of a craft action: every reason why not, and how to mend it' })

const CONFIG_SECONDS = 30

export function craftRows(context: RowContext, craft: CraftCounter, rail: RailName): readonly Route[] {
  const burn = craft.burn.get(rail)
  const accelerate = craft.accelerate.get(rail)
  if (!burn || !accelerate) return []
  const common = { surface: 'craft', host: hostOf(context, rail) } as const
  const path = `/craft/${rail}` as const
  const urls = {
    burn: context.urlOf(rail, `${path}/burn`),
    accelerate: context.urlOf(rail, `${path}/accelerate`),
    quote: context.urlOf(rail, `${path}/quote`),
    status: context.urlOf(rail, `${path}/actions/{paymentTx}`),
  }

  const quoteAction = async (body: z.output<CraftSchemas['quote']>): Promise<FreeAnswer> => {
    if (body.type === 'burn') {
      const { type, ...request } = body
      return about({ type }, await quote(burn, request, urls.burn))
    }
    // The amount is spelled out: what was quoted is what the paid call charges, even if the default changes in between.
    const { type, ...request } = body
    const charge = chargeOf(request, craft.defaultAmount)
    const spelledOut = { ...request, amount: charge.amount }
    return about({ type, ...charge }, await quote(accelerate, spelledOut, urls.accelerate))
  }

  return [
    free(`GET ${path}/config`, {
      ...common,
      summary: 'Craft configuration: contracts, limits, approvals, payment terms',
      tools: [toolTexts.craftConfig],
      result: craftConfigSchema,
      cache: { maxAgeSeconds: CONFIG_SECONDS },
      handle: async () => ({
        body: await craft.config({ protocol: rail, payment: await paymentTerms(burn), routes: urls }),
      }),
    }),
    free(`POST ${path}/quote`, {
      ...common,
      summary: 'Check a burn or an acceleration before paying',
      description: 'Free. Runs every check of the paid route and tells how to mend what fails.',
      tools: quoteTools(craft.schemas),
      body: craft.schemas.quote,
      example: { type: 'burn', ...craft.examples.burn },
      result: craftQuoteSchema,
      bucket: 'quote',
      handle: ({ body }) => quoteAction(body),
    }),
    paid(`POST ${path}/burn`, {
      ...common,
      offer: burn,
      body: craft.schemas.burn,
      example: craft.examples.burn,
      result: burnActionSchema,
      tools: [toolTexts.craftBurn],
      summary: 'Burn approved NFTs for crafting',
      description:
        'Transfers 1 to 20 approved ERC-721 tokens of the payer to the craft controller, all or none. Approve each of them alone: an approval of all is 403.',
    }),
    paid(`POST ${path}/accelerate`, {
      ...common,
      offer: accelerate,
      body: craft.schemas.accelerate,
      example: craft.examples.accelerate,
      result: accelerateActionSchema,
      tools: [toolTexts.craftAccelerate],
      summary: 'Speed up crafting timers',
      description:
        'Charges an approved amount of the craft token and shortens the running timers of the payer. Approve just that amount: more is 403.',
    }),
    craftStatusRow(context, rail),
  ]
}

/** Model vendors refuse a union at the root of a tool's arguments, so the quote is two tools, one for each type. */
function quoteTools({ burn, accelerate }: CraftSchemas): readonly ToolDescription[] {
  return [
    { ...toolTexts.quoteCraftBurn, input: burn, request: (input) => ({ type: 'burn', ...input }) },
    { ...toolTexts.quoteCraftAccelerate, input: accelerate, request: (input) => ({ type: 'accelerate', ...input }) },
  ]
}

function about(members: JsonObject, { body }: { readonly body: JsonObject }): FreeAnswer {
  return { body: { ...members, ...body } }
}

/** The rail's terms under the names that the contract gives them (contract 5.4.1 and those after it). Its documents nest what is special to a protocol; here it lies flat. */
async function paymentTerms({ rail, price }: Offer<Burn>): Promise<JsonObject> {
  const { protocols, offers: _, ...terms } = rail.describe(await probePrice(price))
  const [own] = protocols as readonly Readonly<Partial<Record<RailName, JsonObject>>>[]
  return { ...terms, ...own?.[rail.name] }
}

/** Also where the shop sells none any more: what was sold is still told. */
export function craftStatusRow(context: RowContext, rail: RailName): Route {
  return free(`GET /craft/${rail}/actions/{paymentTx}`, {
    surface: 'craft',
    host: hostOf(context, rail),
    summary: 'Status of a paid craft action',
    tools: [toolTexts.craftAction],
    params: referenceParams,
    statuses: STATUS_ANSWERS,
    result: craftActionSchema,
    handle: ({ params }) => context.purchaseStatus('craft', rail, params.paymentTx),
  })
}

/** Crafting belongs to the main host, whichever rail pays for it; where that has a host of its own, it answers on both (contract 4.3.12). */
function hostOf({ hostOf, mainHost }: RowContext, rail: RailName): Host {
  return hostOf(rail) === mainHost ? mainHost : 'both'
}
