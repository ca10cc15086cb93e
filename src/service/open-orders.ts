import type { Sold } from '../api/routes.ts'
import { SWITCHES } from '../config/load.ts'
import type { SurfaceName } from '../domain/good.ts'
import { type Offer, type OfferKey, offerKey } from '../domain/offer.ts'
import type { RailName } from '../domain/rail.ts'
import type { ReconcileContext } from '../ledger/reconcile-context.ts'
import type { Database } from '../store/db.ts'
import { everSold, openSales, strandedMoney } from '../store/orders/open-sales.ts'
import type { OpenSurface, Surface } from '../surfaces/surface.ts'

/**
 * Somebody has paid, or may have, for what is not finished yet. A shop that could neither deliver nor send back must not open: whoever runs it
 * would find out from a buyer.
 */
export async function assertAllFinishable(database: Database, offers: ReadonlyMap<OfferKey, Offer>): Promise<void> {
  const stranded = (await openSales(database)).filter((sale) => !offers.has(offerKey(sale)))
  if (stranded.length === 0) return
  const named = stranded.map(
    ({ good, rail, network, asset, count, example }) =>
      `${count} for ${good} on ${rail} (${network}) in ${asset}, such as ${example}`,
  )
  throw new Error(
    `orders are open that this configuration could neither deliver nor refund: ${named.join('; ')}. ${REMEDY}`,
  )
}

const REMEDY =
  `Start with the configuration that sold them: with ${SWITCHES} set to false, and all other options kept, it finishes them and sells nothing more. ` +
  'Change network, token or address when `sutler orders` shows nothing open'

/** What some rail sends back automatically, at the least. */
const REFUND_AT_LEAST = 1_000n

/** The same for money that came without a purchase, or whose order was given up: only the rail that it came by can send it back. */
export async function assertAllReturnable(database: Database, { accounts }: ReconcileContext): Promise<void> {
  const known = accounts.map(({ id }) => id)
  const stranded = await strandedMoney(database, known, { refundAtLeast: REFUND_AT_LEAST })
  if (stranded.length === 0) return
  const named = stranded.map(({ account, count, example }) => `${count} at ${account}, such as ${example}`)
  throw new Error(
    `payments without a purchase are not sent back yet, and this configuration could not: ${named.join('; ')}. ${REMEDY}`,
  )
}

/** Surfaces on rails that sell nothing now and did before: whoever bought there may still ask. */
export async function soldBefore(
  database: Database,
  surfaces: readonly Surface[],
  rails: readonly { readonly name: RailName }[],
  open: ReadonlyMap<SurfaceName, OpenSurface>,
): Promise<readonly Sold[]> {
  const pairs = surfaces.flatMap(({ name: surface }) => rails.map(({ name: rail }) => ({ surface, rail })))
  const closed = pairs.filter(({ surface, rail }) => !open.get(surface)?.rails.includes(rail))
  if (closed.length === 0) return []
  const sold = await everSold(database)
  return closed.filter((pair) => sold.some(({ surface, rail }) => surface === pair.surface && rail === pair.rail))
}
