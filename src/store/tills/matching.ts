import type { Address, Hash } from '../../base/address.ts'
import type { Arrival, ArrivalState } from '../../domain/till.ts'
import type { Database, Queryable } from '../db.ts'
import { plannedAnew, statement } from '../statement.ts'
import { type ArrivalRow, fromArrivalRow } from './arrivals.ts'
import { takeName, unlessNameTaken } from './payment-name.ts'
import { tillIdOfRow } from './till-id.ts'

/** An arrival that waits for an operator may still pay its order: until the decision its payer can present it. */
const openStates = ['unclaimed', 'orphaned', 'dust', 'held'] as const satisfies readonly ArrivalState[]
const OPEN = `(${openStates.map((state) => `'${state}'`).join(', ')})`

/** Orders that count as paid at this till, of this payer and amount, and that no transfer was found for yet. */
const UNFOUND = (arrival: string) => `
        o.status not in ('settling', 'expired')
    and ${tillIdOfRow('o')} = ${arrival}.till
    and lower(o.payer) = lower(${arrival}.sender)
    and o.amount = ${arrival}.amount
    and not exists (select from arrivals m where m.order_id = o.id and m.state = 'matched')`

/** Those of them that count as paid by this transfer or one that looks like it. */
const UNPAID = (arrival: string) => `
        o.payment_tx = ${arrival}.transaction
    and ${UNFOUND(arrival)}`

// Strangers decide how many transfers a transaction has and how many orders it pays; the statistics of the planner may be older than they. So simple
// statements read both, and they are put together here: as joins these took longer than a statement may.
const TRANSFERS = plannedAnew<ArrivalRow>(`
  select a.*
  from arrivals a
  where a.till = $1
    and a.transaction = any (array(
      select x.transaction
      from arrivals x
      where x.till = $1
        and x.state in ${OPEN}
        and exists (select from orders o where o.payment_tx = x.transaction)))
  order by a.transaction, a.log_index`)

const ORDERS = plannedAnew<{ id: string; transaction: Hash; sender: Address; amount: string }>(`
  select o.id, o.payment_tx as transaction, o.payer as sender, o.amount
  from orders o
  where o.payment_tx = any ($2)
    and ${tillIdOfRow('o')} = $1
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

// Two transactions may carry one payment, the shop's and a stranger's, and a reorganisation may change which of them pays and which reverts.
const MATCH_NAMED = statement<{ order_id: string }>(`
  with matched as (
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
      and ${UNFOUND('a')}
    returning a.order_id, a.transaction
  ), moved as (
    update orders o
    set payment_tx = m.transaction
    from matched m
    where o.id = m.order_id
      and o.payment_tx <> m.transaction
  )
  select order_id
  from matched`)

/** By the name that an order has claimed, whichever transaction it counted on. False: that is no order that it could have paid. */
export async function matchNamed(
  queryable: Queryable,
  { id }: Pick<Arrival, 'id'>,
  identity: string | null,
): Promise<boolean> {
  return identity !== null && (await queryable.query(MATCH_NAMED, [id, identity])).rows.length === 1
}

const MISSING = statement<{ payer: string; amount: string }>(`
  select lower(o.payer) as payer, o.amount
  from missing_settlements m
  join orders o on o.id = m.order_id
  where m.till = $1
    and m.state <> 'landed'
  order by m.updated_at desc
  limit $2`)

// In two statements, and by a set, as above. `not in` is for the index of what has no order yet.
const LIKE_MISSING = statement<ArrivalRow>(`
  select *
  from (
    select a.*,
           row_number() over (partition by lower(a.sender), a.amount order by a.found_at desc, a.block_number desc) as place
    from arrivals a
    where a.till = $1
      and a.state not in ('matched', 'own')
      and a.state in ${OPEN}
      and lower(a.sender) = any ($2)
      and (lower(a.sender), a.amount) in (select * from unnest($2::text[], $3::numeric[]))
  ) as ranked
  where place <= $4`)

const MISSING_MAX = 1_000
/** Each is a question to a node, and its payer decides how many there are. Those beyond are identified by name when they are worked on. */
const LIKE_MISSING_MAX = 10

/** Transfers that may be a missing payment, brought by another transaction than its order counts on. Only their names can tell. */
export async function arrivalsLikeMissing(queryable: Queryable, till: string): Promise<readonly Arrival[]> {
  const { rows: missing } = await queryable.query(MISSING, [till, MISSING_MAX])
  if (missing.length === 0) return []
  const payers = missing.map(({ payer }) => payer)
  const amounts = missing.map(({ amount }) => amount)
  return (await queryable.query(LIKE_MISSING, [till, payers, amounts, LIKE_MISSING_MAX])).rows.map(fromArrivalRow)
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

/** For an order whose payment landed under another name than it was known by: that name is taken, so that it cannot buy once more. */
export async function matchUnnamed(db: Database, { id }: Pick<Arrival, 'id'>, identity: string | null): Promise<void> {
  await unlessNameTaken(db, async (tx) => {
    const [matched] = (await tx.query(MATCH_ANY, [id])).rows
    if (matched && identity !== null) await takeName(tx, identity, { kind: 'order', id: matched.order_id })
  })
}
