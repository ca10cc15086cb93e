import type { Address, Hash } from '../base/address.ts'
import { isoTime } from '../base/clock.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import type { EventType } from '../domain/event.ts'
import type { Database } from './db.ts'
import { statement } from './statement.ts'

/** What a chain says of a transaction. */
export type ChainWord = { readonly network: string; readonly status: 'success' | 'reverted' }

type Report = {
  readonly reportId: string
  readonly userId: string
  readonly txHash: Hash
  readonly payer: Address
  readonly orderId: string
  /** Null: no chain that we know has seen it. */
  readonly chain: ChainWord | null
  readonly recordedAt: number
}

export type Reports = {
  /** Records it with its event, once for each user and transaction; returns the one that stands, which may be an earlier one. */
  record(report: Report): Promise<Report>
}

type Row = {
  id: string
  user_id: string
  tx_hash: Hash
  payer: Address
  order_id: string
  chain_network: string | null
  chain_status: ChainWord['status'] | null
  recorded_at: Date
}

const RECORDED: EventType = 'report.recorded'

const RECORD = statement<Row>(`
  with recorded as (
    insert into reports (id, user_id, tx_hash, payer, order_id, chain_network, chain_status, recorded_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8)
    on conflict on constraint reports_user_tx do nothing
    returning *
  ), logged as (
    insert into events (subject, sequence, type, data)
    select id, 1, '${RECORDED}', $9
    from recorded
  )
  select *
  from recorded`)

const FIND = statement<Row>(`
  select *
  from reports
  where user_id = $1
    and tx_hash = $2`)

export function createReports(db: Database): Reports {
  return {
    async record(report) {
      const { reportId, userId, txHash, payer, orderId, chain, recordedAt } = report
      const recorded = await db.query(RECORD, [
        reportId,
        userId,
        txHash,
        payer,
        orderId,
        chain?.network,
        chain?.status,
        new Date(recordedAt),
        stringify(eventOf(report)),
      ])
      const [row] = recorded.rows.length > 0 ? recorded.rows : (await db.query(FIND, [userId, txHash])).rows
      if (!row) throw new Error(`the report of order ${orderId} was neither written nor found`)
      return fromRow(row)
    },
  }
}

function eventOf({ reportId, userId, txHash, payer, orderId, chain, recordedAt }: Report): JsonObject {
  return { reportId, userId, txHash, payer, orderId, chain, recordedAt: isoTime(recordedAt) }
}

function fromRow(row: Row): Report {
  const { chain_network: network, chain_status: status } = row
  return {
    reportId: row.id,
    userId: row.user_id,
    txHash: row.tx_hash,
    payer: row.payer,
    orderId: row.order_id,
    chain: network === null || status === null ? null : { network, status },
    recordedAt: row.recorded_at.getTime(),
  }
}
