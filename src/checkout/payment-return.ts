import { Problem } from '../base/problem.ts'
import type { OrphanedPayment, Rail } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'

/** Begins the refund of a payment that buys nothing, and returns the answer for the caller who showed it. */
export async function returnPayment(
  { checkout, offer }: { readonly checkout: Checkout; readonly offer: { readonly rail: Rail } },
  orphaned: OrphanedPayment,
): Promise<Problem> {
  const { transaction: paymentTx, detail } = orphaned
  const statusUrl = checkout.paymentUrl(offer.rail.name, paymentTx)
  const sent = await checkout.sendBack(offer.rail.name, orphaned)
  switch (sent.kind) {
    case 'returning':
      return new Problem('payment_returned', detail, { statusUrl, members: { refund: sent.refund, paymentTx } })
    case 'kept_for_now':
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
