import { AUTOMATIC } from '../domain/order.ts'
import type { PaidOrder, Rail } from '../domain/rail.ts'
import type { Arrival, Till } from '../domain/till.ts'
import { alikeBefore, paymentName } from '../store/orders/known-payments.ts'
import { type BuyersShare, type RefundBudget, RefundsUsedUp } from '../store/refund-budget.ts'
import { type ArrivalChange, changeArrival, claimantOf } from '../store/tills/arrivals.ts'
import { changeAndTell } from './arrival-change.ts'
import { withExclusiveLease } from './exclusive-lease.ts'
import type { ReconcileContext } from './reconcile-context.ts'

/** The operator who decided that it goes back, and what is written with it. Without one it goes back automatically, within the budget of a day. */
type Decided = Pick<ArrivalChange, 'alongside'> & { readonly by: string }

/**
 * Takes the name of the payment in the same transaction: from then on it cannot buy anything. A payer who presents it a moment before
 * has bought, and nothing goes back.
 */
export async function beginReturn(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  decided: Decided | null,
): Promise<Arrival | null> {
  const identity = await till.rail.identityOf(arrival)
  const claimant = await claimantOf(context.db, identity)
  if (claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid) return null
  const begun = {
    to: 'refunding',
    reason: arrival.reason,
    decidedBy: decided?.by ?? AUTOMATIC,
    claim: claimant.kind === 'nobody' ? identity : null,
    type: 'refund.created',
  } as const
  if (decided) return changeAndTell(context, till, arrival, { ...begun, alongside: decided.alongside })
  const budget = await budgetOf(context, till)
  try {
    return await changeAndTell(context, till, arrival, { ...begun, budget })
  } catch (error) {
    if (!(error instanceof RefundsUsedUp)) throw error
    await changeArrival(context.db, arrival, { to: 'held', reason: error.message, event: null })
    return null
  }
}

/** Anybody can send money that buys nothing. */
export async function budgetOf({ policy }: ReconcileContext, till: Till): Promise<RefundBudget> {
  const { refundsPerDay: perDay, receiverRefundPercent: percent } = policy
  return { perDay, perPayer: null, byBuyers: await buyersShare(till.rail, till, percent) }
}

/** However often this runs, one transfer leaves: the chain refuses a second one under the payment's name. */
export async function finishReturn(context: ReconcileContext, till: Till, arrival: Arrival): Promise<Arrival> {
  const { rail } = till
  const paid = asPaidOrder(arrival, till)
  const name = await paymentNameOf(context, till, arrival)
  const sent = await withExclusiveLease(context, arrival.id, (lease) =>
    rail.refund(paid, {
      lease,
      name,
      stillOwed: async () => (await till.isDeep(arrival)) && (await rail.isPaymentShown(paid)),
    }),
  )
  const outcome = sent?.result ?? { kind: 'pending', detail: 'Somebody is at work on it right now.' }
  if (outcome.kind === 'pending') {
    context.log.warn('refund of an orphaned payment is pending', {
      arrivalId: arrival.id,
      detail: outcome.detail,
    })
    return arrival
  }
  const refunded = await changeAndTell(context, till, arrival, {
    to: 'refunded',
    reason: arrival.reason,
    refundTx: outcome.transaction,
    type: 'refund.completed',
  })
  return refunded ?? arrival
}

/** Of two transfers under one name only the first has taken it. A transfer without a name has its transaction. */
async function paymentNameOf(context: ReconcileContext, till: Till, arrival: Arrival): Promise<string> {
  const { id, transaction, sender, amount } = arrival
  const taken = await paymentName(context.db, { id, network: till.rail.network })
  return taken ?? [till.id, transaction, sender, amount, await alikeBefore(context.db, id)].join('/').toLowerCase()
}

function asPaidOrder({ id, sender, amount, transaction, foundAt }: Arrival, { rail, payTo }: Till): PaidOrder {
  return {
    id,
    payer: sender,
    amount,
    asset: rail.asset,
    network: rail.network,
    payTo,
    expiresAt: foundAt,
    authorization: null,
    inDoubt: false,
    createdAt: foundAt,
    settlement: { transaction, network: rail.network, payer: sender, settledAt: foundAt },
  }
}

/** What may go back on a rail of money that was paid there, though nothing of the shop has failed. */
export async function buyersShare(
  rail: Rail,
  { payTo }: Pick<PaidOrder, 'payTo'>,
  percent: number,
): Promise<BuyersShare> {
  return { network: rail.network, asset: rail.asset, float: await rail.float(payTo), percent }
}
