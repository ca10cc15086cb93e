import { isoTime } from '../../base/clock.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { ToldEvent } from '../../domain/event.ts'
import type { GoodName, SurfaceName } from '../../domain/good.ts'
import type { Lease } from '../../domain/lease.ts'
import type { Order } from '../../domain/order.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { isConflict, isForeignKeyViolation, isUniqueViolation } from '../fault.ts'
import { IS_KNOWN_HISTORY, isRestoredSince } from '../history.ts'
import { NOT_REFUSED } from '../refusals.ts'
import { isBlockedAddress, isPausedRail } from '../restrictions.ts'
import { statement } from '../statement.ts'
import { GAS_USED, isUnproven, liabilities, refundsToday, takeTurn } from './exposure.ts'
import { begunBy, heldIn, holdValue, takenBy } from './holds.ts'
import { type NotOpened, type Presented, UNRESOLVED, whyNotOpened } from './not-opened.ts'

/** What is written down before money moves. */
export type Opening = Presented & {
  readonly id: string
  readonly flowId: string
  readonly surface: SurfaceName
  readonly good: GoodName
  readonly input: JsonObject
  readonly plan: JsonObject | null
  readonly openedAt: number
  readonly event: ToldEvent
  readonly leaseSeconds: number
}

export type OpenOutcome =
  /** The opener works on the order first: its job is born leased. */
  { readonly kind: 'opened'; readonly order: Order; readonly lease: Lease } | NotOpened

const PAYER = '(select payer from asked)'
const NETWORK = '(select network from asked)'
const HOLDS = '$3'
const ALL_CLAIMED = '(select count(*) from claimed) = cardinality($2::text[])'
const ALL_HELD = `(select count(*) from taken) + (select count(*) from begun) = jsonb_array_length(${HOLDS}::jsonb)`
const ORDER_MEMBERS = `
      id, flow_id, surface, good, rail, status, funds, request_digest, input, plan, objection, payer, amount, asset, network, pay_to,
      proof_digest, idempotency_key, authorization_data, expires_at, history`

// Order, identities, holds, event and job in one statement, so in one transaction and one round trip. When one of the identities is taken
// the order is not inserted, and the foreign key undoes those that were free. The same undoes holds and exposure when another rule
// says no. Each step waits for the one before: identities, then holds, then the exposure of the payer, as in every statement that touches them.
// A payment that was refused for this very request stays so, unless its money has moved all the same.
const OPEN = statement<{ created_at: Date; lease: string }>(`
  with asked as materialized (
    select *, funds = 'captured' as is_captured
    from jsonb_populate_record(null::orders, $1::jsonb)
  ), claimed as (
    insert into payment_identities (identity, handle, order_id)
    select identity, regexp_replace(identity, '^.*/', ''), (select id from asked)
    from unnest($2::text[]) as identity
    where ${IS_KNOWN_HISTORY}
      and not ${isRestoredSince('$8')}
    on conflict (identity) do update
    set order_id = excluded.order_id,
        ${NOT_REFUSED}
    where payment_identities.refused_at is not null
      and ((select is_captured from asked) or $7 <> all (payment_identities.refused_for))
    returning identity
  ), taken as (
    ${takenBy(HOLDS)}
      and ${ALL_CLAIMED}
    returning t.resource
  ), begun as (
    ${begunBy(HOLDS)}
      and ${ALL_CLAIMED}
    on conflict (resource) do nothing
    returning resource
  ), promised as (
    insert into exposures (payer, network, open_orders, promised)
    select payer, network, 1, amount
    from asked
    where not is_captured
      and ${ALL_CLAIMED}
      and ${ALL_HELD}
    on conflict (payer, network) do update
    set open_orders = exposures.open_orders + 1,
        promised = exposures.promised + excluded.promised
    where exposures.open_orders = 0
       or (exposures.open_orders < $9 and exposures.promised + excluded.promised <= $10::numeric)
    returning payer
  ), opened as (
    insert into orders (${ORDER_MEMBERS}, gas_at_risk)
    select ${ORDER_MEMBERS}, $13::bigint
    from asked
    where ${ALL_CLAIMED}
      and ${ALL_HELD}
      and not ${isBlockedAddress(PAYER)}
      and (is_captured or (
        exists (select from promised)
        and not exists (
          select
          from orders o
          where o.payer = ${PAYER}
            and o.request_digest = (select request_digest from asked)
            and o.status = 'settling'
            and ${UNRESOLVED})
        and ($11::numeric is null or amount + ${liabilities(NETWORK, '(select asset from asked)')} <= $11::numeric)
        and ${refundsToday(PAYER)} < $12
        and (not ${isUnproven(PAYER, '$13')} or ${GAS_USED} < $14)
        and not ${isPausedRail('(select rail from asked)')}))
    returning id, created_at
  ), kept as (
    insert into holds (order_id, resource, quantity, kept)
    select opened.id, h.resource, h.quantity, h.kept
    from opened, ${heldIn(HOLDS)}
  ), logged as (
    insert into events (subject, sequence, type, data)
    select id, 1, $4, $5
    from opened
  ), queued as (
    insert into jobs (kind, key, lease, run_at)
    select 'order', id, gen_random_uuid(), clock_timestamp() + make_interval(secs => $6)
    from opened
    returning lease
  )
  select created_at, lease
  from opened, queued`)

/** Rules that said no while others finished may have nothing against it a moment later. */
const TRIES_MAX = 5

/** Everything or nothing, in one transaction: the payment's identity, the order, its holds, its first event and its job. */
export async function openOrder(db: Database, opening: Opening): Promise<OpenOutcome> {
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const isInTurn = tries > 1 || opening.exposure.gasAtRisk > 0n
    const outcome = await tryToOpen(db, opening, isInTurn ? 'in_turn' : 'at_once')
    if (outcome) return outcome
    // Not even in turn: other orders of this payer come and go. What they have says whether that matters, and one more try would not.
    const canBeAsked = opening.payment.funds === 'authorized' && opening.exposure.means === null
    if (tries > 1 && canBeAsked) return { kind: 'means_needed' }
  }
  throw new Problem('overloaded', 'Too much happens at once with this payer; this payment was not taken.')
}

/**
 * Orders that other requests are opening at this moment are in no sum yet. As long as there is room for many more of the same size that does not
 * matter, and requests do not wait for each other (`at_once`); otherwise orders are opened one after the other, so that the last of the float is
 * counted on once.
 */
type Manner = 'at_once' | 'in_turn'

/** More orders than all replicas together open at one moment: each of them takes a connection to the store. */
const AT_ONCE_MAX = 128n

async function tryToOpen(db: Database, opening: Opening, manner: Manner): Promise<OpenOutcome | null> {
  try {
    const opened =
      manner === 'at_once' ? await insert(db, opening, manner) : await db.transaction((tx) => insertInTurn(tx, opening))
    return opened ?? (await whyNotOpened(db, opening))
  } catch (error) {
    const isRace = isForeignKeyViolation(error) || isUniqueViolation(error, 'orders_idempotency') || isConflict(error)
    if (isRace) return whyNotOpened(db, opening)
    throw error
  }
}

async function insertInTurn(tx: Transaction, opening: Opening): Promise<OpenOutcome | null> {
  await takeTurn(tx, opening.payment)
  return insert(tx, opening, 'in_turn')
}

async function insert(queryable: Queryable, opening: Opening, manner: Manner): Promise<OpenOutcome | null> {
  const { payment, id, event, exposure } = opening
  const ahead = manner === 'in_turn' ? 0n : (AT_ONCE_MAX - 1n) * payment.amount
  const float = exposure.float === null ? null : exposure.float - ahead
  const order = asOpened(opening, opening.openedAt)
  const { rows } = await queryable.query(OPEN, [
    stringify(rowOf(order)),
    payment.identities,
    holdValue(opening.holds),
    event.type,
    stringify(event.data),
    opening.leaseSeconds,
    opening.shownForDigest,
    opening.askedAt,
    exposure.openOrdersMax,
    exposure.means?.toString(),
    float?.toString() ?? null,
    exposure.refundsPerDayMax,
    exposure.gasAtRisk.toString(),
    exposure.gasPerHour.toString(),
  ])
  const [row] = rows
  if (!row) return null
  const createdAt = row.created_at.getTime()
  return {
    kind: 'opened',
    order: { ...order, createdAt, updatedAt: createdAt },
    lease: { kind: 'order', key: id, lease: row.lease },
  }
}

/** By the names of columns. Amounts leave as text: JSON numbers would round them. */
function rowOf(order: Order): JsonObject {
  return {
    id: order.id,
    flow_id: order.flowId,
    surface: order.surface,
    good: order.good,
    rail: order.rail,
    status: order.status,
    funds: order.funds,
    request_digest: order.requestDigest,
    input: order.input,
    plan: order.plan,
    objection: order.objection,
    payer: order.payer,
    amount: order.amount.toString(),
    asset: order.asset,
    network: order.network,
    pay_to: order.payTo,
    proof_digest: order.proofDigest,
    idempotency_key: order.idempotencyKey,
    authorization_data: order.authorization,
    expires_at: isoTime(order.expiresAt),
    history: order.history,
  }
}

/** The order as it begins, so that its first event can be written in the same statement. */
export function asOpened(opening: Omit<Opening, 'event'>, openedAt: number): Order {
  const { payment } = opening
  return {
    id: opening.id,
    flowId: opening.flowId,
    surface: opening.surface,
    good: opening.good,
    rail: opening.rail,
    status: 'settling',
    funds: payment.funds,
    requestDigest: opening.requestDigest,
    input: opening.input,
    plan: opening.plan,
    objection: payment.objection ? { code: payment.objection.code, detail: payment.objection.message } : null,
    payer: payment.payer,
    amount: payment.amount,
    asset: payment.asset,
    network: payment.network,
    payTo: payment.payTo,
    proofDigest: payment.proofDigest,
    idempotencyKey: opening.idempotencyKey,
    authorization: payment.authorization,
    expiresAt: payment.expiresAt,
    inDoubt: false,
    settlement: null,
    deliveryTx: null,
    result: null,
    failure: null,
    refundHeld: false,
    refund: null,
    answer: null,
    receipt: null,
    attempts: 0,
    sequence: 1,
    history: [{ status: 'settling', at: isoTime(openedAt) }],
    createdAt: openedAt,
    updatedAt: openedAt,
  }
}
