import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { Hold } from '../../domain/good.ts'
import type { Order } from '../../domain/order.ts'
import type { Payment, RailName } from '../../domain/rail.ts'
import type { Database } from '../db.ts'
import { readHistory } from '../history.ts'
import { isBlockedAddress, isPausedRail } from '../restrictions.ts'
import { statement } from '../statement.ts'
import { type Exposure, type TooExposed, tooExposed } from './exposure.ts'
import { holdRefusal } from './holds.ts'
import { findByIdentities, firstOrder } from './known-payments.ts'
import { ORDER_COLUMNS, type OrderRow } from './row.ts'

/** What a buyer shows, as far as rules speak about it. */
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
  /** An earlier payment of this payer for this very request is unresolved. */
  | { readonly kind: 'unresolved'; readonly order: Order }
  /** `isStale`: a limit was read before another order's hold ended, and may be otherwise by now. */
  | { readonly kind: 'refused'; readonly problem: Problem; readonly isStale?: boolean }
  /** The payer has other open authorizations; what they have must be known first. */
  | { readonly kind: 'means_needed' }

/** For a payment that bought under another configuration, went back without an order, or is to stay: its payer must not be asked to pay again. */
export function seenBefore(): Problem {
  return new Problem(
    'payment_conflict',
    'This payment was seen before and buys nothing here; /payments tells what became of it.',
    { taken: 'unknown', action: 'none' },
  )
}

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
  const { payment, rail, holds, exposure, askedAt } = presented
  const isCaptured = payment.funds === 'captured'
  const known = await findByIdentities(db, payment.identities)
  // A payment that is known already hears of its order even when the shelf is empty by now: perhaps it emptied it.
  if (known) return { kind: 'known', order: known }
  const history = await readHistory(db)
  if (!history.isKnown || history.restoredAt > askedAt) return refused('store_unavailable', RESTORED, MAY_BE_TAKEN)
  // A payer whose earlier money may have moved reads that first, whatever else speaks against them.
  const earlier = await earlierPayment(db, presented)
  if (earlier) return earlier
  const [closed] = (await db.query(CLOSED, [payment.payer, rail])).rows
  if (closed?.is_blocked) return refused('payer_blocked', 'This payer is not served here; nothing was taken.')
  if (isCaptured) return null
  if (closed?.is_paused) return refused('surface_closed', 'Sales were paused a moment ago; nothing was taken.')
  const held = await holdRefusal(db, holds)
  if (held) return { ...refused(held.hold.refusal.code, held.hold.refusal.detail), isStale: held.isStale }
  return exposureRefusal(await tooExposed(db, payment, exposure))
}

const RESTORED = 'The store has failed over or was restored this very moment; send the same payment again shortly.'
const MAY_BE_TAKEN = { taken: 'unknown' } as const

/** This payment bought nothing before and buys nothing any more, or an earlier one of this payer is known. Captured money is not refused for the latter. */
async function earlierPayment(
  db: Database,
  { payment, requestDigest, shownForDigest, idempotencyKey }: Presented,
): Promise<NotOpened | null> {
  const [spent] = (await db.query(SPENT, [payment.identities, shownForDigest, payment.funds])).rows
  if (spent?.refusal === null) return { kind: 'refused', problem: seenBefore() }
  // Its payer was told that it was not taken, and may have paid anew.
  if (spent) return refused(spent.refusal, REFUSED)
  const sameKey = idempotencyKey === null ? null : await firstOrder(db, BY_KEY, [payment.payer, idempotencyKey])
  if (sameKey) return { kind: 'same_key', order: sameKey }
  if (payment.funds === 'captured') return null
  const unsettled = await firstOrder(db, UNSETTLED, [payment.payer, requestDigest])
  return unsettled && { kind: 'unresolved', order: unsettled }
}

const REFUSED =
  'This payment was refused for this request before, and is not taken any more; pay the challenge in this answer.'

function exposureRefusal(found: TooExposed | null): NotOpened | null {
  switch (found?.kind) {
    case undefined:
      return null
    case 'means_needed':
      return { kind: 'means_needed' }
    case 'throttled':
      return refused('payer_throttled', found.detail, { afterSeconds: found.afterSeconds })
    case 'uncovered':
      return refused('shop_overcommitted', UNCOVERED)
  }
}

const UNCOVERED = 'More is open already than the shop could send back, so this payment was not taken; try again later.'

function refused(...problem: ConstructorParameters<typeof Problem>) {
  return { kind: 'refused', problem: new Problem(...problem) } as const
}
