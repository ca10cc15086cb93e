import type { TransferState } from '../domain/booked-transfer.ts'
import type { OrderStatus } from '../domain/order.ts'
import type { TroubleKind } from '../domain/trouble.ts'
import type { Queryable } from './db.ts'
import { IS_LIABILITY } from './orders/exposure.ts'
import { statement } from './statement.ts'
import { countTroubles } from './troubles.ts'

/** What the operator's figures show of the store. Every query reads only what is open. */
export type Figures = {
  readonly openOrders: readonly {
    readonly status: OrderStatus
    readonly count: number
    readonly oldestSeconds: number
  }[]
  /** Orders of which nobody knows whether their payment landed. */
  readonly unknownOutcomes: number
  readonly refundsOpen: number
  /** What would have to go back if nothing that is open could be delivered. */
  readonly liabilities: readonly Liability[]
  /** Troubles that have not ended, by kind. */
  readonly troubles: readonly { readonly kind: TroubleKind; readonly count: number }[]
  readonly unmatchedTransfers: readonly { readonly state: TransferState; readonly count: number }[]
  /** Orders that count as paid, and whose payment the final blocks do not show. */
  readonly missingPayments: number
}

const OPEN_ORDERS = statement<{ status: OrderStatus; count: number; oldest: number; doubtful: number }>(`
  select status,
         count(*)::int as count,
         extract(epoch from now() - min(created_at))::float8 as oldest,
         count(*) filter (where status = 'settling' and in_doubt)::int as doubtful
  from orders
  where status not in ('confirmed', 'refunded', 'expired')
  group by status
  order by status`)

const REFUNDS = statement<{ count: number }>(`
  select count(*)::int as count
  from refunds
  where completed_at is null`)

// The same as is compared with the float before more is sold.
const LIABILITIES = statement<{ network: string; asset: string; amount: string }>(`
  select network, asset, sum(amount) as amount
  from orders
  where ${IS_LIABILITY}
  group by network, asset
  order by network, asset`)

type Liability = { readonly network: string; readonly asset: string; readonly amount: bigint }

/** What would have to go back if nothing that is open could be delivered. */
export async function readLiabilities(queryable: Queryable): Promise<readonly Liability[]> {
  const { rows } = await queryable.query(LIABILITIES)
  return rows.map(({ amount, ...owed }) => ({ ...owed, amount: BigInt(amount) }))
}

const TRANSFERS = statement<{ state: TransferState; count: number }>(`
  select state, count(*)::int as count
  from transfers
  where state in ('unmatched', 'held')
  group by state
  order by state`)

const MISSING = statement<{ count: number }>(`
  select coalesce(sum(cardinality(missing)), 0)::int as count
  from receiving_accounts`)

export async function readFigures(queryable: Queryable): Promise<Figures> {
  const [orders, refunds, transfers, missing, owed, troubles] = await Promise.all([
    queryable.query(OPEN_ORDERS),
    queryable.query(REFUNDS),
    queryable.query(TRANSFERS),
    queryable.query(MISSING),
    readLiabilities(queryable),
    countTroubles(queryable),
  ])
  return {
    openOrders: orders.rows.map(({ status, count, oldest }) => ({ status, count, oldestSeconds: oldest })),
    unknownOutcomes: orders.rows.reduce((sum, { doubtful }) => sum + doubtful, 0),
    refundsOpen: refunds.rows[0]!.count,
    unmatchedTransfers: transfers.rows,
    missingPayments: missing.rows[0]!.count,
    liabilities: owed,
    troubles,
  }
}
