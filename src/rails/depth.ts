import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { SecondOpinion } from '../chain/agreed.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { PaidOrder, SettleOutcome } from '../domain/rail.ts'

/**
 * A payment that its receipt proves counts as settled once so many blocks stand on it that the chain will not drop it again, and, if it is
 * large, once another node shows the same.
 */
export type DepthRule = {
  readonly head: HeadSource
  readonly clock: Clock
  readonly confirmations: (amount: bigint) => number
  readonly secondOpinion: SecondOpinion
}

export async function settledAtDepth(
  { head, clock, confirmations, secondOpinion }: DepthRule,
  { amount, network }: PaidOrder,
  receipt: Receipt,
  payer: Address,
): Promise<Exclude<SettleOutcome, { kind: 'refused' }>> {
  const { blockNumber, transactionHash: transaction } = receipt
  const needed = BigInt(confirmations(amount))
  if (needed > 1n && (await head.fresh()).number - blockNumber + 1n < needed)
    return { kind: 'unknown', detail: `Paid; waiting for ${needed} confirmations.`, transaction }
  if (!(await secondOpinion(receipt, { amount, confirmations: needed })))
    return { kind: 'unknown', detail: 'Paid; waiting until a second node shows the same.', transaction }
  return { kind: 'settled', settlement: { transaction, network, payer, settledAt: clock.now() } }
}
