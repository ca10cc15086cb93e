import type { Address, Hash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { stringify } from '../../base/json.ts'
import type { Call, Journal, Landing, Send, SignedVersion } from '../../domain/journal.ts'
import { type Lease, LeaseLost } from '../../domain/lease.ts'
import type { Database, Queryable } from '../db.ts'
import { leaseHeld } from '../jobs.ts'
import { statement } from '../statement.ts'
import { keysInRole } from './keys.ts'

export type SendRow = {
  chain_id: string
  signer: Address
  nonce_key: Hex | ''
  nonce: string
  order_id: string
  step: string
  call: { to: Address; data: Hex; gas: string }
  versions: { raw: Hex; hash: Hash; fees: { maxFeePerGas: string; maxPriorityFeePerGas: string } }[]
  landed_hash: Hash | null
  landed_block: string | null
  landed_block_hash: Hash | null
  created_at: Date
}

/** With when its first version was signed. */
export type SignedSend = Send & { readonly signedAt: number }

const AT = statement<SendRow>(`
  select *
  from sends
  where chain_id = $1
    and signer = $2
    and nonce_key = $3
    and nonce = $4`)

const TAKEN = statement<{ nonce: string }>(`
  select nonce
  from sends
  where chain_id = $1
    and signer = $2
    and nonce_key = ''
    and nonce >= $3`)

// Nothing but its refund is sent for an order that was given up: a process that slept meanwhile must not deliver what was paid back.
const CLOSED = `
    select
    from orders
    where id = $4
      and status in ('failed', 'refunding', 'refunded', 'expired')
      and $5 not like 'refund%'`

// The lease is looked at by the statement that writes: a record that is late by more than a lease finds another one there, and is void.
const HELD = leaseHeld({ kind: '$1', key: '$2', lease: '$3::uuid' })

// Of all that is signed for a step only one can be the next.
const RECORD = statement<{ nonce: string }>(`
  insert into sends (order_id, step, chain_id, signer, nonce, call, versions, nonce_key, attempt)
  select $4, $5, $6::bigint, $7, $8::bigint, $9::jsonb, $10::jsonb, $11, $12::int
  where not exists (${CLOSED})
    and ${HELD}
  on conflict do nothing
  returning nonce`)

// With all that the next try depends on: between replicas that share a key, a nonce that is taken is nothing unusual.
const WHY_NOT = statement<{ is_closed: boolean; is_held: boolean; has_step: boolean; last_nonce: string | null }>(`
  select exists (${CLOSED}) as is_closed,
         ${HELD} as is_held,
         exists (
           select
           from sends
           where order_id = $4
             and step = $5
             and chain_id = $6
             and signer = $7
             and attempt >= $8) as has_step,
         (select max(nonce) from sends where chain_id = $6 and signer = $7 and nonce_key = '') as last_nonce`)

const ADD_VERSION = statement<{ nonce: string }>(`
  update sends
  set versions = versions || $8::jsonb,
      call = $10::jsonb
  where chain_id = $4
    and signer = $5
    and nonce = $6
    and nonce_key = $9
    and jsonb_array_length(versions) = $7
    and ${HELD}
  returning nonce`)

const IS_HELD = statement<{ is_held: boolean }>(`
  select ${HELD} as is_held`)

const BETWEEN = statement<SendRow>(`
  select *
  from sends
  where chain_id = $1
    and signer = $2
    and nonce_key = ''
    and nonce >= $3
    and nonce < $4
  order by nonce
  limit 100`)

const OF_ORDER = statement<SendRow>(`
  select *
  from sends
  where order_id = $1
  order by created_at, nonce
  limit 100`)

const LAND = statement(`
  update sends
  set landed_hash = $5,
      landed_block = $6,
      landed_block_hash = $7,
      buried = false
  where order_id = $1
    and step = $2
    and chain_id = $3
    and signer = $4
    and versions @> jsonb_build_array(jsonb_build_object('hash', $5::text))`)

const FAIL = statement(`
  update sends
  set gas_lost = $5
  where chain_id = $1
    and signer = $2
    and nonce_key = $3
    and nonce = $4
    and gas_lost is null`)

/** Everything that was ever signed for an order, oldest first. */
export async function sendsOf(queryable: Queryable, orderId: string): Promise<readonly SignedSend[]> {
  const { rows } = await queryable.query(OF_ORDER, [orderId])
  return rows.map((row) => ({ ...sendOf(row), signedAt: row.created_at.getTime() }))
}

export function createJournal(db: Database): Journal {
  return {
    async at({ chainId, signer, nonceKey = '', nonce }) {
      const { rows } = await db.query(AT, [chainId, signer, nonceKey, nonce])
      return rows[0] ? sendOf(rows[0]) : null
    },

    ofOrder: (orderId) => sendsOf(db, orderId),

    keysInRole: (chainId, role) => keysInRole(db, chainId, role),

    async taken(chainId, signer, from) {
      return (await db.query(TAKEN, [chainId, signer, from])).rows.map(({ nonce }) => Number(nonce))
    },

    async record(lease, send, seen) {
      const { rows } = await db.query(RECORD, [...recordValues(lease, send), send.nonceKey ?? '', seen])
      if (rows.length === 1) return null
      const { orderId, step, chainId, signer } = send
      const [answer] = (await db.query(WHY_NOT, [...leaseValues(lease), orderId, step, chainId, signer, seen])).rows
      if (!answer?.is_held) throw new LeaseLost(lease)
      if (answer.is_closed) throw new Error(`order ${orderId} was given up; its ${step} is not sent any more`)
      if (answer.has_step) return { kind: 'step_taken' }
      return { kind: 'nonce_taken', lastNonce: answer.last_nonce === null ? null : Number(answer.last_nonce) }
    },

    async addVersion(lease, { chainId, signer, nonce, nonceKey = '', call, versions }, version) {
      const place = [chainId, signer, nonce, versions.length]
      const { rows } = await db.query(ADD_VERSION, [
        ...leaseValues(lease),
        ...place,
        stringify([version]),
        nonceKey,
        stringify(call),
      ])
      if (rows.length === 1) return true
      const [answer] = (await db.query(IS_HELD, leaseValues(lease))).rows
      if (!answer?.is_held) throw new LeaseLost(lease)
      return false
    },

    async between(chainId, signer, from, before) {
      const { rows } = await db.query(BETWEEN, [chainId, signer, from, before])
      return rows.map(sendOf)
    },

    async fail({ chainId, signer, nonceKey = '', nonce }, gasUsed) {
      await db.query(FAIL, [chainId, signer, nonceKey, nonce, gasUsed.toString()])
    },

    async land(orderId, { step, chainId, signer, hash, blockNumber, blockHash }) {
      await db.query(LAND, [orderId, step, chainId, signer, hash, blockNumber.toString(), blockHash])
    },
  }
}

function leaseValues({ kind, key, lease }: Lease): readonly string[] {
  return [kind, key, lease]
}

function recordValues(lease: Lease, { orderId, step, chainId, signer, nonce, call, versions }: Send): unknown[] {
  return [...leaseValues(lease), orderId, step, chainId, signer, nonce, stringify(call), stringify(versions)]
}

export function sendOf(row: SendRow): Send {
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
    ...(row.nonce_key === '' ? {} : { nonceKey: row.nonce_key }),
    nonce: Number(row.nonce),
    orderId: row.order_id,
    step: row.step,
    call,
    versions,
    landing: landingOf(row),
  }
}

function landingOf({ landed_hash, landed_block, landed_block_hash }: SendRow): Landing | null {
  if (landed_hash === null || landed_block === null || landed_block_hash === null) return null
  return { hash: landed_hash, blockNumber: BigInt(landed_block), blockHash: landed_block_hash }
}
