import { AUTOMATIC } from '../../domain/order.ts'
import type { Payment } from '../../domain/rail.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { STRIKE_POINTS_MAX } from './strikes.ts'

/** How far the shop goes with one payer, and with all of them together. Compared with what all replicas have opened. */
export type Exposure = {
  /** Orders of one payer whose payment has not landed yet. */
  readonly openOrdersMax: number
  /** The same for a payer who has not bought anything yet. */
  readonly openOrdersMaxAtFirst: number
  /** What the payer has. Asked for only when other authorizations of theirs are open; null: not asked. */
  readonly means: bigint | null
  /** What the shop could send back; null: it goes back from where it came, so that each sale covers itself. */
  readonly float: bigint | null
  /** Automatic refunds to one payer within a day. */
  readonly refundsPerDayMax: number
  /** Whose strikes count against this order. */
  readonly suspects: readonly string[]
}

/** Why an order is not opened though its payment is good. Nothing was taken. */
export type TooExposed =
  /** The payer has other open authorizations; what they have must be known first. */
  | { readonly kind: 'means_needed' }
  /** Nothing is taken from this payer for now. */
  | { readonly kind: 'throttled'; readonly detail: string; readonly afterSeconds: number }
  /** If all that is open had to be sent back, there would not be enough. */
  | { readonly kind: 'uncovered' }

// The arguments of these are SQL: parameters of the statement that they become a part of.

/** The very words of the index that it is read by. */
export const IS_LIABILITY = `status in ('settling', 'settled', 'submitted', 'failed', 'refunding')
        and (status <> 'settling' or funds = 'captured' or plan is not null)
        and (status <> 'failed' or not refund_held)`

/**
 * Money that is here, or on its way. A payment that did not land in time was let go of (its plan is gone), and counts no more. Neither does a refund
 * that waits for a person.
 */
export function liabilities(network: string, asset: string): string {
  return `(
      select coalesce(sum(amount), 0)
      from orders
      where network = ${network}
        and asset = ${asset}
        and ${IS_LIABILITY})`
}

export function refundsToday(payer: string): string {
  return `(
      select count(*)::int
      from refunds
      where recipient = ${payer}
        and created_at > now() - interval '1 day'
        and requested_by = '${AUTOMATIC}')`
}

function hasBought(payer: string): string {
  return `exists (select from orders bought where bought.payer = ${payer} and bought.status = 'confirmed')`
}

/** How many orders of a payer may be open, by what they have bought so far. */
export function openOrdersMaxOf(payer: string, most: string, atFirst: string): string {
  return `(case when ${atFirst}::int < ${most}::int and not ${hasBought(payer)} then ${atFirst}::int else ${most}::int end)`
}

/** Strikes against a code do not count against a payer who has bought here before: users of a popular wallet all share its code. */
export function struckUntil(suspects: string, payer: string): string {
  return `(
      select max(until)
      from strikes
      where subject = any (${suspects}::text[])
        and points >= ${STRIKE_POINTS_MAX}
        and until > now()
        and (subject not like 'code:%'
          or not ${hasBought(payer)}))`
}

const LOOK = statement<{
  open_orders: number
  promised: string
  liabilities: string
  refunds: number
  struck_seconds: number | null
  open_orders_max: number
}>(`
  select coalesce((select open_orders from exposures where payer = $1 and network = $2), 0) as open_orders,
         coalesce((select promised from exposures where payer = $1 and network = $2), 0) as promised,
         ${liabilities('$2', '$3')} as liabilities,
         ${refundsToday('$1')} as refunds,
         ceil(extract(epoch from ${struckUntil('$4', '$1')} - now()))::int as struck_seconds,
         ${openOrdersMaxOf('$1', '$5', '$6')} as open_orders_max`)

const DAY_SECONDS = 86_400
const SETTLE_SECONDS = 10

const OWED = statement<{ owed: string }>(`
  select ${liabilities('$1', '$2')} as owed`)

/** What would have to go back on a rail if nothing that is open there could be delivered. */
export async function owedOn(
  queryable: Queryable,
  { network, asset }: Pick<Payment, 'network' | 'asset'>,
): Promise<bigint> {
  return BigInt((await queryable.query(OWED, [network, asset])).rows[0]!.owed)
}

/** Which of the bounds was it? Null when none of them stands in the way any more. */
export async function tooExposed(
  queryable: Queryable,
  { payer, network, asset, amount }: Payment,
  { openOrdersMax, openOrdersMaxAtFirst, means, float, refundsPerDayMax, suspects }: Exposure,
): Promise<TooExposed | null> {
  const bounds = [openOrdersMax, openOrdersMaxAtFirst]
  const { rows } = await queryable.query(LOOK, [payer, network, asset, suspects, ...bounds])
  const { open_orders, open_orders_max, promised, liabilities: owed, refunds, struck_seconds } = rows[0]!
  if (struck_seconds !== null)
    return throttled('Payments or deliveries for this wallet failed on the chain at our cost.', struck_seconds)
  if (refunds >= refundsPerDayMax) return throttled('This wallet was refunded too often today.', DAY_SECONDS)
  if (open_orders >= open_orders_max)
    return throttled('Too many payments of this wallet have not landed yet.', SETTLE_SECONDS)
  if (open_orders > 0 && means === null) return { kind: 'means_needed' }
  if (open_orders > 0 && BigInt(promised) + amount > means!)
    return throttled('This wallet has promised more than it holds; wait until that is settled.', SETTLE_SECONDS)
  return float !== null && BigInt(owed) + amount > float ? { kind: 'uncovered' } : null
}

function throttled(detail: string, afterSeconds: number): TooExposed {
  return { kind: 'throttled', detail: `${detail} This payment was not taken.`, afterSeconds }
}
