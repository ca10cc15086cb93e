import type { Checkout } from '../../checkout/checkout.ts'
import type { Limits } from '../../config/limits.ts'
import type { SurfaceName } from '../../domain/good.ts'
import type { Rail } from '../../domain/rail.ts'
import type { OpenSurface, RowContext, Surface } from '../../surfaces/surface.ts'
import { purchaseStatus } from './purchase-status.ts'

/** What the rows of the route table are built with. */
export type ShopContext = RowContext & {
  readonly checkout: Checkout
  readonly limits: Limits
  /** The rails that sell. */
  readonly rails: readonly Rail[]
  /** All that can be sold, whether this shop does or not. */
  readonly surfaces: readonly Surface[]
  /** Those of them that this shop has. */
  readonly open: ReadonlyMap<SurfaceName, OpenSurface>
}

export type ShopContextParts = Omit<ShopContext, 'urlOf' | 'purchaseStatus'>

export function createShopContext(parts: ShopContextParts): ShopContext {
  const { checkout, hostOf } = parts
  return {
    ...parts,
    urlOf: (rail, path) => hostOf(rail) + path,
    purchaseStatus: (surface, rail, reference) => purchaseStatus(checkout, surface, rail, reference),
  }
}
