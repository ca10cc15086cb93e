import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Log } from '../../base/log.ts'
import { noWaypoint, type Waypoint } from '../../base/waypoint.ts'
import { pollUntil, type Receipt, readReceipt } from '../../chain/receipt.ts'
import { type Rpc, RpcError } from '../../chain/rpc.ts'
import { findMemoTransfers, type MemoTransfer, memoTransfers } from '../../chain/tip20.ts'
import type { PaidOrder, SettleOutcome } from '../../domain/rail.ts'
import { type DepthRule, settledAtDepth } from '../depth.ts'
import { isBoundTo } from './memo.ts'

/** What an open order keeps of its payment: enough to send it again, or to find it. Wiped as soon as the outcome is known. */
export type KeptPayment = {
  readonly challengeId: string
  /** The name that the shop had when it issued the challenge. */
  readonly realm: string
  readonly hash: Hash
  /** Null for push: the payer sent it. */
  readonly raw: Hex | null
  /** Null for push until it is seen: the client's own part of it is not known before. */
  readonly memo: Hex | null
  readonly fromBlock: string
}

export type ChargeSettler = {
  settle(order: PaidOrder): Promise<SettleOutcome>
}

/** What a challenge asked for, as it was when it was issued: a shop may change its name and its till while money is on its way. */
export type Charge = {
  readonly challengeId: string
  readonly realm: string
  readonly currency: Address
  readonly recipient: Address
  readonly amount: bigint
}

/** What this transaction paid towards this charge, the amount asked for if that is there, or null. Only logs of the token count. */
export function paidFor(receipt: Receipt, charge: Charge): MemoTransfer | null {
  if (!receipt.succeeded) return null
  const { challengeId, realm, currency, recipient } = charge
  const bound = memoTransfers(receipt, currency).filter(
    ({ to, memo }) => sameAddress(to, recipient) && isBoundTo(memo, realm, challengeId),
  )
  return bound.find(({ amount }) => amount === charge.amount) ?? bound[0] ?? null
}

/** Clocks of chains and replicas differ, and blocks take their time: be sure before saying "never". */
const MARGIN_MS = 60_000

export function createChargeSettler(
  options: DepthRule & {
    readonly rpc: Rpc
    readonly log: Log
    readonly waitMs: number
    readonly waypoint?: Waypoint
  },
): ChargeSettler {
  const { rpc, head, clock, log, waitMs, waypoint = noWaypoint } = options

  async function judge(order: PaidOrder, receipt: Receipt): Promise<SettleOutcome> {
    const { challengeId, realm, raw } = keptPayment(order)
    const { asset: currency, payTo: recipient, amount } = order
    const paid = paidFor(receipt, { challengeId, realm, currency, recipient, amount })
    if (!paid)
      return {
        kind: 'refused',
        code: 'payment_verification_failed',
        detail: 'The transaction does not pay this challenge; nothing was taken.',
      }
    const isOther = paid.amount !== order.amount
    if (isOther && raw !== null) {
      log.error('a transaction pays another amount than its order', {
        orderId: order.id,
        paid: paid.amount,
        expected: order.amount,
      })
      return {
        kind: 'unknown',
        detail: 'The transaction pays another amount; an operator is asked.',
        transaction: receipt.transactionHash,
      }
    }
    const outcome = await settledAtDepth(options, order, receipt, paid.from)
    return isOther && outcome.kind === 'settled' ? { ...outcome, amount: paid.amount } : outcome
  }

  /** The node's refusal of these bytes, or null when it took them, has them, or may have them. Never repeated here: the next look does. */
  async function broadcast(order: PaidOrder, raw: Hex): Promise<RpcError | null> {
    try {
      await rpc.request('eth_sendRawTransaction', [raw])
      return null
    } catch (error) {
      log.warn('payment not accepted by the node', { orderId: order.id, error })
      return error instanceof RpcError && !/already known|nonce/i.test(error.message) ? error : null
    }
  }

  /**
   * The hash may be unknown to this node while the memo is already in its logs, and a replaced transaction keeps its memo. Anybody can
   * send a little under the same memo, so only the whole amount counts.
   */
  async function byMemo(
    { amount, asset, payTo }: PaidOrder,
    { memo, fromBlock }: KeptPayment,
  ): Promise<Receipt | null> {
    if (memo === null) return null
    const found = await findMemoTransfers(rpc, asset, payTo, memo, BigInt(fromBlock))
    const transfer = found.find((one) => one.amount === amount)
    return transfer ? readReceipt(rpc, transfer.transaction) : null
  }

  async function absent(order: PaidOrder, hash: Hash): Promise<SettleOutcome> {
    // The chain's own time counts: ours may be wrong. Ours only saves asking.
    const end = order.expiresAt + MARGIN_MS
    if (clock.now() <= end || (await head.fresh()).timestampMs <= end)
      return { kind: 'unknown', detail: 'The chain has not said yet whether the payment landed.', transaction: hash }
    return {
      kind: 'refused',
      code: 'payment_expired',
      detail: 'The payment ran out before it landed; nothing was taken.',
    }
  }

  return {
    async settle(order) {
      const kept = keptPayment(order)
      const known = order.inDoubt ? ((await readReceipt(rpc, kept.hash)) ?? (await byMemo(order, kept))) : null
      if (known) return judge(order, known)
      const maySend = kept.raw !== null && clock.now() < order.expiresAt
      const refusal = maySend ? await broadcast(order, kept.raw!) : null
      await waypoint('send.broadcast')
      const receipt = await pollUntil(clock, refusal ? 0 : waitMs, () => readReceipt(rpc, kept.hash))
      if (receipt) return judge(order, receipt)
      const found = await byMemo(order, kept)
      if (found) return judge(order, found)
      // Only the very first send can be refused for good: after one whose answer was lost, the bytes may be in some pool.
      if (refusal && !order.inDoubt) return { kind: 'refused', ...reasonOf(refusal) }
      return absent(order, kept.hash)
    },
  }
}

export function keptPayment(order: PaidOrder): KeptPayment {
  if (order.authorization === null) throw new TypeError(`order ${order.id} has no payment to settle`)
  return order.authorization as unknown as KeptPayment
}

function reasonOf({ message }: RpcError): {
  code: 'insufficient_funds' | 'payment_expired' | 'payment_verification_failed'
  detail: string
} {
  if (/insufficient/i.test(message))
    return {
      code: 'insufficient_funds',
      detail: 'The paying wallet holds too little for the price and the fee; nothing was taken.',
    }
  if (/expired/i.test(message))
    return { code: 'payment_expired', detail: 'The signed transaction ran out before it was sent; nothing was taken.' }
  return { code: 'payment_verification_failed', detail: 'The chain refused the signed transaction; nothing was taken.' }
}
