import { Problem } from '../base/problem.ts'
import type { Lease } from '../domain/lease.ts'
import type { PaidOrder } from '../domain/rail.ts'
import { type Arrival, presentArrival, type Till } from '../domain/till.ts'
import {
  type ArrivalChange,
  type Claimant,
  changeArrival,
  changedArrival,
  claimantOf,
  findArrival,
  openArrivals,
} from '../store/arrivals.ts'
import type { Books } from './books.ts'
import { underLease } from './held.ts'

const OPEN_MAX = 1_000

/** Money that reached a till and that no order claims: looked into when it is old enough, and sent back when it stays so. */
export async function workOrphans(books: Books, till: Till, lease: Lease): Promise<void> {
  const { orphanAfterSeconds, refundAfterSeconds } = books.policy
  for (const { arrival, ageSeconds } of await openArrivals(books.db, till.id, OPEN_MAX)) {
    const isDue = arrival.state === 'unclaimed' && ageSeconds >= orphanAfterSeconds
    const judged = isDue ? await judge(books, till, arrival) : arrival
    if (judged?.state === 'orphaned' && ageSeconds >= refundAfterSeconds)
      await sendBack(books, till, judged, { by: null, lease })
    if (judged?.state === 'refunding') await finishRefund(books, till, judged, lease)
  }
}

/** Nobody has claimed it in time. Says so to the outside world, and whether it goes back by itself. Null: not yet. */
async function judge(books: Books, till: Till, arrival: Arrival): Promise<Arrival | null> {
  if (till.isOwn(arrival.sender)) return changeArrival(books.db, arrival, { to: 'own', reason: null, event: null })
  const claimant = await claimantOf(books.db, await till.identityOf(arrival))
  if (claimant.kind === 'order' && claimant.status === 'settling') return null
  const { reason, orderId } = explained(claimant, arrival)
  const obstacle = await obstacleTo(books, till, arrival, claimant)
  return change(books, till, arrival, {
    to: obstacle ? 'held' : 'orphaned',
    reason: obstacle ?? reason,
    orderId,
    type: 'payment.orphaned',
  })
}

function explained(claimant: Claimant, arrival: Arrival): { reason: string; orderId?: string | undefined } {
  if (claimant.kind !== 'order') return { reason: 'No purchase came with it.' }
  if (claimant.status === 'expired')
    return { reason: 'It landed after its order had been given up.', orderId: claimant.orderId }
  return { reason: `It was paid beside what paid order ${claimant.orderId} in ${arrival.transaction}.` }
}

/** Why it must not go back by itself. */
async function obstacleTo(books: Books, till: Till, arrival: Arrival, claimant: Claimant): Promise<string | null> {
  const { sender, amount, id } = arrival
  if (claimant.kind === 'arrival' && claimant.arrivalId !== id)
    return `Its payment was set aside before, as ${claimant.arrivalId}.`
  if (claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid)
    return `Order ${claimant.orderId} claims it, for another payer or amount.`
  if (!books.policy.refundsOrphans) return 'Orphans wait for a person here.'
  if (amount < books.policy.refundAtLeast) return 'It is too little to be sent back by itself.'
  if (books.isBlocked(sender)) return 'Its sender is blocked.'
  if (await till.isContract(sender)) return 'Its sender is a contract; whose money it is must be found out first.'
  return null
}

/**
 * The name of the payment is taken in the same transaction: from then on it cannot buy anything, and whoever presents it a moment before
 * has bought, and nothing goes back.
 */
async function sendBack(
  books: Books,
  till: Till,
  arrival: Arrival,
  { by, lease }: { readonly by: string | null; readonly lease: Lease },
): Promise<Arrival | null> {
  const identity = await till.identityOf(arrival)
  const claimant = await claimantOf(books.db, identity)
  if (claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid) return null
  const refunding = await change(books, till, arrival, {
    to: 'refunding',
    reason: arrival.reason,
    decidedBy: by ?? 'automatic',
    claim: claimant.kind === 'nobody' ? identity : null,
    type: 'refund.created',
  })
  return refunding && finishRefund(books, till, refunding, lease)
}

/** Journaled under the arrival's own id: however often this runs, one transfer leaves. */
async function finishRefund(books: Books, till: Till, arrival: Arrival, lease: Lease): Promise<Arrival> {
  const outcome = await till.rail.refund(asPaidOrder(arrival, till), lease)
  if (outcome.kind === 'pending') {
    books.log.warn('refund of an orphan is not through yet', { arrivalId: arrival.id, detail: outcome.detail })
    return arrival
  }
  const refunded = await change(books, till, arrival, {
    to: 'refunded',
    reason: arrival.reason,
    refundTx: outcome.transaction,
    type: 'refund.completed',
  })
  return refunded ?? arrival
}

function asPaidOrder({ id, sender, amount, transaction, foundAt }: Arrival, { rail }: Till): PaidOrder {
  return {
    id,
    payer: sender,
    amount,
    asset: rail.asset,
    network: rail.network,
    payTo: rail.payTo,
    expiresAt: foundAt,
    authorization: null,
    inDoubt: false,
    createdAt: foundAt,
    settlement: { transaction, network: rail.network, payer: sender, settledAt: foundAt },
  }
}

/** A person decides about money that nobody claimed: back to its sender, or it stays. */
export async function decideArrival(
  books: Books,
  arrivalId: string,
  { decision, by }: { readonly decision: 'refund' | 'keep'; readonly by: string },
): Promise<{ readonly arrival: Arrival; readonly till: Till }> {
  const arrival = await findArrival(books.db, arrivalId)
  const till = books.tills.find(({ id }) => id === arrival?.till)
  if (!arrival || !till) throw new Problem('order_not_found', `There is no arrival ${arrivalId.slice(0, 40)}.`)
  if (arrival.state !== 'held' && arrival.state !== 'orphaned')
    throw new Problem('refund_refused', `Arrival ${arrival.id} is ${arrival.state}; there is nothing to decide.`)
  const decided =
    decision === 'refund'
      ? await underLease(books, (lease) => sendBack(books, till, arrival, { by, lease }))
      : await changeArrival(books.db, arrival, {
          to: 'kept',
          reason: arrival.reason,
          decidedBy: by,
          claim: await freeName(books, till, arrival),
          event: null,
        })
  if (!decided) throw new Problem('refund_refused', `Arrival ${arrival.id} was claimed meanwhile; look at it again.`)
  return { arrival: decided, till }
}

/** Takes money out of circulation until a person has decided: its name is taken, so that it cannot buy anything. */
export async function holdArrival(books: Books, till: Till, arrival: Arrival, reason: string): Promise<Arrival | null> {
  const claim = await freeName(books, till, arrival)
  return change(books, till, arrival, { to: 'held', reason, claim, type: 'payment.orphaned' })
}

async function freeName(books: Books, till: Till, arrival: Arrival): Promise<string | null> {
  const identity = await till.identityOf(arrival)
  return (await claimantOf(books.db, identity)).kind === 'nobody' ? identity : null
}

type Step = Omit<ArrivalChange, 'event'> & { readonly type: NonNullable<ArrivalChange['event']>['type'] }

async function change(books: Books, till: Till, arrival: Arrival, { type, ...to }: Step): Promise<Arrival | null> {
  const data = presentArrival(changedArrival(arrival, to), till)
  const changed = await changeArrival(books.db, arrival, { ...to, event: { type, data } })
  if (changed && changed.state !== 'refunded')
    books.log.error('money without a purchase', {
      arrivalId: arrival.id,
      state: changed.state,
      paymentTx: arrival.transaction,
      amount: arrival.amount,
      reason: changed.reason,
    })
  return changed
}
