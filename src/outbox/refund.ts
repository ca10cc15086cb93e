import type { Address, Hash } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { moves } from '../chain/eip3009.ts'
import { type Receipt, readReceipt } from '../chain/receipt.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Send } from '../domain/journal.ts'
import type { PaidOrder, RefundOutcome } from '../domain/rail.ts'
import type { Sender } from './sender.ts'

/** Money that goes back: whose, how much, and the payment that it gives back. */
export type RefundTransfer = {
  /** The order, or the transfer without one, that the journal knows it by. */
  readonly orderId: string
  /** The payment's own name. The chain knows the refund by it, and refuses a second one. */
  readonly name: string
  readonly token: Address
  readonly to: Address
  readonly amount: bigint
  /** The transaction that paid: it cannot have been paid back before. */
  readonly since: Hash | null
}

export function refundTransferOf({ id, asset, payer, amount, settlement }: PaidOrder, name: string): RefundTransfer {
  return { orderId: id, name, token: asset, to: payer, amount, since: settlement?.transaction ?? null }
}

type Waiting = Extract<RefundOutcome, { kind: 'pending' }>

export const REFUND_STEP = 'refund'
const TREASURY = 'treasury'

/** What the far side knows a refund by, whichever treasury signs it: 32 bytes of the payment's own name. */
export function refundKey(name: string): Hash {
  return toHex(keccak256(Buffer.from(`refund ${name}`)))
}

export function waiting(detail: string, transaction?: Hash): Waiting {
  return { kind: 'pending', detail, ...(transaction ? { transaction } : {}) }
}

export const NOT_OWED = 'The chain, and each of two nodes, has to show the payment before it goes back.'
export const UNSEEN =
  'It counts as paid back, and no node shows by which transaction. Add an RPC address that keeps older blocks.'

export function refundSends(sends: readonly Send[], chainId: number): readonly Send[] {
  return sends.filter((send) => send.chainId === chainId && send.step === REFUND_STEP)
}

/** Every key that was ever a treasury here. */
export async function treasuriesOf(sender: Sender, today: Address): Promise<readonly Address[]> {
  return [...new Set([today, ...(await sender.keysInRole(TREASURY))])]
}

/** The receipt of one of our own transactions that has moved the money. It is watched from now on. */
export async function landedAmong(
  { rpc, sender }: { readonly rpc: Rpc; readonly sender: Sender },
  refund: RefundTransfer,
  sends: readonly Send[],
  from: Address,
): Promise<RefundOutcome | null> {
  for (const send of sends)
    for (const { hash } of send.versions) {
      const receipt = await readReceipt(rpc, hash)
      if (!receipt || !hasMoved(receipt, refund, from)) continue
      await sender.land(send, receipt)
      return { kind: 'refunded', transaction: receipt.transactionHash }
    }
  return null
}

export function hasMoved(receipt: Receipt, { token, to, amount }: RefundTransfer, from: Address): boolean {
  return receipt.succeeded && moves(receipt, token, { from, to, value: amount.toString() })
}

/** The block of the payment, where a search for its refund begins; null while no node shows it. */
export async function blockOf(rpc: Rpc, { since }: RefundTransfer): Promise<bigint | null> {
  return since === null ? null : ((await readReceipt(rpc, since))?.blockNumber ?? null)
}

/** A transaction that another store of ours has sent, or this one before it was restored. */
export async function foundElsewhere(
  { rpc, sender }: { readonly rpc: Rpc; readonly sender: Sender },
  refund: RefundTransfer,
  from: Address,
  transactions: readonly Hash[],
): Promise<RefundOutcome> {
  for (const hash of new Set(transactions)) {
    const receipt = await readReceipt(rpc, hash)
    if (!receipt || !hasMoved(receipt, refund, from)) continue
    return (await sender.isBuried(receipt))
      ? { kind: 'refunded', transaction: hash }
      : waiting('The refund is on the chain, and not deep enough yet.', hash)
  }
  return waiting(UNSEEN)
}
