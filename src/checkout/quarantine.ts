import { Problem } from '../base/problem.ts'
import { NotShown } from '../chain/receipt.ts'
import { AnswerTooLarge } from '../chain/rpc.ts'
import type { Arrival, Till } from '../domain/till.ts'
import { claimantOf, listArrivals } from '../store/tills/arrivals.ts'
import { QUARANTINE_REASON } from '../store/tills/scan.ts'
import { isSetAsideSince, trustAfterQuarantine } from '../store/tills/till-trust.ts'
import { quarantineArrival } from './arrival-change.ts'
import type { ReconcileContext } from './reconcile-context.ts'

const PAGE = 1_000
/** No node that answers is further behind than this. */
const BEHIND_MS_MAX = 3_600_000

/**
 * Holds all orphaned payments of a till: perhaps they had bought something that this store no longer remembers, so they must neither buy again nor
 * go back automatically. An operator decides about each. `since`: when the till was set aside before this one began. Another replica may do so meanwhile,
 * and sell: what comes then belongs to its buyers.
 */
export async function quarantine(
  context: ReconcileContext,
  till: Till,
  { isReadToHead, since }: { readonly isReadToHead: boolean; readonly since: number },
): Promise<void> {
  const { db } = context
  // Payments in blocks that one of two nodes does not have, or makes up, would be trusted unread.
  if (!isReadToHead)
    throw new Problem(
      'chain_unavailable',
      `The nodes of ${till.rail.network} are too far apart to say what has arrived. Wait for the one that is behind, or take it out of the configuration.`,
    )
  for await (const arrival of arrivalsWithoutOrder(context, till, since)) {
    if (till.isOwn(arrival.sender) || arrival.reason === QUARANTINE_REASON) continue
    const identity = await nameOf(context, till, arrival)
    const claimant = await claimantOf(db, identity)
    // An order that waits for just this payment goes on with it.
    if (claimant.kind === 'order' && !claimant.isPaid) continue
    await quarantineArrival(context, till, arrival, { reason: QUARANTINE_REASON, identity })
  }
  await trustAfterQuarantine(db, till.id, since)
}

/** The name of the payment, so that it cannot buy once more; while a node may be behind, this throws. Null: no node will show it, for its age or its size. */
async function nameOf({ clock }: ReconcileContext, till: Till, arrival: Arrival): Promise<string | null> {
  try {
    return await till.rail.identityOf(arrival)
  } catch (error) {
    const isHidden = error instanceof NotShown || error instanceof AnswerTooLarge
    if (!isHidden || clock.now() - arrival.foundAt < BEHIND_MS_MAX) throw error
    return null
  }
}

/** Arrivals without an order, dust too: most goods cost less than what is worth sending back. */
async function* arrivalsWithoutOrder({ db }: ReconcileContext, till: Till, since: number): AsyncGenerator<Arrival> {
  for (let after = ''; ; ) {
    const page = await listArrivals(db, till.id, { states: ['unclaimed', 'orphaned', 'dust'], after, limit: PAGE })
    // After the page was read: what is on it came before the other replica sold.
    if (await isSetAsideSince(db, till.id, since)) return
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.id
  }
}
