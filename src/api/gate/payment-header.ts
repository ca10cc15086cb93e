import { Problem } from '../../base/problem.ts'
import type { RailHeaders } from '../../domain/rail.ts'
import { type HttpRequest, linesOf } from '../http/request.ts'

export type PaymentHeader = {
  readonly name: string
  /** Does what stands there begin with a payment? */
  isPayment(value: string): boolean
  /** How many payments are there, if any? */
  count(value: string): number
}

/**
 * Is this request meant to pay? Then by exactly one payment, of one protocol, in one header: two could be read differently by a proxy
 * and by us.
 */
export function createPaymentFinder(
  rails: readonly { readonly headers: RailHeaders }[],
): (request: HttpRequest) => boolean {
  const headers = rails.map(({ headers }) => paymentHeader(headers.credential))
  return (request) => {
    let isPaid = false
    let payments = 0
    let lines = 0
    for (const { name, isPayment, count } of headers) {
      const value = request.header(name)
      if (value === undefined) continue
      isPaid ||= isPayment(value)
      payments += count(value)
      lines = Math.max(lines, linesOf(request, name))
    }
    if (lines > 1 || payments > 1)
      throw new Problem('ambiguous_payment', 'Send exactly one payment header, once; none was looked at.')
    return isPaid
  }
}

export function paymentHeader({ name, scheme }: RailHeaders['credential']): PaymentHeader {
  const lowerName = name.toLowerCase()
  if (scheme === null) return { name: lowerName, isPayment: () => true, count: paymentsIn }
  const begins = new RegExp(`^\\s*${scheme}\\s`, 'i')
  const between = new RegExp(`,\\s*(?=${scheme}\\s)`, 'i')
  return {
    name: lowerName,
    isPayment: (value) => begins.test(value),
    count: (value) => value.split(between).filter((part) => begins.test(part)).length,
  }
}

/** JSON that nobody encoded is one payment with commas in it: whoever reads it says that it is to be encoded. No rail can decode it. */
function paymentsIn(value: string): number {
  return value.trimStart().startsWith('{') ? 1 : value.split(',').length
}
