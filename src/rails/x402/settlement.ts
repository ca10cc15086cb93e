import type { Address, Hash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import {
  type Authorization,
  findAuthorization,
  isAuthorizationUsed,
  moves,
  paidBy,
  usedIn,
} from '../../chain/eip3009.ts'
import { type Receipt, readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { PaidOrder, SettleOutcome } from '../../domain/rail.ts'
import type { Sender } from '../../outbox/sender.ts'
import {
  type ConfirmationRule,
  isIrrevocable,
  isOver,
  NOT_DEEP,
  settledOnceConfirmed,
  unknownPaymentStart,
} from '../confirmations.ts'

/** What an open order keeps of its payment. Wiped as soon as the outcome is known. */
export type StoredPayment = {
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
  /** The transaction in which this authorization moved its money, if it did. */
  landed(authorization: Authorization): Promise<Hash | null>
  /** Will the chain never say anything else about this order's payment than this receipt? */
  isIrrevocable(order: PaidOrder, receipt: Receipt): Promise<boolean>
  /** Is its time over for good? The chain's own counts: ours may be wrong, and only a node that has passed the end can say that a payment never came. */
  isOver(order: Pick<PaidOrder, 'expiresAt'>): Promise<boolean>
  /** What can be said when it is not there: after its time is over it never will be. */
  absent(order: PaidOrder, refusal: SettlementRefusal | null, transaction?: Hash): Promise<SettleOutcome>
}

export type SettlementRefusal = Omit<SettleOutcome & { readonly kind: 'refused' }, 'kind'>

export const USED_UNSEEN = 'The payment was used on the chain; its transfer is not visible yet.'

export function storedPayment(order: PaidOrder): StoredPayment {
  if (order.authorization === null) throw new TypeError(`order ${order.id} has no payment to settle`)
  return order.authorization as unknown as StoredPayment
}

type ReaderOptions = ConfirmationRule &
  Pick<Sender, 'isBuried' | 'deepTime'> & { readonly rpc: Rpc; readonly asset: Address }

export function createSettlementReader(options: ReaderOptions): SettlementReader {
  const { rpc, asset } = options

  async function judge(order: PaidOrder, receipt: Receipt): Promise<SettleOutcome | null> {
    const { authorization } = storedPayment(order)
    if (!paidBy(receipt, asset, authorization)) return null
    return settledOnceConfirmed(options, order, receipt, order.payer)
  }

  return {
    judge,
    isOver: (order) => isOver(options, order),
    isIrrevocable: (order, receipt) => isIrrevocable(options, receipt, order.amount),

    async find(order) {
      const { authorization, fromBlock } = storedPayment(order)
      if (!(await isAuthorizationUsed(rpc, asset, authorization))) return null
      const isLast = await isOver(options, order)
      const transaction = await findAuthorization(rpc, asset, authorization, BigInt(fromBlock))
      const receipt = transaction && (await readReceipt(rpc, transaction))
      const outcome = receipt && (await judge(order, receipt))
      if (outcome) return outcome
      const trace = receipt && usedIn(receipt, asset, authorization)
      // A block that is taken back may be followed by one in which our own transaction was first.
      const isCertain = trace ? await isIrrevocable(options, receipt, order.amount) : transaction === null && isLast
      const hasFailed = trace !== null && !moves(receipt!, asset, authorization)
      if (isCertain && trace === 'cancelled')
        return {
          kind: 'refused',
          code: 'payment_cancelled',
          detail: 'The payer cancelled this payment on the chain.',
        }
      // The payer signed the same nonce twice, and the other one landed; or it was used before it came here. It can never land again.
      if (isCertain && (trace === null || hasFailed))
        return {
          kind: 'refused',
          code: 'payment_verification_failed',
          detail: 'The authorization was spent on something else; nothing was taken for this order.',
        }
      return {
        kind: 'unknown',
        detail: hasFailed ? NOT_DEEP : USED_UNSEEN,
        transaction: transaction ?? undefined,
        hasFailed,
      }
    },

    landed: (authorization) => landed(options, authorization),

    async absent(order, refusal, transaction) {
      if (refusal) return { kind: 'refused', ...refusal }
      if (!(await isOver(options, order)))
        return { kind: 'unknown', detail: 'The chain has not said yet whether the payment landed.', transaction }
      // After its time was over, so this look is the last word.
      if (await isAuthorizationUsed(rpc, asset, storedPayment(order).authorization))
        return { kind: 'unknown', detail: USED_UNSEEN, transaction }
      return {
        kind: 'refused',
        code: 'payment_expired',
        detail: 'The payment ran out before it landed; nothing was taken.',
      }
    },
  }
}

async function landed(options: ReaderOptions, authorization: Authorization): Promise<Hash | null> {
  const { rpc, head, asset } = options
  if (!(await isAuthorizationUsed(rpc, asset, authorization))) return null
  const { number } = await head.fresh()
  const fromBlock = unknownPaymentStart(number)
  const transaction = await findAuthorization(rpc, asset, authorization, fromBlock)
  const receipt = transaction && (await readReceipt(rpc, transaction))
  if (receipt && paidBy(receipt, asset, authorization)) return receipt.transactionHash
  // Cancelled, or spent on something else, and that for good.
  const isElsewhere = receipt && usedIn(receipt, asset, authorization) !== null
  if (isElsewhere && (await isIrrevocable(options, receipt, BigInt(authorization.value)))) return null
  // It was used, long ago or a moment ago, and perhaps on us: nobody may hear that nothing was taken.
  throw new Problem('payment_conflict', USED_UNSEEN, { taken: 'unknown', action: 'none' })
}
