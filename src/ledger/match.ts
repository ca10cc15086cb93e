import type { Till } from '../domain/till.ts'
import { claimantOf } from '../store/tills/arrivals.ts'
import { arrivalsLikeMissing, matchArrivals, matchNamed, matchUnnamed, type Twins } from '../store/tills/matching.ts'
import type { ReconcileContext } from './reconcile-context.ts'

/**
 * Finds the order of every transfer that has none yet. One transaction may contain several transfers of one payer and amount, each for another
 * purchase, and only their names tell which of them was presented: the others may still buy, so none may be matched in place of another.
 */
export async function matchTill(context: ReconcileContext, till: Till): Promise<void> {
  for (const twins of await matchArrivals(context.db, till.id)) await tellApart(context, till, twins)
  await matchMissing(context, till)
}

/** An order whose payment the chain no longer shows may be paid by another transaction that carries the same payment. */
export async function matchMissing({ db, log }: ReconcileContext, till: Till): Promise<void> {
  for (const arrival of await arrivalsLikeMissing(db, till.id)) {
    const { id: arrivalId, transaction: paymentTx } = arrival
    try {
      if (await matchNamed(db, arrival, await till.rail.identityOf(arrival)))
        log.warn('another transaction has paid an order whose payment was missing', { arrivalId, paymentTx })
    } catch (error) {
      log.warn('a payment could not be compared with missing payments', { arrivalId, error })
    }
  }
}

async function tellApart({ db, log }: ReconcileContext, till: Till, { arrivals, orders }: Twins): Promise<void> {
  const unnamed = []
  let unpaid = orders
  for (const twin of arrivals) {
    // Each look at a transfer is a question to a node, and a stranger decides how many transfers there are.
    if (unpaid === 0) return
    try {
      const identity = await till.rail.identityOf(twin)
      if (await matchNamed(db, twin, identity)) unpaid--
      else unnamed.push({ twin, identity })
    } catch (error) {
      log.warn('a payment could not be identified', { arrivalId: twin.id, error })
    }
  }
  for (const { twin, identity } of unnamed)
    if ((await claimantOf(db, identity)).kind === 'nobody') await matchUnnamed(db, twin, identity)
}
