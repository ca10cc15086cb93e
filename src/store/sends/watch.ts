import type { Address, Hash } from '../../base/address.ts'
import type { SendWatch, WatchedSend } from '../../domain/send-watch.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { type SendRow, sendOf } from './journal.ts'

/** Whose deliveries and refunds are meant: those of orders that were paid to one till, and of money that came there without one. */
export type WatchScope = {
  readonly till: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
}

// Whoever was paid back keeps what was delivered, and is owed nothing when the chain takes it back.
const WATCHED = `
  from sends s
  left join orders o on o.id = s.order_id
  left join arrivals a on a.id = s.order_id
  where s.chain_id = $1
    and s.landed_block is not null
    and not s.buried
    and (s.step like 'refund%' or o.status in ('settled', 'submitted', 'confirmed'))
    and (a.till = $2 or (o.network = $3 and lower(o.asset) = lower($4) and lower(o.pay_to) = lower($5)))`

const BLOCKS = statement<{ landed_block: string; landed_block_hash: Hash }>(`
  select distinct s.landed_block, s.landed_block_hash
  ${WATCHED}
  order by s.landed_block
  limit $6`)

type MinedRow = SendRow &
  Pick<WatchedSend, 'payment'> & {
    readonly amount: string
    readonly payer: Address
    readonly payment_tx: Hash
    readonly arrival_tx: Hash | null
  }

const MINED_IN = statement<MinedRow>(`
  select s.*,
         coalesce(o.amount, a.amount) as amount,
         coalesce(o.payer, a.sender) as payer,
         coalesce(o.payment_tx, a.transaction) as payment_tx,
         a.transaction as arrival_tx,
         coalesce(
           (select case m.state when 'lost' then 'lost' else 'missing' end
            from missing_settlements m
            where m.order_id = s.order_id
              and m.state <> 'landed'
              and not exists (select from arrivals b where b.order_id = m.order_id and b.state = 'matched')),
           'shown'
         ) as payment
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

// Under the lock of the row that says so: whoever crosses it off at this moment waits, and has it watched again.
const REST = statement(`
  with lost as (
    select order_id
    from missing_settlements
    where order_id = $4
      and state = 'lost'
    for share
  )
  update sends
  set buried = true
  where chain_id = $1
    and signer = $2
    and nonce = $3
    and nonce_key = $5
    and order_id in (select order_id from lost)`)

const FORGET = statement(`
  update sends
  set landed_hash = null,
      landed_block = null,
      landed_block_hash = null
  where chain_id = $1
    and signer = $2
    and nonce = $3
    and nonce_key = $4`)

export function createSendWatch(db: Queryable, { till, network, asset, payTo }: WatchScope): SendWatch {
  const scope = [till, network, asset, payTo]
  return {
    async blocks(chainId, limit) {
      const { rows } = await db.query(BLOCKS, [chainId, ...scope, limit])
      return rows.map((row) => ({ number: BigInt(row.landed_block), hash: row.landed_block_hash }))
    },
    async minedIn(chainId, blockHashes, limit) {
      const { rows } = await db.query(MINED_IN, [chainId, ...scope, blockHashes, limit])
      return rows.map(({ amount, payer, payment, payment_tx, arrival_tx, ...row }): WatchedSend => {
        const send = sendOf(row)
        const paid = { amount: BigInt(amount), payer, payment, paymentTx: payment_tx, arrivalTx: arrival_tx }
        return { ...send, landing: send.landing!, ...paid }
      })
    },
    async bury(chainId, blockHashes) {
      await db.query(BURY, [chainId, blockHashes])
    },
    async rest({ chainId, signer, nonce, nonceKey = '', orderId }) {
      await db.query(REST, [chainId, signer, nonce, orderId, nonceKey])
    },
    async forget({ chainId, signer, nonce, nonceKey = '' }) {
      await db.query(FORGET, [chainId, signer, nonce, nonceKey])
    },
  }
}
