import type { Address, Hash } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import type { Hex } from '../../base/hex.ts'
import type { JsonObject } from '../../base/json.ts'
import type { ProblemCode } from '../../base/problem.ts'
import { type Authorization, findAuthorization, isAuthorizationUsed, paidBy } from '../../chain/eip3009.ts'
import type { HeadSource } from '../../chain/head.ts'
import { type Receipt, readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { PaidOrder, SettleOutcome } from '../../domain/rail.ts'

/** What an open order keeps of its payment. Wiped as soon as the outcome is known. */
export type KeptPayment = {
  readonly authorization: Authorization
  readonly signature: Hex
  /** A block from before the payment could have landed: where a search begins. */
  readonly fromBlock: string
  /** The whole payload and requirements, kept only for a remote facilitator, which wants them again. */
  readonly remote?: JsonObject | undefined
}

export type SettlementReader = {
  /** Looks for this payment on the chain, whoever brought it there. Null: not there now. */
  find(order: PaidOrder): Promise<SettleOutcome | null>
  /** Judges one receipt: only logs of the token itself count, never what somebody answered. */
  judge(order: PaidOrder, receipt: Receipt): Promise<SettleOutcome | null>
  /** What can be said when it is not there: after its time is over it never will be. */
  absent(order: PaidOrder, refusal: Refusal | null, transaction?: Hash): Promise<SettleOutcome>
}

export type Refusal = { readonly code: ProblemCode; readonly detail: string }

/** Clocks of chains and replicas differ, and blocks take their time: be sure before saying "never". */
const MARGIN_MS = 60_000

export function keptPayment(order: PaidOrder): KeptPayment {
  if (order.authorization === null) throw new TypeError(`order ${order.id} has no payment to settle`)
  return order.authorization as unknown as KeptPayment
}

export function createSettlementReader(options: {
  rpc: Rpc
  head: HeadSource
  clock: Clock
  asset: Address
  confirmations: (amount: bigint) => number
}): SettlementReader {
  const { rpc, head, clock, asset, confirmations } = options

  async function judge(order: PaidOrder, receipt: Receipt): Promise<SettleOutcome | null> {
    const { authorization } = keptPayment(order)
    if (!paidBy(receipt, asset, authorization)) return null
    const needed = BigInt(confirmations(order.amount))
    if (needed > 1n && (await head.fresh()).number - receipt.blockNumber + 1n < needed) {
      return {
        kind: 'unknown',
        detail: `Paid; waiting for ${needed} confirmations.`,
        transaction: receipt.transactionHash,
      }
    }
    const settlement = {
      transaction: receipt.transactionHash,
      network: order.network,
      payer: order.payer,
      settledAt: clock.now(),
    }
    return { kind: 'settled', settlement }
  }

  return {
    judge,

    async find(order) {
      const { authorization, fromBlock } = keptPayment(order)
      const { from, nonce } = authorization
      if (!(await isAuthorizationUsed(rpc, asset, from, nonce))) return null
      const trace = await findAuthorization(rpc, asset, from, nonce, BigInt(fromBlock))
      if (trace?.kind === 'cancelled')
        return { kind: 'refused', code: 'payment_cancelled', detail: 'The payer cancelled this payment on the chain.' }
      const receipt = trace && (await readReceipt(rpc, trace.transaction))
      const outcome = receipt && (await judge(order, receipt))
      return (
        outcome ?? {
          kind: 'unknown',
          detail: 'The payment was used on the chain; its transfer is not visible yet.',
          transaction: trace?.transaction,
        }
      )
    },

    async absent(order, refusal, transaction) {
      if (refusal) return { kind: 'refused', ...refusal }
      if (clock.now() <= order.expiresAt + MARGIN_MS)
        return { kind: 'unknown', detail: 'The chain has not said yet whether the payment landed.', transaction }
      // Only a node that has passed the deadline itself can say that it never came.
      const { timestampMs } = await head.fresh()
      if (timestampMs <= order.expiresAt)
        return { kind: 'unknown', detail: 'The chain is behind; its word on the payment is not final.', transaction }
      return {
        kind: 'refused',
        code: 'payment_expired',
        detail: 'The payment ran out before it landed; nothing was taken.',
      }
    },
  }
}
