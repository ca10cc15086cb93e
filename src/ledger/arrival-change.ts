import { type Arrival, presentArrival, type Till } from '../domain/till.ts'
import { type ArrivalChange, changeArrival, changedArrival, claimantOf } from '../store/tills/arrivals.ts'
import type { ReconcileContext } from './reconcile-context.ts'

type Step = Omit<ArrivalChange, 'event'> & { readonly type: NonNullable<ArrivalChange['event']>['type'] }

/** Changes the state of an orphaned payment and writes its event, in one transaction. Null: another replica or a buyer was first. */
export async function changeAndTell(
  context: ReconcileContext,
  till: Till,
  arrival: Arrival,
  { type, ...to }: Step,
): Promise<Arrival | null> {
  const data = presentArrival(changedArrival(arrival, to), till)
  const changed = await changeArrival(context.db, arrival, { ...to, event: { type, data } })
  if (changed && changed.state !== 'refunded')
    context.log.error('orphaned payment found', {
      arrivalId: arrival.id,
      state: changed.state,
      paymentTx: arrival.transaction,
      amount: arrival.amount,
      reason: changed.reason,
    })
  return changed
}

/** The name of a payment, where no order and no arrival has taken it yet; else null. */
export async function freeName({ db }: ReconcileContext, identity: string | null): Promise<string | null> {
  return (await claimantOf(db, identity)).kind === 'nobody' ? identity : null
}
