import type { Address } from '../../base/address.ts'
import type { GoodName, SurfaceName } from '../../domain/good.ts'
import type { RailName } from '../../domain/rail.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'

/** What is sold and not finished: so many orders for a good, paid on a rail, on a network and in a token. */
type OpenSale = {
  readonly good: GoodName
  readonly rail: RailName
  readonly network: string
  readonly asset: Address
  readonly count: number
  readonly example: string
}

// Whatever is not finished has a job.
const OPEN = statement<OpenSale>(`
  select o.good, o.rail, o.network, o.asset, count(*)::int as count, min(o.id) as example
  from jobs j
  join orders o on o.id = j.key
  where j.kind = 'order'
  group by o.good, o.rail, o.network, o.asset
  order by o.good, o.rail, o.network, o.asset`)

export async function openSales(queryable: Queryable): Promise<readonly OpenSale[]> {
  return (await queryable.query(OPEN)).rows
}

const STRANDED = statement<{ account: string; count: number; example: string }>(`
  select t.account, count(*)::int as count, min(t.id) as example
  from transfers t
  left join refunds r on r.transfer_id = t.id
  where (t.state = 'unmatched' or (t.state = 'returned' and r.completed_at is null))
    and t.amount >= $2
    and t.account <> all ($1::text[])
  group by t.account
  order by t.account`)

/** Money that is to be looked into or sent back, at receiving accounts other than these. */
export async function strandedMoney(
  queryable: Queryable,
  accounts: readonly string[],
  { refundAtLeast }: { readonly refundAtLeast: bigint },
): Promise<readonly { readonly account: string; readonly count: number; readonly example: string }[]> {
  return (await queryable.query(STRANDED, [accounts, refundAtLeast.toString()])).rows
}

// From one kind of good to the next by the index: every order would be too many to read at a start.
const EVER_SOLD = statement<{ surface: SurfaceName; rail: RailName }>(`
  with recursive kinds as (
    (select rail, good, surface from orders order by rail, good limit 1)
    union all
    select following.*
    from kinds k
    cross join lateral (
      select o.rail, o.good, o.surface
      from orders o
      where (o.rail, o.good) > (k.rail, k.good)
      order by o.rail, o.good
      limit 1) as following
  )
  select distinct surface, rail
  from kinds`)

/** Every surface that ever sold anything, with the rail that it was paid on. */
export async function everSold(
  queryable: Queryable,
): Promise<readonly { readonly surface: SurfaceName; readonly rail: RailName }[]> {
  return (await queryable.query(EVER_SOLD)).rows
}
