import { redact } from '../base/log.ts'
import { isProblem, Problem } from '../base/problem.ts'

// The same problem texts are used before and after a payment. Before it, "nothing was taken" is what a buyer most wants to know; after it, that is not true.

const NOTHING_TAKEN =
  /[;,]?\s*(?:so )?(?:nothing was (?:taken|charged)|this (?:payment|one) was not taken)(?: for this order)?/gi

/** The text without "nothing was taken", for an order whose money has moved or may have. */
export function paidWords(text: string): string {
  const said = text.replace(NOTHING_TAKEN, '').trim()
  // A sentence that said nothing else leaves its full stop behind.
  return said.replace(/(^|[.!?])\s*\.(?=\s|$)/g, '$1').trim()
}

/** The same problem for a payment of which it is not known whether money has moved. */
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

/** Why a try failed, in one line for the operator: the error and its causes. */
export function reasonOf(error: unknown): string {
  const parts: string[] = []
  for (let at = error; at instanceof Error && parts.length <= CAUSES_MAX; at = at.cause) {
    const { code } = at as { code?: unknown }
    const words = paidWords(at.message)
    parts.push(typeof code === 'string' && !words.includes(code) ? `${code}: ${words}` : words)
  }
  return redact(parts.length === 0 ? String(error) : parts.join(' (') + ')'.repeat(parts.length - 1))
}
