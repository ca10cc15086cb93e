import * as z from 'zod'
import type { Hash } from '../base/address.ts'
import { isoTime } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import { railNameSchema } from './rail.ts'
import type { ReceivingAccount, Transfer } from './receiving-account.ts'

/** What became of a transfer. */
export const transferStates = [
  /** No order has it. It goes back after a while. */
  'unmatched',
  /** It paid an order. */
  'matched',
  /** No order has it, and a person decides. */
  'held',
  /** A person decided that it stays. */
  'kept',
  /** It goes back to its sender, or has gone. */
  'returned',
] as const

export type TransferState = (typeof transferStates)[number]

/** A transfer in the books. */
export type BookedTransfer = Transfer & {
  readonly id: string
  /** The receiving account. */
  readonly account: string
  readonly state: TransferState
  /** Why no order has it, or why a person must decide. */
  readonly reason: string | null
  /** The order that it paid; or, for money that came too late, the order that had given it up. */
  readonly orderId: string | null
  /** Who decided that it stays, or goes back. */
  readonly decidedBy: string | null
  readonly foundAt: number
  readonly refund: TransferRefund | null
}

type TransferRefund = {
  /** The payment's own name: what goes back under it can go back only once. */
  readonly name: string
  /** `automatic`, or the operator who decided it. */
  readonly by: string
  /** Null until it has landed. */
  readonly transaction: Hash | null
}

/** Its payer may still present it, and a person may decide about it. */
export function isOpen({ state }: Pick<BookedTransfer, 'state'>): boolean {
  return state === 'unmatched' || state === 'held'
}

export const transferSchema = z
  .object({
    transferId: z.string(),
    status: z.enum(transferStates),
    reason: z.string().nullable().describe('Why no purchase has it, or why a person must decide'),
    protocol: railNameSchema,
    network: z.string(),
    asset: z.string(),
    amount: z.string().describe('Atomic units'),
    payer: z.string(),
    payTo: z.string(),
    paymentTx: z.string(),
    blockNumber: z.string(),
    orderId: z.string().nullable().describe('The order that had given it up, if there is one'),
    refund: z
      .object({ status: z.enum(['refunding', 'refunded']), to: z.string(), transaction: z.string().nullable() })
      .nullable(),
    foundAt: z.iso.datetime(),
  })
  .meta({ id: 'Transfer', description: 'Money that came without a purchase' })

/** What its payer is told of the refund; null while none has begun. */
export function refundOf({ sender, refund }: Pick<BookedTransfer, 'sender' | 'refund'>): JsonObject | null {
  if (!refund) return null
  return { status: refund.transaction ? 'refunded' : 'refunding', to: sender, transaction: refund.transaction }
}

/** A transfer as events and reports show it; `transferSchema` is its shape. */
export function presentTransfer(transfer: BookedTransfer, { rail, payTo }: ReceivingAccount): JsonObject {
  const { id, state, reason, transaction, blockNumber, sender, amount, orderId, foundAt } = transfer
  return {
    transferId: id,
    status: state,
    reason,
    protocol: rail.name,
    network: rail.network,
    asset: rail.asset,
    amount: amount.toString(),
    payer: sender,
    payTo,
    paymentTx: transaction,
    blockNumber: blockNumber.toString(),
    orderId,
    refund: refundOf(transfer),
    foundAt: isoTime(foundAt),
  }
}
