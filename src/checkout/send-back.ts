import type { Astray, RailName } from '../domain/rail.ts'
import { type Arrival, refundOf, type Till } from '../domain/till.ts'
import { arrivalsOf, hastenArrival, matchArrivals } from '../store/arrivals.ts'
import { hurry } from '../store/jobs.ts'
import { recordArrivals } from '../store/till-scan.ts'
import type { Books } from './reconcile-context.ts'
import type { SentBack } from './checkout.ts'
import { obstacleToReturn } from './orphans.ts'
import { RECONCILE } from './reconciler.ts'

/** Whoever paid presents it within seconds; until then a stranger's word changes nothing. */
const RIVAL_SECONDS = 20

/**
 * Somebody showed a payment that reached us and buys nothing. It is written down like any other money without a purchase, and its way
 * back begins now instead of after the usual wait.
 */
export async function sendBack(books: Books, rail: RailName, astray: Astray): Promise<SentBack> {
  const { transaction, detail: reason } = astray
  for (const till of books.tills.filter((one) => one.rail.name === rail)) {
    await recordArrivals(books.db, till.id, await till.transfersOf(transaction), books.random)
    await matchArrivals(books.db, till.id, till.rail.network)
    const [arrival] = (await arrivalsOf(books.db, till.id, transaction)).filter(isStray)
    if (!arrival) continue
    const seconds = astray.mayBeAnothers ? await secondsForRivals(books, till, arrival) : 0
    const hastened = (await hastenArrival(books.db, arrival, { reason, seconds })) ?? arrival
    await hurry(books.db, { kind: RECONCILE, key: till.id }, seconds)
    return told(books, till, hastened)
  }
  return { kind: 'claimed' }
}

function isStray({ state }: Arrival): boolean {
  return state !== 'matched' && state !== 'own' && state !== 'dropped'
}

async function told(books: Books, till: Till, arrival: Arrival): Promise<SentBack> {
  const refund = refundOf(arrival)
  if (refund) return { kind: 'returning', refund }
  if (arrival.state !== 'unclaimed' || (await obstacleToReturn(books, till, arrival))) return { kind: 'kept_for_now' }
  return { kind: 'returning', refund: { status: 'refunding', to: arrival.sender, transaction: null } }
}

async function secondsForRivals({ clock }: Books, till: Till, arrival: Arrival): Promise<number> {
  const ageMs = clock.now() - (await till.timeOf(arrival))
  return Math.max(0, RIVAL_SECONDS - ageMs / 1000)
}
