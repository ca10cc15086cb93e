import * as z from 'zod'
import type { JsonObject } from '../base/json.ts'

/**
 * How a row of the route table shows itself to MCP hosts. Rows that share a tool's name are one tool: the rails it may be paid on, or
 * the places where it looks.
 */
export type ToolDescription = {
  readonly name: string
  readonly title: string
  /** Words of ours alone: a model takes them for instructions, so nothing that a user or a catalog wrote may stand here. */
  readonly description: string
  /** `reads`: free. `costs`: paid, and takes nothing else. `spends`: paid, and what it does cannot be undone. */
  readonly effect: 'reads' | 'costs' | 'spends'
  /** Only where the tool's arguments are not the row's own parameters; `request` then makes these out of them. */
  readonly input?: z.ZodType<JsonObject>
  readonly request?: (input: JsonObject) => JsonObject
  /** The tool that tells what became of a purchase. */
  readonly pollWith?: string
}

/** The last words of every tool that sells what is handed over. */
export const DELIVERED =
  'The answer carries the receipt; if it says that delivery is still under way, poll and do not pay again.'

/** How a tool is told which purchase is meant. It was called `paymentTx` once, and whoever kept that word is understood. */
export const referenceInput: z.ZodType<{ readonly reference: string }> = z.preprocess(
  renamed,
  z.strictObject({
    reference: z
      .string()
      .min(1)
      .describe('Payment transaction; the order id, the nonce of the payment or the challenge id work too'),
  }),
) as unknown as z.ZodType<{ readonly reference: string }>

function renamed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('paymentTx' in value) || 'reference' in value) return value
  const { paymentTx: reference, ...rest } = value
  return { ...rest, reference }
}
