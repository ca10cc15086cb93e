import { Problem } from '../base/problem.ts'
import { AUTOMATIC } from '../domain/order.ts'
import type { PaidOrder } from '../domain/rail.ts'
import { type Arrival, presentArrival, type Till } from '../domain/till.ts'
import { hurry } from '../store/jobs.ts'
import { RefundsUsedUp } from '../store/orders/refund-budget.ts'
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
} from '../store/tills/arrivals.ts'
import { setAsideAt } from '../store/tills/books.ts'
import { matchNamed } from '../store/tills/matching.ts'
import { alone } from './held.ts'
import { RECONCILE, type ReconcileContext } from './reconcile-context.ts'

const PAGE = 100
/** One look at a till takes no longer than this; the rest comes first next time. */
const WORK_MS_MAX = 60_000

/** Money that reached a till and that no order claims: looked into when it is old enough, and sent back when it stays so. */
export async function workOrphans(context: ReconcileContext, till: Till): Promise<void> {
  await sweepDust(context.db, till.id, context.policy)
  const end = context.clock.now() + WORK_MS_MAX
  const seen = new Set<string>()
  for (;;) {
    const due = await dueArrivals(context.db, till.id, { ...context.policy, limit: PAGE })
    const fresh = due.filter(({ id, state }) => !seen.has(`${state} ${id}`))
    if (fresh.length === 0) return
    for (const arrival of fresh) {
      if (context.clock.now() > end) return
      seen.add(`${arrival.state} ${arrival.id}`)
      await workOn(context, till, arrival)
    }
  }
}

/** One of them must not keep the others from being looked at. */
async function workOn(context: ReconcileContext, till: Till, arrival: Arrival): Promise<void> {
  const hasMoved = await step(context, till, arrival).catch((error) => {
    context.log.warn('stray payment could not be checked', { arrivalId: arrival.id, error })
    return false
  })
  if (!hasMoved) await touchArrival(context.db, arrival)
}

async function step(context: ReconcileContext, till: Till, arrival: Arrival): Promise<boolean> {
  if (arrival.state === 'unclaimed') return (await judge(context, till, arrival)) !== null
  if (!(await till.isDeep(arrival))) return false
  const refunding = arrival.state === 'orphaned' ? await beginReturn(context, till, arrival, null) : arrival
  return refunding !== null && (await finishReturn(context, till, refunding)).state === 'refunded'
}

/** Nobody has claimed it. Says so to the outside world, and whether it goes back by itself. Null: not yet. */
async function judge(context: ReconcileContext, till: Till, arrival: Arrival): Promise<Arrival | null> {
  if (till.isOwn(arrival.sender)) return changeArrival(context.db, arrival, { to: 'own', reason: null, event: null })
  const identity = await till.rail.identityOf(arrival)
  const claimant = await claimantOf(context.db, identity)
  if (claimant.kind === 'order' && isAboutToMatch(claimant, arrival)) return null
  // Its order counts on another transaction, which carried the same payment and did not land, or not for good.
  if (claimant.kind === 'order' && (await matchNamed(context.db, arrival, identity))) return arrival
  const { reason, orderId } = explained(claimant, arrival)
  const obstacle = await obstacleTo(context, till, arrival, claimant)
  return change(context, till, arrival, {
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
async function obstacleTo(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  claimant: Claimant,
): Promise<string | null> {
  const { id } = arrival
  if (claimant.kind === 'arrival' && claimant.arrivalId !== id)
    return `Its payment was set aside before, as ${claimant.arrivalId}.`
  if (claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid)
    return `Order ${claimant.orderId} claims it, for another payer or amount.`
  return obstacleToReturn(context, till, arrival)
}

/** The same, as far as it can be said without asking who claims it. */
export async function obstacleToReturn(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
): Promise<string | null> {
  const { sender, amount } = arrival
  if (!context.policy.refundsOrphans) return 'Orphans wait for a person here.'
  if (amount < context.policy.refundAtLeast) return 'It is too little to be sent back by itself.'
  if (await isAfterSetAside(context, arrival))
    return 'The books were put back shortly before it came; whether it had bought something must be found out first.'
  if (await context.isBlocked(sender)) return 'Its sender is blocked.'
  if (await till.isContract(sender)) return 'Its sender is a contract; whose money it is must be found out first.'
  if ((await context.refundedToday()) + amount > context.policy.refundsPerDay)
    return 'The automatic refunds of this day are used up.'
  return null
}

/** What the chain had taken back and somebody brings to it again comes soon. */
const AGAIN_MS_MAX = 3_600_000

/** A payment that had bought, and that the chain did not show when the books were read again, looks like any other when it is back. */
async function isAfterSetAside({ db }: ReconcileContext, { till, foundAt }: Arrival): Promise<boolean> {
  return foundAt < (await setAsideAt(db, till)) + AGAIN_MS_MAX
}

/**
 * The name of the payment is taken in the same transaction: from then on it cannot buy anything, and whoever presents it a moment before
 * has bought, and nothing goes back.
 */
async function beginReturn(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  decided: Pick<ArrivalDecision, 'by' | 'alongside'> | null,
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
  if (decided) return change(context, till, arrival, { ...begun, alongside: decided.alongside })
  const budget = { perDay: context.policy.refundsPerDay, perPayer: null }
  try {
    return await change(context, till, arrival, { ...begun, budget })
  } catch (error) {
    if (!(error instanceof RefundsUsedUp)) throw error
    await changeArrival(context.db, arrival, { to: 'held', reason: error.message, event: null })
    return null
  }
}

/**
 * Journaled under the arrival's own id: however often this runs, one transfer leaves. While a key is rotated two may have a key each, and what one of
 * them signs the other must see: so one at a time, a person or whoever keeps the books.
 */
async function finishReturn(context: ReconcileContext, till: Till, arrival: Arrival): Promise<Arrival> {
  const { rail } = till
  const paid = asPaidOrder(arrival, till)
  const sent = await alone(context, arrival.id, (lease) => rail.refund(paid, lease, () => rail.isWitnessed(paid)))
  const outcome = sent?.result ?? { kind: 'pending', detail: 'Somebody is at work on it right now.' }
  if (outcome.kind === 'pending') {
    context.log.warn('refund of a stray payment is not through yet', { arrivalId: arrival.id, detail: outcome.detail })
    return arrival
  }
  const refunded = await change(context, till, arrival, {
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

/** What a person says about money that nobody claimed. */
type ArrivalDecision = Pick<ArrivalChange, 'alongside'> & {
  readonly decision: 'refund' | 'keep'
  readonly by: string
  /** `later`: whoever keeps the books sends it, soon; whoever decided does not wait for the chain. */
  readonly finish: 'now' | 'later'
}

/** A person decides about money that nobody claimed: back to its sender, or it stays. */
export async function decideArrival(
  context: ReconcileContext,
  arrivalId: string,
  decided: ArrivalDecision,
): Promise<{ readonly arrival: Arrival; readonly till: Till }> {
  const arrival = await findArrival(context.db, arrivalId)
  const till = context.tills.find(({ id }) => id === arrival?.till)
  if (!arrival) throw new Problem('order_not_found', `There is no arrival ${arrivalId.slice(0, 40)}.`)
  if (!till)
    throw new Problem(
      'refund_refused',
      `Arrival ${arrival.id} came to a till that this configuration has not; name the one that had it in SUTLER_RETIRED_ENV.`,
    )
  if (!['held', 'orphaned', 'dust'].includes(arrival.state))
    throw new Problem('refund_refused', `Arrival ${arrival.id} is ${arrival.state}; there is nothing to decide.`)
  const carryOut = decided.decision === 'refund' ? sendArrivalBack : keep
  const changed = await carryOut(context, till, arrival, decided)
  if (!changed) throw new Problem('refund_refused', `Arrival ${arrival.id} was claimed meanwhile; look at it again.`)
  return { arrival: changed, till }
}

async function sendArrivalBack(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  decided: ArrivalDecision,
): Promise<Arrival | null> {
  if (!(await till.isDeep(arrival)))
    throw new Problem(
      'refund_refused',
      `Arrival ${arrival.id} is not deep enough in the chain yet, or only one of two nodes shows it; try again soon.`,
    )
  const refunding = await beginReturn(context, till, arrival, decided)
  if (decided.finish === 'now') return refunding && finishReturn(context, till, refunding)
  await hurry(context.db, { kind: RECONCILE, key: till.id })
  return refunding
}

async function keep(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  { by, alongside }: ArrivalDecision,
): Promise<Arrival | null> {
  const claim = await freeName(context, await till.rail.identityOf(arrival))
  const kept = { to: 'kept', reason: arrival.reason, decidedBy: by, claim, event: null, alongside } as const
  return changeArrival(context.db, arrival, kept)
}

/**
 * Takes money out of circulation until a person has decided: its name is taken, so that it cannot buy anything. Too little to open a case
 * for loses its name all the same.
 */
export async function holdArrival(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  { reason, identity }: { readonly reason: string; readonly identity: string | null },
): Promise<Arrival | null> {
  const claim = await freeName(context, identity)
  if (arrival.amount < context.policy.refundAtLeast)
    return changeArrival(context.db, arrival, { to: 'dust', reason, claim, event: null })
  return change(context, till, arrival, { to: 'held', reason, claim, type: 'payment.orphaned' })
}

async function freeName({ db }: ReconcileContext, identity: string | null): Promise<string | null> {
  return (await claimantOf(db, identity)).kind === 'nobody' ? identity : null
}

type Step = Omit<ArrivalChange, 'event'> & { readonly type: NonNullable<ArrivalChange['event']>['type'] }

async function change(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  { type, ...to }: Step,
): Promise<Arrival | null> {
  const data = presentArrival(changedArrival(arrival, to), till)
  const changed = await changeArrival(context.db, arrival, { ...to, event: { type, data } })
  if (changed && changed.state !== 'refunded')
    context.log.error('stray payment found', {
      arrivalId: arrival.id,
      state: changed.state,
      paymentTx: arrival.transaction,
      amount: arrival.amount,
      reason: changed.reason,
    })
  return changed
}
