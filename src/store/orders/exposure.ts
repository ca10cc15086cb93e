import { AUTOMATIC } from '../../domain/order.ts'
import type { Payment } from '../../domain/rail.ts'
import type { Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'

/** How far the shop goes with one payer, and with all of them together. Compared with what all replicas have opened. */
export type Exposure = {
  /** Orders of one payer whose payment has not landed yet. */
  readonly openOrdersMax: number
  /** What the payer has. Asked for only when other authorizations of theirs are open; null: not asked. */
  readonly means: bigint | null
  /** What the shop could send back; null: it goes back from where it came, so that each sale covers itself. */
  readonly float: bigint | null
  /** Automatic refunds to one payer within a day. */
  readonly refundsPerDayMax: number
  /** What code of strangers may burn of our gas in this order; 0n where none runs. */
  readonly gasAtRisk: bigint
  /** What such code, and transactions that fail, may use up within an hour. */
  readonly gasPerHour: bigint
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
        and order_id is not null
        and created_at > now() - interval '1 day'
        and requested_by = '${AUTOMATIC}')`
}

function hasBought(payer: string): string {
  return `exists (select from orders bought where bought.payer = ${payer} and bought.status = 'confirmed')`
}

/** Transactions of the last hour that brought or delivered a payment, and reverted at our cost. */
const FAILED_SENDS = `sends s
        where s.gas_lost is not null
          and s.created_at > now() - interval '1 hour'
          and s.step not in ('refund', 'close')`

const MAY_BURN = `${IS_LIABILITY}
        and status in ('settling', 'settled', 'submitted')
        and gas_at_risk > 0`

/**
 * Is this payer held to the gas of an hour? A payer who lets code run and has bought nothing yet, or has another such order open; and a payer whose
 * transactions failed just now.
 */
export function isUnproven(payer: string, gasAtRisk: string): string {
  return `((${gasAtRisk}::bigint > 0 and (
          not ${hasBought(payer)}
          or exists (select from orders burning where burning.payer = ${payer} and ${MAY_BURN})))
        or exists (
          select
          from ${FAILED_SENDS}
          and exists (select from orders failing where failing.id = s.order_id and failing.payer = ${payer})))`
}

/** What the last hour has burned, and what open orders still may. */
export const GAS_USED = `(
      (select coalesce(sum(s.gas_lost), 0) from ${FAILED_SENDS})
      + (
        select coalesce(sum(gas_at_risk), 0)
        from orders
        where ${MAY_BURN}))`

const TURN = statement(`
  select pg_advisory_xact_lock(hashtextextended($1, 0))`)

/** One after the other from here to the end of the transaction, so that the last of what is left is counted on once. */
export async function takeTurn(tx: Transaction, { network, asset }: Pick<Payment, 'network' | 'asset'>): Promise<void> {
  await tx.query(TURN, [`${network}/${asset}`])
}

/** What an order may burn, and what all of them may in an hour. */
export type GasLimit = Pick<Exposure, 'gasAtRisk' | 'gasPerHour'>

const GAS = statement<{ is_free: boolean }>(`
  select not ${isUnproven('$1', '$2')} or ${GAS_USED} < $3 as is_free`)

/** Is there gas left for the code that this order would run? */
export async function isGasLeft(
  queryable: Queryable,
  payer: string,
  { gasAtRisk, gasPerHour }: GasLimit,
): Promise<boolean> {
  return (await queryable.query(GAS, [payer, gasAtRisk.toString(), gasPerHour.toString()])).rows[0]!.is_free
}

export const GAS_USED_UP = 'The gas that contract wallets and receivers may use for nothing in an hour is used up.'

const LOOK = statement<{
  open_orders: number
  promised: string
  liabilities: string
  refunds: number
  is_unproven: boolean
  gas_used: string
}>(`
  select coalesce((select open_orders from exposures where payer = $1 and network = $2), 0) as open_orders,
         coalesce((select promised from exposures where payer = $1 and network = $2), 0) as promised,
         ${liabilities('$2', '$3')} as liabilities,
         ${refundsToday('$1')} as refunds,
         ${isUnproven('$1', '$4')} as is_unproven,
         ${GAS_USED} as gas_used`)

const DAY_SECONDS = 86_400
const SETTLE_SECONDS = 10
const GAS_SECONDS = 600

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
  { openOrdersMax, means, float, refundsPerDayMax, gasAtRisk, gasPerHour }: Exposure,
): Promise<TooExposed | null> {
  const { rows } = await queryable.query(LOOK, [payer, network, asset, gasAtRisk.toString()])
  const { open_orders, promised, liabilities: owed, refunds, is_unproven, gas_used } = rows[0]!
  if (is_unproven && BigInt(gas_used) >= gasPerHour) return throttled(GAS_USED_UP, GAS_SECONDS)
  if (refunds >= refundsPerDayMax) return throttled('This wallet was refunded too often today.', DAY_SECONDS)
  if (open_orders >= openOrdersMax)
    return throttled('Too many payments of this wallet have not landed yet.', SETTLE_SECONDS)
  if (open_orders > 0 && means === null) return { kind: 'means_needed' }
  if (open_orders > 0 && BigInt(promised) + amount > means!)
    return throttled('This wallet has promised more than it holds; wait until that is settled.', SETTLE_SECONDS)
  return float !== null && BigInt(owed) + amount > float ? { kind: 'uncovered' } : null
}

function throttled(detail: string, afterSeconds: number): TooExposed {
  return { kind: 'throttled', detail: `${detail} This payment was not taken.`, afterSeconds }
}
