import type { JsonObject } from '../base/json.ts'
import type { OrphanedPayment, RailName } from '../domain/rail.ts'
import { type Arrival, refundOf, type Till } from '../domain/till.ts'
import { hurry } from '../store/jobs.ts'
import { arrivalsOf, hastenArrival } from '../store/tills/arrivals.ts'
import { recordTransfers } from '../store/tills/scan.ts'
import { matchTill } from './match.ts'
import { obstacleToReturn } from './orphans.ts'
import { assertStoreKnown } from './reconcile.ts'
import { RECONCILE, type ReconcileContext } from './reconcile-context.ts'

export type SentBack =
  /** On its way; `refund` is what the caller reads of it. */
  | { readonly kind: 'returning'; readonly refund: JsonObject }
  /** It waits for an operator, or is too little to be sent. */
  | { readonly kind: 'kept_for_now' }
  /** An operator decided that it stays. */
  | { readonly kind: 'kept' }
  /** It belongs to a purchase, and nothing goes back. */
  | { readonly kind: 'claimed' }

/**
 * A caller showed a payment that reached the till and buys nothing. It is recorded like any other arrival, and its refund begins now instead of
 * after the usual wait.
 */
export async function sendBack(
  context: ReconcileContext,
  rail: RailName,
  orphaned: OrphanedPayment,
): Promise<SentBack> {
  const { transaction, detail: reason } = orphaned
  await assertStoreKnown(context)
  for (const till of context.tills.filter((one) => one.rail.name === rail)) {
    const transfers = await till.transfersOf(transaction)
    await recordTransfers(context.db, till.id, { transfers, isFinal: false }, context.random)
    await matchTill(context, till)
    const [arrival] = (await arrivalsOf(context.db, till.id, transaction)).filter(isOrphaned)
    if (!arrival) continue
    const seconds = orphaned.mayBeAnothers ? await secondsForRivals(context, till, arrival) : 0
    const hastened = (await hastenArrival(context.db, arrival, { reason, seconds })) ?? arrival
    await hurry(context.db, { kind: RECONCILE, key: till.id }, seconds)
    return told(context, till, hastened)
  }
  return { kind: 'claimed' }
}

function isOrphaned({ state }: Arrival): boolean {
  return state !== 'matched' && state !== 'own'
}

async function told(context: ReconcileContext, till: Till, arrival: Arrival): Promise<SentBack> {
  const refund = refundOf(arrival)
  if (refund) return { kind: 'returning', refund }
  if (arrival.state === 'kept') return { kind: 'kept' }
  if (arrival.state !== 'unclaimed' || (await obstacleToReturn(context, till, arrival))) return { kind: 'kept_for_now' }
  return { kind: 'returning', refund: { status: 'refunding', to: arrival.sender, transaction: null } }
}

/** As long as its challenge may live its payer may present it; until then a stranger who shows it changes nothing. */
async function secondsForRivals({ clock, policy }: ReconcileContext, till: Till, arrival: Arrival): Promise<number> {
  const ageMs = clock.now() - (await till.timeOf(arrival))
  return Math.max(0, (policy.challengeTtlMs - ageMs) / 1000)
}
