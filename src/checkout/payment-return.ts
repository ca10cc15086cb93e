import { Problem } from '../base/problem.ts'
import type { OrphanedPayment, Rail } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'

/** The answer for the caller who showed a payment that buys nothing. */
export async function returnPayment(
  { checkout, offer }: { readonly checkout: Checkout; readonly offer: { readonly rail: Rail } },
  orphaned: OrphanedPayment,
): Promise<Problem> {
  const { transaction: paymentTx, detail } = orphaned
  const statusUrl = checkout.paymentUrl(offer.rail.name, paymentTx)
  const fate = await checkout.fateOf(offer.rail.name, paymentTx)
  switch (fate.kind) {
    case 'returning':
      return new Problem('payment_returned', detail, { statusUrl, members: { refund: fate.refund, paymentTx } })
    case 'held':
      return new Problem('payment_returned', `${detail} It waits for a person, who decides when.`, {
        statusUrl,
        members: { paymentTx },
      })
    case 'kept':
      return new Problem('payment_conflict', 'This payment bought nothing, and the operator decided that it stays.', {
        action: 'none',
        statusUrl,
        members: { paymentTx },
      })
    case 'claimed':
      return new Problem('payment_conflict', 'That transaction pays another purchase, and buys nothing here.', {
        statusUrl,
        members: { paymentTx },
      })
  }
}
