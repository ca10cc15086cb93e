import type { Address, Hash } from '../../base/address.ts'
import type { Arrival, ArrivalState } from '../../domain/till.ts'
import type { Database, Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { type ArrivalRow, claimFor, fromArrivalRow } from './arrivals.ts'

/** What waits for a person may still pay its order: until they have decided, its payer can present it. */
const openStates = ['unclaimed', 'orphaned', 'dust', 'held'] as const satisfies readonly ArrivalState[]
const OPEN = `(${openStates.map((state) => `'${state}'`).join(', ')})`

/** Orders that count as paid at this till, by this transfer or one that looks like it, and that no transfer was found for yet. */
const UNPAID = (arrival: string) => `
        o.payment_tx = ${arrival}.transaction
    and lower(o.network || '/' || o.asset || '/' || o.pay_to) = ${arrival}.till
    and lower(o.payer) = lower(${arrival}.sender)
    and o.amount = ${arrival}.amount
    and not exists (select from arrivals m where m.order_id = o.id and m.state = 'matched')`

// How many transfers a transaction holds, and how many orders it pays, strangers say; statistics may be older than they. So simple
// statements read both, and they are put together here: as joins these took longer than a statement may.
const TRANSFERS = statement<ArrivalRow>(`
  select a.*
  from arrivals a
  where a.till = $1
    and a.state <> 'dropped'
    and a.transaction = any (array(
      select x.transaction
      from arrivals x
      where x.till = $1
        and x.state in ${OPEN}
        and exists (select from orders o where o.payment_tx = x.transaction)))
  order by a.transaction, a.log_index`)

const ORDERS = statement<{ id: string; transaction: Hash; sender: Address; amount: string }>(`
  select o.id, o.payment_tx as transaction, o.payer as sender, o.amount
  from orders o
  where o.payment_tx = any ($2)
    and lower(o.network || '/' || o.asset || '/' || o.pay_to) = $1
    and not exists (select from arrivals m where m.order_id = o.id and m.state = 'matched')
  order by o.id`)

const MATCH = statement(`
  update arrivals a
  set state = 'matched',
      order_id = m.order_id,
      reason = null,
      updated_at = now()
  from unnest($1::text[], $2::text[]) as m (id, order_id)
  where a.id = m.id
    and a.state in ${OPEN}
    and not exists (select from arrivals other where other.order_id = m.order_id and other.state = 'matched')`)

/** Transfers of one transaction that payer and amount do not tell apart, and how many orders they have still to pay. */
export type Twins = { readonly arrivals: readonly Arrival[]; readonly orders: number }

/** Finds the order of every transfer that has none yet and is like no other of its transaction. Returned are those that only their names tell apart. */
export async function matchArrivals(queryable: Queryable, till: string): Promise<readonly Twins[]> {
  const { rows: transfers } = await queryable.query(TRANSFERS, [till])
  if (transfers.length === 0) return []
  const transactions = [...new Set(transfers.map(({ transaction }) => transaction))]
  const orders = Map.groupBy((await queryable.query(ORDERS, [till, transactions])).rows, lookOf)
  const alike = [...Map.groupBy(transfers, lookOf)]
    .map(([look, same]) => ({ same, open: same.filter(isOpen), orders: orders.get(look) ?? [] }))
    .filter(({ open, orders }) => open.length > 0 && orders.length > 0)
  const sure = alike.filter(({ same }) => same.length === 1)
  if (sure.length > 0)
    await queryable.query(MATCH, [sure.map(({ open }) => open[0]!.id), sure.map(({ orders }) => orders[0]!.id)])
  return alike
    .filter(({ same }) => same.length > 1)
    .map(({ open, orders }) => ({ arrivals: open.map(fromArrivalRow), orders: orders.length }))
}

/** Payer and amount tell the transfers of a transaction apart, mostly. */
function lookOf({ transaction, sender, amount }: Pick<ArrivalRow, 'transaction' | 'sender' | 'amount'>): string {
  return `${transaction} ${sender.toLowerCase()} ${amount}`
}

function isOpen({ state }: ArrivalRow): boolean {
  return openStates.some((open) => open === state)
}

const MATCH_NAMED = statement<{ id: string }>(`
  update arrivals a
  set state = 'matched',
      order_id = o.id,
      reason = null,
      updated_at = now()
  from payment_identities i
  join orders o on o.id = i.order_id
  where i.identity = $2
    and a.id = $1
    and a.state in ${OPEN}
    and ${UNPAID('a')}
  returning a.id`)

/** By the name that an order has claimed. False: that is no order that it could have paid. */
export async function matchNamed(
  queryable: Queryable,
  { id }: Pick<Arrival, 'id'>,
  identity: string | null,
): Promise<boolean> {
  return identity !== null && (await queryable.query(MATCH_NAMED, [id, identity])).rows.length === 1
}

const MATCH_ANY = statement<{ order_id: string }>(`
  update arrivals a
  set state = 'matched',
      order_id = (select min(o.id) from orders o where ${UNPAID('a')}),
      reason = null,
      updated_at = now()
  where a.id = $1
    and a.state in ${OPEN}
    and exists (select from orders o where ${UNPAID('a')})
  returning a.order_id`)

const CLAIM = claimFor('order_id')

/** For an order whose payment landed under another name than it was known by: what it was paid with must not buy once more. */
export async function matchUnnamed(db: Database, { id }: Pick<Arrival, 'id'>, identity: string | null): Promise<void> {
  await db
    .transaction(async (tx) => {
      const [matched] = (await tx.query(MATCH_ANY, [id])).rows
      if (!matched || identity === null) return
      if ((await tx.query(CLAIM, [identity, matched.order_id])).rows.length === 0) throw new NameTaken()
    })
    .catch((error: unknown) => {
      if (!(error instanceof NameTaken)) throw error
    })
}

/** Rolls the match back: somebody presented it a moment ago. */
class NameTaken extends Error {}
