import { discountRows } from '../api/operator/discount-rows.ts'
import { itemRows } from '../api/operator/item-rows.ts'
import { lotRows } from '../api/operator/lot-rows.ts'
import { listedGoods, priceRows } from '../api/operator/price-rows.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import type { Clock } from '../base/clock.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { Offer } from '../domain/offer.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { Database } from '../store/db.ts'
import { listDiscounts, setDiscounts } from '../store/game/discounts.ts'
import { changeShelf, listShelf } from '../store/game/shelf.ts'
import { changeGoodPrices, readGoodPrices } from '../store/good-prices.ts'
import { createLotDesk } from './lot-desk.ts'

type GoodsDeskParts = {
  readonly config: Config
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  readonly clock: Clock
  readonly offers: Iterable<Offer>
}

/** The operator's routes about what is sold: lots, items and their discounts, and the prices of all that has no shelf. */
export function goodsRows(parts: GoodsDeskParts): readonly OperatorRoute[] {
  const { config, database, chainOf, clock, offers } = parts
  const { sale, chain, backend } = config.game
  return [
    ...(sale ? lotRows(createLotDesk({ sale, chain, chainOf, database, clock })) : []),
    ...(backend.kind === 'embedded' ? embeddedGoodsRows(config, database) : []),
    ...priceRows({
      goods: listedGoods(offers),
      read: () => readGoodPrices(database),
      change: (doer, changes, ifMatch) => changeGoodPrices(database, doer, changes, ifMatch),
    }),
  ]
}

function embeddedGoodsRows({ limits }: Config, database: Database): readonly OperatorRoute[] {
  return [
    ...itemRows({
      list: () => listShelf(database),
      change: (doer, changes, how) => changeShelf(database, doer, changes, how),
    }),
    ...discountRows({
      nicknameLengthMax: limits.nicknameLengthMax,
      list: (limit) => listDiscounts(database, limit),
      set: (doer, discounts, how) => setDiscounts(database, doer, discounts, how),
    }),
  ]
}
