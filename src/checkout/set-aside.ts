import type { Arrival, Till } from '../domain/till.ts'
import { claimantOf, listArrivals } from '../store/tills/arrivals.ts'
import { trustBooks } from '../store/tills/scan.ts'
import { holdArrival } from './orphans.ts'
import type { ReconcileContext } from './reconcile-context.ts'

const REASON = 'It arrived while the books were not kept; it may have been spent already.'
const PAGE = 1_000

/**
 * All money without an order: perhaps it had bought something that this store no longer remembers, and it must neither buy again nor go back by
 * itself. A person decides what happens to it.
 */
export async function setAside(context: ReconcileContext, till: Till): Promise<void> {
  const { db } = context
  for await (const arrival of unclaimed(context, till)) {
    if (till.isOwn(arrival.sender) || arrival.reason === REASON) continue
    const claimant = await claimantOf(db, await till.rail.identityOf(arrival))
    // An order that waits for just this payment goes on with it.
    if (claimant.kind === 'order' && !claimant.isPaid) continue
    await holdArrival(context, till, arrival, REASON)
  }
  await trustBooks(db, till.id)
}

/** Dust too: most of what is sold costs less than anybody would send back. */
async function* unclaimed({ db }: ReconcileContext, till: Till): AsyncGenerator<Arrival> {
  for (let after = ''; ; ) {
    const page = await listArrivals(db, till.id, { states: ['unclaimed', 'orphaned', 'dust'], after, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.id
  }
}
