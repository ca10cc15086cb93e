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
  if (!(await isDeepEnough({ head, confirmations }, blockNumber, amount)))
    return {
      kind: 'unknown',
      detail: `Paid; waiting for ${confirmations(amount)} confirmations.`,
      transaction,
      isSeen: true,
    }
  return { kind: 'settled', settlement: { transaction, network, payer, settledAt: clock.now() } }
}

export async function isDeepEnough(
  { head, confirmations }: Pick<DepthRule, 'head' | 'confirmations'>,
  blockNumber: bigint,
  amount: bigint,
): Promise<boolean> {
  const needed = BigInt(confirmations(amount))
  return needed <= 1n || (await head.fresh()).number - blockNumber + 1n >= needed
}
