import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import type { Rail } from '../../domain/rail.ts'
import type { PaidRoute } from '../../domain/route.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'
import { noInput } from '../facts/json-schema.ts'
import { inputSchemaOf, listingOf, mergedInputs, paidOutputSchema, withArgument } from './listing.ts'

export const idempotencyKeyField = z
  .string()
  .regex(IDEMPOTENCY_KEY)
  .describe('Your own name for this purchase, 8 to 128 visible ASCII characters: the same key never buys twice')

/** What `tools/list` says of a tool that costs something. */
export function paidListing(tool: ToolDescription, rows: readonly PaidRoute[]) {
  const [row] = rows
  const { price } = row!.offer
  const inputSchema = mergedInputs(rows.map(({ body }) => inputSchemaOf(tool.input ?? body ?? noInput)))
  const rails = rows.map(({ offer }) => offer.rail)
  const challenges = rails.filter(({ mcp }) => mcp.contentKey !== null).map(({ documents }) => documents.challenge)
  return listingOf(tool, {
    inputSchema:
      tool.effect === 'spends' ? withArgument(inputSchema, 'idempotencyKey', idempotencyKeyField) : inputSchema,
    outputSchema: paidOutputSchema(row!.result, challenges),
    _meta: {
      ...paymentMeta(rails, price.kind === 'listed' ? 'listed' : 'quoted'),
      ...Object.assign({}, ...rails.map(({ mcp }) => mcp.toolMeta)),
    },
  })
}

/** What a tool of one price costs now, where clients look for it. The challenge decides: they keep a list for as long as they run. */
export async function priceMeta(rows: readonly PaidRoute[]): Promise<JsonObject> {
  const { price } = rows[0]!.offer
  if (price.kind !== 'listed') return {}
  const now = formatUsd(await price.now())
  const rails = rows.map(({ offer }) => offer.rail)
  const keys = rails.flatMap(({ mcp }) => mcp.priceKey ?? [])
  return { ...paymentMeta(rails, now), ...Object.fromEntries(keys.map((key) => [key, Number(now)])) }
}

function paymentMeta(rails: readonly Rail[], price: string): JsonObject {
  return { 'sutler/payment': { protocols: rails.map(({ name }) => name), price } }
}
