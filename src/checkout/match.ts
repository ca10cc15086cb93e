import type { Till } from '../domain/till.ts'
import { claimantOf } from '../store/tills/arrivals.ts'
import { matchArrivals, matchNamed, matchUnnamed, twinsOf } from '../store/tills/matching.ts'
import type { ReconcileContext } from './reconcile-context.ts'

/**
 * Finds the order of every transfer that has none yet. One transaction may hold several transfers of one payer and amount, each for another
 * purchase, and only their names tell which of them was presented: the others may still buy, so none may stand in for another.
 */
export async function matchTill({ db, log }: ReconcileContext, till: Till): Promise<void> {
  await matchArrivals(db, till.id)
  const unnamed = []
  for (const twin of await twinsOf(db, till.id)) {
    try {
      const identity = await till.rail.identityOf(twin)
      if (!(await matchNamed(db, twin, identity))) unnamed.push({ twin, identity })
    } catch (error) {
      log.warn('a payment could not be told from another one', { arrivalId: twin.id, error })
    }
  }
  for (const { twin, identity } of unnamed)
    if ((await claimantOf(db, identity)).kind === 'nobody') await matchUnnamed(db, twin, identity)
}
