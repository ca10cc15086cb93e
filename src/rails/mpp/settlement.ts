import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Log } from '../../base/log.ts'
import type { Waypoint } from '../../base/waypoint.ts'
import { pollUntil, type Receipt, readReceipt } from '../../chain/receipt.ts'
import { type Rpc, RpcError } from '../../chain/rpc.ts'
import { findMemoTransfers, type MemoTransfer, memoTransfers } from '../../chain/tip20.ts'
import type { PaidOrder, SettleOutcome } from '../../domain/rail.ts'
import type { Sender } from '../../outbox/sender.ts'
import { type ConfirmationRule, isIrrevocable, isOver, NOT_DEEP, settledOnceConfirmed } from '../confirmations.ts'
import { isBoundTo } from './memo.ts'

/** What an open order keeps of its payment: enough to send it again, or to find it. Wiped as soon as the outcome is known. */
export type StoredPayment = {
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
type Charge = {
  readonly challengeId: string
  readonly realm: string
  readonly currency: Address
  readonly recipient: Address
  readonly amount: bigint
}

/**
 * What this transaction paid towards this charge, the amount asked for if that is there, or null. Only logs of the token count, and only
 * what the signer of the transaction moved out of their own account: whoever was allowed to spend for somebody else is not that somebody.
 */
export function paidFor(receipt: Receipt, charge: Charge): MemoTransfer | null {
  if (!receipt.succeeded) return null
  const { challengeId, realm, currency, recipient } = charge
  const bound = memoTransfers(receipt, currency).filter(
    ({ from, to, memo, amount }) =>
      amount > 0n &&
      sameAddress(from, receipt.from) &&
      sameAddress(to, recipient) &&
      isBoundTo(memo, realm, challengeId),
  )
  return bound.find(({ amount }) => amount === charge.amount) ?? bound[0] ?? null
}

type SettlerOptions = ConfirmationRule &
  Pick<Sender, 'isBuried' | 'deepTime'> & {
    readonly rpc: Rpc
    readonly log: Log
    readonly waitMs: number
    readonly waypoint: Waypoint
  }

export function createChargeSettler(options: SettlerOptions): ChargeSettler {
  const { rpc, clock, waitMs, waypoint } = options
  return {
    async settle(order) {
      const isLast = await isOver(options, order)
      const stored = storedPayment(order)
      const known = order.inDoubt ? await find(options, order, stored) : null
      if (known) return known
      const maySend = stored.raw !== null && clock.now() < order.expiresAt
      const refusal = maySend ? await broadcast(options, order, stored.raw!) : null
      await waypoint('send.broadcast')
      const receipt = await pollUntil(clock, refusal ? 0 : waitMs, () => readReceipt(rpc, stored.hash))
      const outcome = (receipt && (await judge(options, order, receipt))) ?? (await byMemo(options, order, stored))
      if (outcome) return outcome
      // Mined, and it paid nothing. A block that is not deep may be replaced by one in which it does.
      if (receipt && !(await isIrrevocable(options, receipt, order.amount)))
        return { kind: 'unknown', detail: NOT_DEEP, transaction: stored.hash, hasFailed: true }
      if (receipt)
        return {
          kind: 'refused',
          code: 'payment_verification_failed',
          detail: 'The transaction does not pay this challenge; nothing was taken.',
        }
      // Only the very first send can be refused for good: after one whose answer was lost, the bytes may be in some pool.
      if (refusal && !order.inDoubt) return { kind: 'refused', ...refusalOf(refusal) }
      return absent(stored, isLast)
    },
  }
}

/** What a transaction means for an order. Null: it is not this order's money. */
async function judge(options: SettlerOptions, order: PaidOrder, receipt: Receipt): Promise<SettleOutcome | null> {
  const { challengeId, realm } = storedPayment(order)
  const { asset: currency, payTo: recipient, amount } = order
  const paid = paidFor(receipt, { challengeId, realm, currency, recipient, amount })
  if (!paid || paid.amount !== amount || !sameAddress(paid.from, order.payer)) return null
  return settledOnceConfirmed(options, order, receipt, paid.from)
}

/** The node's refusal of these bytes, or null when it took them, has them, or may have them. Never repeated here: the next look does. */
async function broadcast({ rpc, log }: SettlerOptions, order: PaidOrder, raw: Hex): Promise<RpcError | null> {
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
 * send a little under the same memo, so only the whole amount from the payer counts. A log without a receipt is money all the same: the
 * node that was asked for the receipt is behind the one that showed the log.
 */
async function byMemo(
  options: SettlerOptions,
  order: PaidOrder,
  { memo, fromBlock }: StoredPayment,
): Promise<SettleOutcome | null> {
  if (memo === null) return null
  const { rpc } = options
  const { amount, asset, payTo, payer } = order
  const found = await findMemoTransfers(rpc, asset, { to: payTo, memo }, BigInt(fromBlock))
  for (const { transaction } of found.filter((one) => one.amount === amount && sameAddress(one.from, payer))) {
    const receipt = await readReceipt(rpc, transaction)
    if (!receipt)
      return {
        kind: 'unknown',
        detail: 'The payment is on the chain; its receipt is not yet.',
        transaction,
        isSeen: true,
      }
    const outcome = await judge(options, order, receipt)
    if (outcome) return outcome
  }
  return null
}

/** Looks for this payment on the chain, by its hash and by its memo. Null: not there now. */
async function find(options: SettlerOptions, order: PaidOrder, stored: StoredPayment): Promise<SettleOutcome | null> {
  const receipt = await readReceipt(options.rpc, stored.hash)
  return (receipt && (await judge(options, order, receipt))) ?? byMemo(options, order, stored)
}

/** Only the end of its time proves that it will never come: it was over before the chain was asked. */
function absent({ hash }: StoredPayment, isLast: boolean): SettleOutcome {
  if (!isLast)
    return { kind: 'unknown', detail: 'The chain has not said yet whether the payment landed.', transaction: hash }
  return {
    kind: 'refused',
    code: 'payment_expired',
    detail: 'The payment ran out before it landed; nothing was taken.',
  }
}

function storedPayment(order: PaidOrder): StoredPayment {
  if (order.authorization === null) throw new TypeError(`order ${order.id} has no payment to settle`)
  return order.authorization as unknown as StoredPayment
}

function refusalOf({ message }: RpcError): {
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
