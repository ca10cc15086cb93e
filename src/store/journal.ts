import type { Address } from '../base/address.ts'
import { stringify } from '../base/json.ts'
import type { Call, Journal, Send, SignedVersion } from '../domain/journal.ts'
import type { Database, Queryable } from './db.ts'
import { statement } from './statement.ts'

type Row = {
  chain_id: string
  signer: Address
  nonce: string
  order_id: string
  step: string
  call: { to: Address; data: `0x${string}`; gas: string }
  versions: {
    raw: `0x${string}`
    hash: `0x${string}`
    fees: { maxFeePerGas: string; maxPriorityFeePerGas: string }
    isVoid: boolean
  }[]
}

const FIND = statement<Row>(`
  select *
  from sends
  where order_id = $1
    and step = $2
    and chain_id = $3
    and signer = $4`)

const LAST_NONCE = statement<{ nonce: string | null }>(`
  select max(nonce) as nonce
  from sends
  where chain_id = $1
    and signer = $2`)

const UNKNOWN = statement<{ unknown: number }>(`
  select ($3::bigint - coalesce(min(nonce), 0) - count(*))::int as unknown
  from sends
  where chain_id = $1
    and signer = $2
    and nonce < $3`)

// Nothing but its refund is sent for an order that was given up: a process that slept meanwhile must not deliver what was paid back.
const CLOSED = `
    select
    from orders
    where id = $4
      and status in ('failed', 'refunding', 'refunded', 'expired')
      and $5 not like 'refund%'`

// A nonce is written only on top of the one before it, or of what the chain has counted: no gap can come of a lost process.
const RECORD = statement<{ nonce: string }>(`
  insert into sends (chain_id, signer, nonce, order_id, step, call, versions)
  select $1::bigint, $2, $3::bigint, $4, $5, $6::jsonb, $7::jsonb
  where not exists (${CLOSED})
  on conflict do nothing
  returning nonce`)

const IS_CLOSED = statement<{ closed: boolean }>(`
  select exists (${CLOSED.replace('$4', '$1').replace('$5', '$2')}) as closed`)

const ADD_VERSION = statement<{ nonce: string }>(`
  update sends
  set versions = versions || $5::jsonb
  where chain_id = $1
    and signer = $2
    and nonce = $3
    and jsonb_array_length(versions) = $4
  returning nonce`)

const BETWEEN = statement<Row>(`
  select *
  from sends
  where chain_id = $1
    and signer = $2
    and nonce >= $3
    and nonce < $4
  order by nonce
  limit 100`)

const OF_ORDER = statement<Row>(`
  select *
  from sends
  where order_id = $1
  order by created_at, nonce
  limit 100`)

/** Everything that was ever signed for an order, oldest first. */
export async function sendsOf(queryable: Queryable, orderId: string): Promise<readonly Send[]> {
  return (await queryable.query(OF_ORDER, [orderId])).rows.map(fromRow)
}

/** `duplicate` or `nonce_taken` look the same to the insert; the sender looks the step up to tell them apart. */
export function createJournal(db: Database): Journal {
  return {
    async find(chainId, signer, orderId, step) {
      const { rows } = await db.query(FIND, [orderId, step, chainId, signer])
      return rows[0] ? fromRow(rows[0]) : null
    },

    async lastNonce(chainId, signer) {
      const { rows } = await db.query(LAST_NONCE, [chainId, signer])
      const nonce = rows[0]?.nonce
      return nonce == null ? null : Number(nonce)
    },

    async unknownBefore(chainId, signer, nonce) {
      return (await db.query(UNKNOWN, [chainId, signer, nonce])).rows[0]!.unknown
    },

    async record({ chainId, signer, nonce, orderId, step, call, versions }) {
      const { rows } = await db.query(RECORD, [
        chainId,
        signer,
        nonce,
        orderId,
        step,
        stringify(call),
        stringify(versions),
      ])
      if (rows.length === 1) return true
      const [answer] = (await db.query(IS_CLOSED, [orderId, step])).rows
      if (answer?.closed) throw new Error(`order ${orderId} was given up; its ${step} is not sent any more`)
      return false
    },

    async addVersion({ chainId, signer, nonce, versions }, version) {
      const { rows } = await db.query(ADD_VERSION, [chainId, signer, nonce, versions.length, stringify([version])])
      return rows.length === 1
    },

    async between(chainId, signer, from, before) {
      const { rows } = await db.query(BETWEEN, [chainId, signer, from, before])
      return rows.map(fromRow)
    },
  }
}

function fromRow(row: Row): Send {
  const call: Call = { ...row.call, gas: BigInt(row.call.gas) }
  const versions = row.versions.map(({ fees, ...version }): SignedVersion => {
    const { maxFeePerGas, maxPriorityFeePerGas } = fees
    return {
      ...version,
      fees: { maxFeePerGas: BigInt(maxFeePerGas), maxPriorityFeePerGas: BigInt(maxPriorityFeePerGas) },
    }
  })
  return {
    chainId: Number(row.chain_id),
    signer: row.signer,
    nonce: Number(row.nonce),
    orderId: row.order_id,
    step: row.step,
    call,
    versions,
  }
}
