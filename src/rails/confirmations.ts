import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { SecondOpinion } from '../chain/second-opinion.ts'
import type { PaidOrder, SettleOutcome } from '../domain/rail.ts'
import type { Sender } from '../outbox/sender.ts'

/**
 * A payment that its receipt proves counts as settled once so many blocks stand on it that the chain will not drop it again, and, if it is
 * large, once another node shows the same.
 */
export type ConfirmationRule = {
  readonly head: HeadSource
  readonly clock: Clock
  readonly confirmations: (amount: bigint) => number
  readonly secondOpinion: SecondOpinion
}

export async function settledOnceConfirmed(
  { head, clock, confirmations, secondOpinion }: ConfirmationRule,
  { amount, network }: PaidOrder,
  receipt: Receipt,
  payer: Address,
): Promise<Exclude<SettleOutcome, { kind: 'refused' }>> {
  const { blockNumber, transactionHash: transaction } = receipt
  const blocks = confirmations(amount)
  if (!(await isConfirmed({ head, confirmations }, blockNumber, amount)))
    return { kind: 'unknown', detail: `Paid; waiting for ${blocks} confirmations.`, transaction, isSeen: true }
  if (!(await secondOpinion(receipt, amount)))
    return {
      kind: 'unknown',
      detail: 'Paid; waiting until a second node shows the same.',
      transaction,
      isSeen: true,
    }
  return { kind: 'settled', settlement: { transaction, network, payer, settledAt: clock.now() } }
}

async function isConfirmed(
  { head, confirmations }: Pick<ConfirmationRule, 'head' | 'confirmations'>,
  blockNumber: bigint,
  amount: bigint,
): Promise<boolean> {
  const needed = BigInt(confirmations(amount))
  return needed <= 1n || (await head.fresh()).number - blockNumber + 1n >= needed
}

/** For a payment that took nothing in its block. */
export const NOT_DEEP = 'The chain did not take the payment; waiting until that cannot change any more.'

/** Whoever is told that a payment was not taken must not be told too early: its block lies deep, and as deep as its amount wants it. */
export async function isIrrevocable(
  { isBuried, ...rule }: Pick<ConfirmationRule, 'head' | 'confirmations'> & Pick<Sender, 'isBuried'>,
  receipt: Receipt,
  amount: bigint,
): Promise<boolean> {
  return (await isBuried(receipt)) && (await isConfirmed(rule, receipt.blockNumber, amount))
}

/** Clocks of chains and replicas differ, and blocks take their time: be sure before saying "never". */
const MARGIN_MS = 60_000

/** Is the time of a payment over for good? The chain's own counts, told by a block that lies deep; ours may be wrong, and only saves asking. */
export async function isOver(
  { clock, deepTime }: { readonly clock: Clock } & Pick<Sender, 'deepTime'>,
  { expiresAt }: Pick<PaidOrder, 'expiresAt'>,
): Promise<boolean> {
  const end = expiresAt + MARGIN_MS
  return clock.now() > end && (await deepTime()) > end
}

const before = (block: bigint, blocks: bigint): bigint => (block > blocks ? block - blocks : 0n)

/** Where the search begins for a payment of which it is not written down when it was first seen: it lives for minutes. */
export const unknownPaymentStart = (newest: bigint): bigint => before(newest, 2_000n)

/** Where the search will begin for a payment that is seen now for the first time: a node may be a few blocks behind another. */
export const newPaymentStart = (newest: bigint): bigint => before(newest, 20n)
