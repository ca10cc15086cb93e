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
  dueArrivals,
  findArrival,
  sweepDust,
  touchArrival,
} from '../store/arrivals.ts'
import { RefundsUsedUp } from '../store/refund-budget.ts'
import type { Books } from './reconcile-context.ts'
import { underLease } from './held.ts'

const PAGE = 100
/** One look at a till takes no longer than this; the rest comes first next time. */
const WORK_MS_MAX = 60_000

/** Money that reached a till and that no order claims: looked into when it is old enough, and sent back when it stays so. */
export async function workOrphans(books: Books, till: Till, lease: Lease): Promise<void> {
  await sweepDust(books.db, till.id, books.policy)
  const end = books.clock.now() + WORK_MS_MAX
  const seen = new Set<string>()
  for (;;) {
    const due = await dueArrivals(books.db, till.id, { ...books.policy, limit: PAGE })
    const fresh = due.filter(({ id, state }) => !seen.has(`${state} ${id}`))
    if (fresh.length === 0) return
    for (const arrival of fresh) {
      if (books.clock.now() > end) return
      seen.add(`${arrival.state} ${arrival.id}`)
      await workOn(books, till, arrival, lease)
    }
  }
}

/** One of them must not keep the others from being looked at. */
async function workOn(books: Books, till: Till, arrival: Arrival, lease: Lease): Promise<void> {
  const hasMoved = await step(books, till, arrival, lease).catch((error) => {
    books.log.warn('money without a purchase could not be looked into', { arrivalId: arrival.id, error })
    return false
  })
  if (!hasMoved) await touchArrival(books.db, arrival)
}

async function step(books: Books, till: Till, arrival: Arrival, lease: Lease): Promise<boolean> {
  if (arrival.state === 'unclaimed') return (await judge(books, till, arrival)) !== null
  if (!(await till.isDeep(arrival))) return false
  const refunding = arrival.state === 'orphaned' ? await beginReturn(books, till, arrival, null) : arrival
  return refunding !== null && (await finishReturn(books, till, refunding, lease)).state === 'refunded'
}

/** Nobody has claimed it. Says so to the outside world, and whether it goes back by itself. Null: not yet. */
async function judge(books: Books, till: Till, arrival: Arrival): Promise<Arrival | null> {
  if (till.isOwn(arrival.sender)) return changeArrival(books.db, arrival, { to: 'own', reason: null, event: null })
  const claimant = await claimantOf(books.db, await till.rail.identityOf(arrival))
  if (claimant.kind === 'order' && isAboutToMatch(claimant, arrival)) return null
  const { reason, orderId } = explained(claimant, arrival)
  const obstacle = await obstacleTo(books, till, arrival, claimant)
  return change(books, till, arrival, {
    to: obstacle ? 'held' : 'orphaned',
    reason: obstacle ?? reason,
    orderId,
    type: 'payment.orphaned',
  })
}

/** Its order has it, or is about to: the next look at the till puts them together. */
function isAboutToMatch(
  { status, paymentTx, isPaid }: Claimant & { kind: 'order' },
  { transaction }: Arrival,
): boolean {
  return status === 'settling' || (paymentTx === transaction && !isPaid)
}

function explained(claimant: Claimant, arrival: Arrival): { reason: string; orderId?: string | undefined } {
  if (claimant.kind === 'order' && claimant.status === 'expired')
    return { reason: 'It landed after its order had been given up.', orderId: claimant.orderId }
  if (arrival.reason !== null) return { reason: arrival.reason }
  if (claimant.kind !== 'order') return { reason: 'No purchase came with it.' }
  return { reason: `It was paid beside what paid order ${claimant.orderId} in ${arrival.transaction}.` }
}

/** Why it must not go back by itself. */
async function obstacleTo(books: Books, till: Till, arrival: Arrival, claimant: Claimant): Promise<string | null> {
  const { id } = arrival
  if (claimant.kind === 'arrival' && claimant.arrivalId !== id)
    return `Its payment was set aside before, as ${claimant.arrivalId}.`
  if (claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid)
    return `Order ${claimant.orderId} claims it, for another payer or amount.`
  return obstacleToReturn(books, till, arrival)
}

/** The same, as far as it can be said without asking who claims it. */
export async function obstacleToReturn(books: Books, till: Till, arrival: Arrival): Promise<string | null> {
  const { sender, amount } = arrival
  if (!books.policy.refundsOrphans) return 'Orphans wait for a person here.'
  if (amount < books.policy.refundAtLeast) return 'It is too little to be sent back by itself.'
  if (books.isBlocked(sender)) return 'Its sender is blocked.'
  if (await till.isContract(sender)) return 'Its sender is a contract; whose money it is must be found out first.'
  if ((await books.refundedToday()) + amount > books.policy.refundsPerDay)
    return 'The automatic refunds of this day are used up.'
  return null
}

/**
 * The name of the payment is taken in the same transaction: from then on it cannot buy anything, and whoever presents it a moment before
 * has bought, and nothing goes back.
 */
async function beginReturn(books: Books, till: Till, arrival: Arrival, by: string | null): Promise<Arrival | null> {
  const identity = await till.rail.identityOf(arrival)
  const claimant = await claimantOf(books.db, identity)
  if (claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid) return null
  const begun = {
    to: 'refunding',
    reason: arrival.reason,
    decidedBy: by ?? 'automatic',
    claim: claimant.kind === 'nobody' ? identity : null,
    type: 'refund.created',
  } as const
  if (by !== null) return change(books, till, arrival, begun)
  const budget = { perDay: books.policy.refundsPerDay, perPayer: null }
  try {
    return await change(books, till, arrival, { ...begun, budget })
  } catch (error) {
    if (!(error instanceof RefundsUsedUp)) throw error
    await changeArrival(books.db, arrival, { to: 'held', reason: error.message, event: null })
    return null
  }
}

/** Journaled under the arrival's own id: however often this runs, one transfer leaves. */
async function finishReturn(books: Books, till: Till, arrival: Arrival, lease: Lease): Promise<Arrival> {
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

/** A person decides about money that nobody claimed: back to its sender, or it stays. */
export async function decideArrival(
  books: Books,
  arrivalId: string,
  { decision, by }: { readonly decision: 'refund' | 'keep'; readonly by: string },
): Promise<{ readonly arrival: Arrival; readonly till: Till }> {
  const arrival = await findArrival(books.db, arrivalId)
  const till = books.tills.find(({ id }) => id === arrival?.till)
  if (!arrival) throw new Problem('order_not_found', `There is no arrival ${arrivalId.slice(0, 40)}.`)
  if (!till)
    throw new Problem(
      'refund_refused',
      `Arrival ${arrival.id} came to a till that this configuration has not; name the one that had it in SUTLER_RETIRED_ENV.`,
    )
  if (!['held', 'orphaned', 'dust'].includes(arrival.state))
    throw new Problem('refund_refused', `Arrival ${arrival.id} is ${arrival.state}; there is nothing to decide.`)
  const decided =
    decision === 'refund'
      ? await underLease(books, (lease) => returnNow(books, till, arrival, { by, lease }))
      : await keep(books, till, arrival, by)
  if (!decided) throw new Problem('refund_refused', `Arrival ${arrival.id} was claimed meanwhile; look at it again.`)
  return { arrival: decided, till }
}

async function returnNow(
  books: Books,
  till: Till,
  arrival: Arrival,
  { by, lease }: { readonly by: string; readonly lease: Lease },
): Promise<Arrival | null> {
  if (!(await till.isDeep(arrival)))
    throw new Problem('refund_refused', `Arrival ${arrival.id} is not deep enough in the chain yet; try again soon.`)
  const refunding = await beginReturn(books, till, arrival, by)
  return refunding && finishReturn(books, till, refunding, lease)
}

async function keep(books: Books, till: Till, arrival: Arrival, by: string): Promise<Arrival | null> {
  const claim = await freeName(books, till, arrival)
  return changeArrival(books.db, arrival, { to: 'kept', reason: arrival.reason, decidedBy: by, claim, event: null })
}

/** Takes money out of circulation until a person has decided: its name is taken, so that it cannot buy anything. */
export async function holdArrival(books: Books, till: Till, arrival: Arrival, reason: string): Promise<Arrival | null> {
  const claim = await freeName(books, till, arrival)
  return change(books, till, arrival, { to: 'held', reason, claim, type: 'payment.orphaned' })
}

async function freeName(books: Books, till: Till, arrival: Arrival): Promise<string | null> {
  const identity = await till.rail.identityOf(arrival)
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
