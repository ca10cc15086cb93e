import type { Hash } from '../base/address.ts'
import { fingerprint, type RawReceipt, type Receipt, readReceipts, receiptIn } from './receipt.ts'
import type { Rpc } from './rpc.ts'

/** Does what a receipt shows count, for a payment of this size that has to lie this deep? */
export type SecondOpinion = (
  receipt: Receipt,
  payment: { readonly amount: bigint; readonly confirmations: bigint },
) => Promise<boolean>

/**
 * A node can make up a receipt as well as any other answer. From an amount on, a payment counts only when two nodes show the same receipt,
 * as deep as it has to be. Null: never asked. Where there is one node only there is nobody to ask.
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

/** Before anybody says that a transaction is not there, or did not go through, or not as it was meant: one node may be behind, or hide it. */
export async function mayHaveSucceeded(
  rpc: Rpc,
  hash: Hash,
  isMeant: (receipt: Receipt) => boolean = () => true,
): Promise<boolean> {
  const says = (raw: RawReceipt | null) => {
    const receipt = raw && receiptIn(raw, hash)
    return receipt?.succeeded === true && isMeant(receipt)
  }
  return mayBeSaid(rpc, await readReceipts(rpc, hash), says)
}

/** Have enough nodes answered to be believed when none of them says so? Two, where there are two: the first is nobody to be believed alone. */
export function isAnswered({ second }: Rpc, answers: readonly unknown[]): boolean {
  return answers.filter((one) => one !== undefined).length >= (second === null ? 1 : 2)
}

/** Does a node say so, or have too few answered to deny it? */
export function mayBeSaid<Answer>(
  rpc: Rpc,
  answers: readonly (Answer | undefined)[],
  says: (answer: Answer) => boolean,
): boolean {
  return !isAnswered(rpc, answers) || answers.some((one) => one !== undefined && says(one))
}
