import type { Order } from '../../domain/order.ts'
import { itemOf } from '../../domain/purchase-summary.ts'
import type { Queryable } from '../db.ts'
import { readShelfNames, type ShelfNames } from '../shelf-names.ts'
import { type Currencies, readCurrencies } from '../shop-terms.ts'

/** What money and goods are called, as far as the store knows. */
export type Naming = { readonly currencyOf: Currencies; readonly nameOf: ShelfNames }

/** For these orders. */
export async function readNaming(
  queryable: Queryable,
  orders: readonly Pick<Order, 'surface' | 'input'>[],
): Promise<Naming> {
  const things = orders.flatMap(({ surface, input }) => {
    const id = itemOf(input)
    return id === null ? [] : [{ surface, id }]
  })
  const [currencyOf, nameOf] = await Promise.all([readCurrencies(queryable), readShelfNames(queryable, things)])
  return { currencyOf, nameOf }
}
