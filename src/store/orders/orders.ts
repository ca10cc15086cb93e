import type { BookedTransfer } from '../../domain/booked-transfer.ts'
import type { ToldEvent } from '../../domain/event.ts'
import type { LeasedOrder, Order } from '../../domain/order.ts'
import { isPrivateIdentity } from '../../domain/rail.ts'
import type { Database } from '../db.ts'
import { type Refusal, refusePayment } from '../refusals.ts'
import { statement } from '../statement.ts'
import { unmatchedPayment } from '../transfers/list.ts'
import { countAttempt, holdRefund, markInDoubt, noteTry } from './attempts.ts'
import { changeOrder, changeRefund, type OrderChange, type RefundChange } from './change.ts'
import { findByIdentities, isAnyHandleKnown, paymentName } from './known-payments.ts'
import { type Opening, type OpenOutcome, openOrder } from './opening.ts'
import { letGo, type Planned, type PlanOutcome, setPlan } from './plan.ts'
import { fromOrderRow, ORDER_COLUMNS, type OrderRow } from './row.ts'

/** All orders. Every method that changes one demands its lease. */
export type Orders = {
  open(opening: Opening): Promise<OpenOutcome>
  /**
   * From here on no replica takes this authorization for this request, except one that has taken it already: a look by its names tells.
   * False: nothing was written, for want of room.
   */
  refuse(refusal: Refusal): Promise<boolean>
  byId(id: string): Promise<Order | null>
  byIdentities(identities: readonly string[]): Promise<Order | null>
  /** Is any order or transfer known by a name that ends in one of these? */
  isAnyHandleKnown(handles: readonly string[]): Promise<boolean>
  /**
   * Anything a payer may hold: order id, payment transaction, authorization nonce, challenge id, idempotency key. Only the orders whose name
   * could be chosen least freely: an order whose buyer gave it the name of another one is not found by it. Newest first; of those that were
   * paid under one nonce the first one first. `shown`: the names of the payments that the chain shows in it, where it is a transaction.
   */
  byReference(reference: string, shown?: readonly string[]): Promise<readonly FoundOrder[]>
  /** The payment that goes by this name, whose money reached us, and that no order has. */
  unmatchedPayment(reference: string): Promise<BookedTransfer | null>
  change(leased: LeasedOrder, change: OrderChange, event: ToldEvent): Promise<Order | null>
  changeRefund(leased: LeasedOrder, change: RefundChange, event: ToldEvent): Promise<Order | null>
  /** The name that the chain knows its payment by, whatever else it is called. */
  paymentName(order: Pick<Order, 'id' | 'network'>): Promise<string | null>
  markInDoubt(leased: LeasedOrder, error: string): Promise<Order | null>
  countAttempt(leased: LeasedOrder, error: string): Promise<Order | null>
  /** What was tried and came to nothing, without counting it. */
  noteTry(leased: LeasedOrder, error: string): Promise<Order | null>
  /** The same for a refund that waits for a person from now on. */
  holdRefund(leased: LeasedOrder, why: string): Promise<Order | null>
  /** Gives back the holds of an order whose payment does not land. */
  letGo(leased: LeasedOrder): Promise<Order | null>
  setPlan(leased: LeasedOrder, planned: Planned): Promise<PlanOutcome>
}

/** `isOwn`: found by a name that only the buyer and the shop know. */
export type FoundOrder = { readonly order: Order; readonly isOwn: boolean; readonly namedBy: Namer }

/** The shop makes ids, and the chain makes transaction hashes. A payer chooses the nonce that they sign, and any client its idempotency key. */
type Namer = 'seller' | 'chain' | 'payer' | 'client'
const NAMERS: readonly Namer[] = ['seller', 'chain', 'payer', 'client']
const [SELLER, CHAIN, PAYER, CLIENT] = NAMERS.keys()

/** So many orders are found by one name at most; there may be more. */
export const FOUND_MAX = 10

const BY_ID = statement<OrderRow>(`
  select ${ORDER_COLUMNS}
  from orders o
  left join refunds r on r.order_id = o.id
  where o.id = $1`)

const BY_REFERENCE = statement<OrderRow & { identities: readonly (string | null)[]; rank: number }>(`
  with named as (
    select id, null as identity, ${SELLER} as rank from orders where id = $1
    union all
    select id, null, ${CHAIN} from orders where payment_tx = lower($1)
    union all
    -- It is on the chain, and its order has not heard of that yet.
    select order_id, identity, ${CHAIN} from payment_identities where identity = any ($2::text[]) and order_id is not null
    union all
    select order_id, identity, case when identity like '%/transfer/%' then ${CHAIN} else ${PAYER} end
    from payment_identities
    where handle in ($1, lower($1))
      and order_id is not null
    union all
    select id, null, ${CLIENT} from orders where idempotency_key = $1
  ), found as (
    select id, rank, array_agg(identity) as identities
    from named
    where rank = (select min(rank) from named)
    group by id, rank
  )
  select ${ORDER_COLUMNS}, f.identities, f.rank
  from found f
  join orders o on o.id = f.id
  left join refunds r on r.order_id = o.id
  -- A nonce is public as soon as it is on the chain, and by then its order is there: a stranger who signs it again comes later.
  order by case f.rank when ${PAYER} then o.created_at end, o.created_at desc
  limit ${FOUND_MAX}`)

export function createOrders(db: Database): Orders {
  return {
    open: (opening) => openOrder(db, opening),
    refuse: (refusal) => refusePayment(db, refusal),
    async byId(id) {
      const { rows } = await db.query(BY_ID, [id])
      return rows[0] ? fromOrderRow(rows[0]) : null
    },
    byIdentities: (identities) => findByIdentities(db, identities),
    isAnyHandleKnown: (handles) => isAnyHandleKnown(db, handles),
    async byReference(reference, shown = []) {
      const { rows } = await db.query(BY_REFERENCE, [reference, shown])
      return rows.map(({ identities, rank, ...row }) => ({
        order: fromOrderRow(row),
        namedBy: NAMERS[rank]!,
        isOwn: row.id === reference || identities.some((identity) => identity !== null && isPrivateIdentity(identity)),
      }))
    },
    unmatchedPayment: (reference) => unmatchedPayment(db, reference),
    change: (leased, change, event) => changeOrder(db, leased, change, event),
    changeRefund: (leased, change, event) => changeRefund(db, leased, change, event),
    paymentName: (order) => paymentName(db, order),
    markInDoubt: (leased, error) => markInDoubt(db, leased, error),
    countAttempt: (leased, error) => countAttempt(db, leased, error),
    noteTry: (leased, error) => noteTry(db, leased, error),
    holdRefund: (leased, why) => holdRefund(db, leased, why),
    letGo: (leased) => letGo(db, leased),
    setPlan: (leased, planned) => setPlan(db, leased, planned),
  }
}
