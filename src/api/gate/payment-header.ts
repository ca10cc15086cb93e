import { Problem } from '../../base/problem.ts'
import { type HttpRequest, linesOf } from '../http/request.ts'

const PAYMENT_SCHEME = /^\s*Payment\s/i

/**
 * Is this request meant to pay? Then by exactly one payment, of one protocol, in one header: two could be read differently by a proxy
 * and by us.
 */
export function hasPayment(request: HttpRequest): boolean {
  const signature = request.header('payment-signature')
  const authorization = request.header('authorization')
  if (signature === undefined && authorization === undefined) return false
  const credentials = (authorization ?? '')
    .split(/,\s*(?=Payment\s)/i)
    .filter((part) => PAYMENT_SCHEME.test(part)).length
  const isAmbiguous =
    linesOf(request, 'payment-signature') > 1 ||
    linesOf(request, 'authorization') > 1 ||
    credentials > 1 ||
    (signature !== undefined && (credentials === 1 || signature.includes(',')))
  if (isAmbiguous) throw new Problem('ambiguous_payment', 'Send exactly one payment header, once; nothing was taken.')
  return signature !== undefined || PAYMENT_SCHEME.test(authorization!)
}
