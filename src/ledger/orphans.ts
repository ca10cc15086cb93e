import type { Arrival, Till } from '../domain/till.ts'
import { readHistory } from '../store/history.ts'
import { hasRoom } from '../store/refund-budget.ts'
import {
  type Claimant,
  changeArrival,
  claimantOf,
  dueArrivals,
  sweepDust,
  touchArrival,
} from '../store/tills/arrivals.ts'
import { matchNamed } from '../store/tills/matching.ts'
import { changeAndTell } from './arrival-change.ts'
import { beginReturn, budgetOf, finishReturn } from './arrival-return.ts'
import type { ReconcileContext } from './reconcile-context.ts'

const PAGE = 100
/** One round over a till takes no longer than this; the rest comes first next time. */
const WORK_MS_MAX = 60_000

/** Looks into arrivals that no order has claimed for long enough, and sends back those that stay orphaned. */
export async function workOrphans(context: ReconcileContext, till: Till): Promise<void> {
  const policy = { ...context.policy, refundAtLeast: till.rail.refundAtLeast }
  await sweepDust(context.db, till.id, policy)
  const end = context.clock.now() + WORK_MS_MAX
  const seen = new Set<string>()
  for (;;) {
    const due = await dueArrivals(context.db, till.id, { ...policy, limit: PAGE })
    const fresh = due.filter(({ id, state }) => !seen.has(`${state} ${id}`))
    if (fresh.length === 0) return
    for (const arrival of fresh) {
      if (context.clock.now() > end) return
      seen.add(`${arrival.state} ${arrival.id}`)
      await workOn(context, till, arrival)
    }
  }
}

/** An arrival that fails must not keep the others from being worked on. */
async function workOn(context: ReconcileContext, till: Till, arrival: Arrival): Promise<void> {
  const hasMoved = await step(context, till, arrival).catch((error) => {
    context.log.warn('orphaned payment could not be checked', { arrivalId: arrival.id, error })
    return false
  })
  if (!hasMoved) await touchArrival(context.db, arrival)
}

async function step(context: ReconcileContext, till: Till, arrival: Arrival): Promise<boolean> {
  if (arrival.state === 'unclaimed') return (await judge(context, till, arrival)) !== null
  // What was signed already goes its way, whatever becomes of the money that it is for.
  if (arrival.state === 'refunding') return (await finishReturn(context, till, arrival)).state === 'refunded'
  if (!(await till.isDeep(arrival))) return false
  const refunding = await beginReturn(context, till, arrival, null)
  return refunding !== null && (await finishReturn(context, till, refunding)).state === 'refunded'
}

/** Declares an unclaimed arrival orphaned, with an event, and decides whether it goes back automatically or waits for an operator. Null: not yet. */
async function judge(context: ReconcileContext, till: Till, arrival: Arrival): Promise<Arrival | null> {
  if (till.isOwn(arrival.sender)) return changeArrival(context.db, arrival, { to: 'own', reason: null, event: null })
  const identity = await till.rail.identityOf(arrival)
  const claimant = await claimantOf(context.db, identity)
  if (claimant.kind === 'order' && isAboutToMatch(claimant, arrival)) return null
  // Its order names another transaction, which carried the same payment and did not land, or not for good.
  if (claimant.kind === 'order' && (await matchNamed(context.db, arrival, identity))) return arrival
  const { reason, orderId } = explained(claimant, arrival)
  const obstacle = await obstacleTo(context, till, arrival, claimant)
  return changeAndTell(context, till, arrival, {
    to: obstacle ? 'held' : 'orphaned',
    reason: obstacle ?? reason,
    orderId,
    type: 'payment.orphaned',
  })
}

/** Is its order settling, or about to be matched? The next scan of the till puts them together. */
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

/** Why it must not go back automatically; null: it may. */
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

/** The same without asking who claims its name. */
export async function obstacleToReturn(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
): Promise<string | null> {
  const { sender, amount } = arrival
  if (!context.policy.refundsOrphans) return 'Orphans wait for a person here.'
  if (amount < till.rail.refundAtLeast) return 'It is too little to be sent back by itself.'
  if (await isOlderThanRestore(context, till, arrival))
    return 'It came before the database was restored; whether it had bought something must be found out first.'
  if (await context.isBlocked(sender)) return 'Its sender is blocked.'
  if (await till.isContract(sender)) return 'Its sender is a contract; whose money it is must be found out first.'
  if (!(await hasRoom(context.db, amount, await budgetOf(context, till))))
    return 'The automatic refunds of this day are used up.'
  return null
}

/** The clocks of store and chain differ by less. */
const CLOCKS_APART_MS = 600_000

/** What came before the store was restored may have bought what the store lacks. */
async function isOlderThanRestore({ db }: ReconcileContext, till: Till, arrival: Arrival): Promise<boolean> {
  const { restoredAt } = await readHistory(db)
  if (restoredAt === 0) return false
  return arrival.foundAt <= restoredAt || (await till.timeOf(arrival)) <= restoredAt + CLOCKS_APART_MS
}
