import { redact } from '../base/log.ts'
import { isProblem, Problem } from '../base/problem.ts'

// The same words are said before anything was paid and after. Before, "nothing was taken" is what a buyer most wants to know; after, it is not true.

const NOTHING_TAKEN =
  /[;,]?\s*(?:so )?(?:nothing was (?:taken|charged)|this (?:payment|one) was not taken)(?: for this order)?/gi

/** A sentence as it may be said of an order whose money has moved, or may have. */
export function paidWords(text: string): string {
  const said = text.replace(NOTHING_TAKEN, '').trim()
  // A sentence that was nothing but the promise leaves its full stop behind.
  return said.replace(/(^|[.!?])\s*\.(?=\s|$)/g, '$1').trim()
}

/** A refusal of which nobody knows whether money has moved. */
export function withoutClaim({ code, message, extra }: Problem): Problem {
  return new Problem(code, paidWords(message), { ...extra, taken: 'unknown' })
}

/** The same for an error that is logged beside such an order. */
export function paidError(error: unknown): unknown {
  if (!isProblem(error)) return error
  const { code, message, extra } = error
  return new Problem(code, paidWords(message), { ...extra, cause: paidError(extra.cause ?? error.cause) })
}

const CAUSES_MAX = 3

/** Why a try came to nothing, in one line for whoever looks into it: the error, and what it was caused by. */
export function reasonOf(error: unknown): string {
  const parts: string[] = []
  for (let at = error; at instanceof Error && parts.length <= CAUSES_MAX; at = at.cause) {
    const { code } = at as { code?: unknown }
    const words = paidWords(at.message)
    parts.push(typeof code === 'string' && !words.includes(code) ? `${code}: ${words}` : words)
  }
  return redact(parts.length === 0 ? String(error) : parts.join(' (') + ')'.repeat(parts.length - 1))
}
