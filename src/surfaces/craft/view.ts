import * as z from 'zod'
import type { Json, JsonObject } from '../../base/json.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../domain/offer.ts'
import { publicFields, purchaseFields } from '../../domain/purchase-fields.ts'
import { chargeOf, type TokenCharge } from './accelerate.ts'
import type { Accelerate, Burn } from './schema.ts'

const actionFields = {
  actionId: z.string().describe('The same as orderId'),
  ...purchaseFields,
  user: z.string(),
  actionTx: z.string().nullable().describe('The transaction that carried the action out'),
  timers: z
    .array(z.object({ id: z.string(), readyAt: z.iso.datetime() }))
    .describe('Crafting timers that the action started or shortened; empty until it is confirmed'),
}

export const burnActionSchema = z
  .object({
    ...actionFields,
    type: z.literal('burn'),
    nfts: z.array(z.object({ contract: z.string(), tokenId: z.string() })),
  })
  .meta({ id: 'BurnAction', description: 'A paid burn of NFTs' })

export const accelerateActionSchema = z
  .object({
    ...actionFields,
    type: z.literal('accelerate'),
    amount: z.string().describe('Atomic units of the craft token'),
    amountSource: z.enum(['request', 'default']),
  })
  .meta({ id: 'AccelerateAction', description: 'A paid acceleration of crafting timers' })

const publicActionFields = { ...publicFields, actionId: actionFields.actionId.optional() }

/** The status of an action, of either kind. */
export const craftActionSchema = z
  .discriminatedUnion('type', [
    burnActionSchema.extend(publicActionFields).meta({ id: 'BurnActionStatus', description: 'How far a burn is' }),
    accelerateActionSchema
      .extend(publicActionFields)
      .meta({ id: 'AccelerateActionStatus', description: 'How far an acceleration is' }),
  ])
  .meta({ id: 'CraftAction', description: 'A paid craft action' })

type Audience = 'buyer' | 'public'

export function presentBurn(view: PurchaseView<Burn>, audience: Audience = 'buyer'): JsonObject {
  return { ...actionMembers('burn', view, audience), nfts: view.input.nfts }
}

export function presentAccelerate(
  view: PurchaseView<Accelerate>,
  defaultAmount: bigint,
  audience: Audience = 'buyer',
): JsonObject {
  // Without a plan nothing is decided yet: only a payment that moved before we heard of it is shown so.
  const { amount, amountSource } = (view.plan ?? chargeOf(view.input, defaultAmount)) as TokenCharge
  return { ...actionMembers('accelerate', view, audience), amount, amountSource }
}

function actionMembers(
  type: 'burn' | 'accelerate',
  view: PurchaseView<Burn> | PurchaseView<Accelerate>,
  audience: Audience,
): JsonObject {
  const timers = (view.result?.['timers'] ?? []) as Json
  const common = audience === 'buyer' ? { actionId: view.orderId, ...commonMembers(view) } : publicMembers(view)
  return { type, ...common, user: view.input.user, actionTx: view.deliveryTx, timers }
}
