import type { ProblemCode } from '../../base/problem.ts'
import type { Hold } from '../../domain/good.ts'
import type { Order } from '../../domain/order.ts'
import type { Payment, RailName } from '../../domain/rail.ts'
import { isBlockedAddress } from '../blocked-payers.ts'
import type { Database } from '../db.ts'
import { readHistory } from '../history.ts'
import { isPausedRail } from '../sales-pauses.ts'
import { statement } from '../statement.ts'
import { type Exposure, type TooExposed, tooExposed } from './exposure.ts'
import { type HoldRefusal, holdRefusal } from './holds.ts'
import { findByIdentities, firstOrder } from './known-payments.ts'
import { ORDER_COLUMNS, type OrderRow } from './row.ts'

/** What somebody shows who wants to buy, as far as rules speak about it. */
export type Presented = {
  readonly rail: RailName
  readonly requestDigest: string
  /** Digest of what was signed and of the request that it was shown for, as in `Refusal`. */
  readonly shownForDigest: string
  readonly holds: readonly Hold[]
  readonly payment: Payment
  readonly idempotencyKey: string | null
  /** When its payer was asked for it, in milliseconds, as the payment says. */
  readonly askedAt: number
  readonly exposure: Exposure
}

export type NotOpened =
  /** This payment was seen before: by an earlier request, or by its twin a moment ago. */
  | { readonly kind: 'known'; readonly order: Order }
  /** The caller's key names another order of the same payer. */
  | { readonly kind: 'same_key'; readonly order: Order }
  /** This payment reached the till without an order, and is in quarantine or was sent back: it buys nothing any more. */
  | { readonly kind: 'spent' }
  /** Its payer was told that it was not taken, and may have paid anew. */
  | { readonly kind: 'refused'; readonly code: ProblemCode }
  /** An earlier payment of this payer for this very request is unresolved. */
  | { readonly kind: 'in_doubt'; readonly order: Order }
  /** This is not the store that the shop was told to sell from, or it was restored after the payer had been asked. */
  | { readonly kind: 'moved' }
  | ({ readonly kind: 'held' } & HoldRefusal)
  /** Nothing is sold to this payer; nothing is sold on this rail. */
  | { readonly kind: 'blocked' | 'paused' }
  | TooExposed

/** Settling for longer than this, an order counts as unresolved for a second payment of the same request. */
const IN_FLIGHT_SECONDS = 2
export const UNRESOLVED = `(o.in_doubt or o.created_at < now() - make_interval(secs => ${IN_FLIGHT_SECONDS}))`

const SPENT = statement<{ refusal: ProblemCode | null }>(`
  select refusal
  from payment_identities
  where identity = any ($1::text[])
    and order_id is null
    and (refused_at is null or ($3 = 'authorized' and $2 = any (refused_for)))
  limit 1`)

const BY_KEY = statement<OrderRow>(`
  select ${ORDER_COLUMNS}
  from orders o
  left join refunds r on r.order_id = o.id
  where o.payer = $1
    and o.idempotency_key = $2
    and o.status <> 'expired'`)

const UNSETTLED = statement<OrderRow>(`
  select ${ORDER_COLUMNS}
  from orders o
  left join refunds r on r.order_id = o.id
  where o.payer = $1
    and o.request_digest = $2
    and o.status = 'settling'
    and ${UNRESOLVED}
  order by o.created_at
  limit 1`)

const CLOSED = statement<{ is_blocked: boolean; is_paused: boolean }>(`
  select ${isBlockedAddress('$1')} as is_blocked,
         ${isPausedRail('$2')} as is_paused`)

/** Not opened: which of the rules said no? If another request was first, its row is visible now. Null: the reason is gone again. */
export async function whyNotOpened(db: Database, presented: Presented): Promise<NotOpened | null> {
  const { payment } = presented
  const known = await findByIdentities(db, payment.identities)
  // A payment that is known already hears of its order even when the shelf is empty by now: perhaps it emptied it.
  if (known) return { kind: 'known', order: known }
  const history = await readHistory(db)
  if (!history.isKnown || history.restoredAt > presented.askedAt) return { kind: 'moved' }
  // A payer whose earlier money may have moved reads that first, whatever else speaks against them. Captured money is not refused for it.
  const earlier = payment.funds === 'authorized' ? await earlierPayment(db, presented) : null
  if (earlier) return earlier
  const [closed] = (await db.query(CLOSED, [payment.payer, presented.rail])).rows
  if (closed?.is_blocked) return { kind: 'blocked' }
  if (closed?.is_paused && payment.funds === 'authorized') return { kind: 'paused' }
  const refusal = await holdRefusal(db, presented.holds)
  if (refusal) return { kind: 'held', ...refusal }
  return payment.funds === 'captured' ? earlierPayment(db, presented) : tooExposed(db, payment, presented.exposure)
}

/** This payment is in quarantine or was refused, or an earlier payment for the same request is known. */
async function earlierPayment(
  db: Database,
  { payment, requestDigest, shownForDigest, idempotencyKey }: Presented,
): Promise<NotOpened | null> {
  const [spent] = (await db.query(SPENT, [payment.identities, shownForDigest, payment.funds])).rows
  if (spent) return spent.refusal === null ? { kind: 'spent' } : { kind: 'refused', code: spent.refusal }
  const sameKey = idempotencyKey === null ? null : await firstOrder(db, BY_KEY, [payment.payer, idempotencyKey])
  if (sameKey) return { kind: 'same_key', order: sameKey }
  const unsettled = await firstOrder(db, UNSETTLED, [payment.payer, requestDigest])
  return unsettled && { kind: 'in_doubt', order: unsettled }
}
