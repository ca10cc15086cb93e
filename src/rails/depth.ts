import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { PaidOrder, SettleOutcome } from '../domain/rail.ts'

/** A payment that its receipt proves counts as settled once so many blocks stand on it that the chain will not drop it again. */
export type DepthRule = {
  readonly head: HeadSource
  readonly clock: Clock
  readonly confirmations: (amount: bigint) => number
}

export async function settledAtDepth(
  { head, clock, confirmations }: DepthRule,
  { amount, network }: PaidOrder,
  { blockNumber, transactionHash: transaction }: Receipt,
  payer: Address,
): Promise<Exclude<SettleOutcome, { kind: 'refused' }>> {
  const needed = BigInt(confirmations(amount))
  if (needed > 1n && (await head.fresh()).number - blockNumber + 1n < needed)
    return { kind: 'unknown', detail: `Paid; waiting for ${needed} confirmations.`, transaction }
  return { kind: 'settled', settlement: { transaction, network, payer, settledAt: clock.now() } }
}
