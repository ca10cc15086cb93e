import { fingerprint, type Receipt, readReceipts, receiptIn } from './receipt.ts'
import type { Rpc } from './rpc.ts'

/** Does what a receipt shows count, for a payment of this size that has to lie this deep? */
export type SecondOpinion = (
  receipt: Receipt,
  payment: { readonly amount: bigint; readonly confirmations: bigint },
) => Promise<boolean>

/**
 * One provider is trusted, and a second one vouches for large payments: from an amount on, a payment counts only when two nodes show the same receipt, as
 * deep as it has to be. Null: never asked.
 */
export function secondOpinion(rpc: Rpc, fromAmount: bigint | null): SecondOpinion {
  return async (receipt, { amount, confirmations }) => {
    if (fromAmount === null || amount < fromAmount || rpc.second === null) return true
    const agrees = await isAgreed(rpc, receipt, confirmations)
    if (!agrees) rpc.disagreed()
    return agrees
  }
}

/** Do two nodes show the same? Every node is asked afresh, so it does not matter which of them the receipt at hand came from. */
export async function isAgreed(rpc: Rpc, receipt: Receipt, confirmations: bigint): Promise<boolean> {
  const { transactionHash, blockNumber } = receipt
  const [shown, heads] = await Promise.all([
    readReceipts(rpc, transactionHash),
    rpc.everyone<string>('eth_blockNumber'),
  ])
  const wanted = fingerprint(receipt)
  const agreeing = shown.filter((raw, index) => {
    const other = raw ? receiptIn(raw, transactionHash) : null
    const head = heads[index]
    if (!other || head === undefined || fingerprint(other) !== wanted) return false
    return BigInt(head) - blockNumber + 1n >= confirmations
  })
  return agreeing.length >= 2
}
