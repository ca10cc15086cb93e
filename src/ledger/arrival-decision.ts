import { Problem } from '../base/problem.ts'
import type { Arrival, Till } from '../domain/till.ts'
import { hurry } from '../store/jobs.ts'
import { type ArrivalChange, changeArrival, findArrival } from '../store/tills/arrivals.ts'
import { freeName } from './arrival-change.ts'
import { beginReturn, finishReturn } from './arrival-return.ts'
import { RECONCILE, type ReconcileContext } from './reconcile-context.ts'

/** What an operator decides about an orphaned payment. */
type ArrivalDecision = Pick<ArrivalChange, 'alongside'> & {
  readonly decision: 'refund' | 'keep'
  readonly by: string
  /** `later`: the reconciler sends it soon, and the operator does not wait for the chain. */
  readonly finish: 'now' | 'later'
}

/** Carries out what an operator decided about an orphaned payment: back to its sender, or it stays. */
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
      `Arrival ${arrival.id} came to a till that this configuration has not; start the shop with the one that had it.`,
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
