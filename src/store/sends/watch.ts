import type { Hash } from '../../base/address.ts'
import type { Landing, Send } from '../../domain/journal.ts'
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

/** A delivery or refund whose success was used, and that the chain may still take back. */
export type WatchedSend = Send & {
  readonly landing: Landing
  /** What its order, or the money that came without one, was worth. */
  readonly amount: bigint
}

/** What is watched: as much as one look can do. */
export type SendWatch = {
  /** The blocks that it was mined in, oldest first. */
  blocks(chainId: number): Promise<readonly { readonly number: bigint; readonly hash: Hash }[]>
  minedIn(chainId: number, blockHashes: readonly Hash[]): Promise<readonly WatchedSend[]>
  /** Another transaction has brought it in its place. */
  forget(send: WatchedSend): Promise<void>
  /** These blocks lie so deep that nothing in them has to be watched any more. */
  bury(chainId: number, blockHashes: readonly Hash[]): Promise<void>
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
  limit 500`)

const MINED_IN = statement<SendRow & { readonly amount: string }>(`
  select s.*, coalesce(o.amount, t.amount) as amount
  ${WATCHED}
    and s.landed_block_hash = any($6::text[])
  order by s.signer, s.nonce
  limit 500`)

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
    and nonce_key = ''
    and nonce = $3`)

export function createSendWatch(db: Queryable, { account, network, asset, payTo }: WatchScope): SendWatch {
  const scope = [account, network, asset, payTo]
  return {
    async blocks(chainId) {
      const { rows } = await db.query(BLOCKS, [chainId, ...scope])
      return rows.map((row) => ({ number: BigInt(row.landed_block), hash: row.landed_block_hash }))
    },
    async minedIn(chainId, blockHashes) {
      const { rows } = await db.query(MINED_IN, [chainId, ...scope, blockHashes])
      return rows.map(({ amount, ...row }) => {
        const send = sendOf(row)
        return { ...send, landing: send.landing!, amount: BigInt(amount) }
      })
    },
    async forget({ chainId, signer, nonce }) {
      await db.query(FORGET, [chainId, signer, nonce])
    },
    async bury(chainId, blockHashes) {
      await db.query(BURY, [chainId, blockHashes])
    },
  }
}
