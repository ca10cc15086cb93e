import type { Hash } from '../../base/address.ts'
import type { SendWatch, WatchedSend } from '../../domain/send-watch.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { type SendRow, sendOf } from './journal.ts'

/** Whose deliveries and refunds are meant: those of orders that were paid to one receiving account, and of money that came there without one. */
export type WatchScope = {
  readonly account: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
}

// Whoever was paid back keeps what was delivered, and is owed nothing when the chain takes it back.
const WATCHED = `
  from sends s
  left join orders o on o.id = s.order_id
  left join transfers t on t.id = s.order_id
  where s.chain_id = $1
    and s.landed_block is not null
    and not s.buried
    and (s.step like 'refund%' or o.status in ('settled', 'submitted', 'confirmed'))
    and (t.account = $2 or (o.network = $3 and lower(o.asset) = lower($4) and lower(o.pay_to) = lower($5)))`

const BLOCKS = statement<{ landed_block: string; landed_block_hash: Hash }>(`
  select distinct s.landed_block, s.landed_block_hash
  ${WATCHED}
  order by s.landed_block
  limit $6`)

type MinedRow = SendRow & { readonly amount: string }

const MINED_IN = statement<MinedRow>(`
  select s.*, coalesce(o.amount, t.amount) as amount
  ${WATCHED}
    and s.landed_block_hash = any($6::text[])
  order by s.signer, s.nonce
  limit $7`)

const BURY = statement(`
  update sends
  set buried = true
  where chain_id = $1
    and landed_block_hash = any($2::text[])
    and landed_block is not null
    and not buried`)

const FORGET = statement(`
  update sends
  set landed_hash = null,
      landed_block = null,
      landed_block_hash = null
  where chain_id = $1
    and signer = $2
    and nonce = $3
    and nonce_key = $4`)

export function createSendWatch(db: Queryable, { account, network, asset, payTo }: WatchScope): SendWatch {
  const scope = [account, network, asset, payTo]
  return {
    async blocks(chainId, limit) {
      const { rows } = await db.query(BLOCKS, [chainId, ...scope, limit])
      return rows.map((row) => ({ number: BigInt(row.landed_block), hash: row.landed_block_hash }))
    },
    async minedIn(chainId, blockHashes, limit) {
      const { rows } = await db.query(MINED_IN, [chainId, ...scope, blockHashes, limit])
      return rows.map(({ amount, ...row }): WatchedSend => {
        const send = sendOf(row)
        return { ...send, landing: send.landing!, amount: BigInt(amount) }
      })
    },
    async bury(chainId, blockHashes) {
      await db.query(BURY, [chainId, blockHashes])
    },
    async forget({ chainId, signer, nonce, nonceKey = '' }) {
      await db.query(FORGET, [chainId, signer, nonce, nonceKey])
    },
  }
}
