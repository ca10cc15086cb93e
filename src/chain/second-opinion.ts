import { type Hash, sameAddress } from '../base/address.ts'
import type { PaidOrder } from '../domain/rail.ts'
import type { Transfer } from '../domain/receiving-account.ts'
import { type Receipt, readReceipt, readReceipts } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import { transfersIn } from './transfers.ts'

/** Does what a receipt shows count, for a payment of this size? */
export type SecondOpinion = (receipt: Receipt, amount: bigint) => Promise<boolean>

/**
 * One provider is trusted, and a second one vouches for large payments: from an amount on, a payment counts only when two nodes show the
 * same receipt. Null: never asked. Every node is asked afresh, so it does not matter which of them the receipt at hand came from.
 */
export function secondOpinion(rpc: Rpc, fromAmount: bigint | null): SecondOpinion {
  return async (receipt, amount) => {
    if (fromAmount === null || amount < fromAmount || rpc.standing().length === 1) return true
    const shown = await readReceipts(rpc, receipt.transactionHash)
    const wanted = fingerprint(receipt)
    const agrees = shown.filter((other) => other && fingerprint(other) === wanted).length >= 2
    if (!agrees) rpc.disagreed()
    return agrees
  }
}

/** All that a payment is judged by. */
function fingerprint({ succeeded, blockNumber, blockHash, from, logs }: Receipt): string {
  const said = logs.map(({ address, topics, data }) => [address, ...topics, data].join())
  return [succeeded, blockNumber, blockHash, from, ...said].join('|').toLowerCase()
}

/** Does the chain show what an order was paid with, a large payment by two nodes? That its transaction is there does not say that it paid. */
export async function isPaymentShown(
  { rpc, secondOpinion }: { readonly rpc: Rpc; readonly secondOpinion: SecondOpinion },
  order: Omit<PaidOrder, 'authorization'>,
): Promise<boolean> {
  const receipt = order.settlement && (await paidIn(rpc, order.settlement.transaction, order))
  return receipt !== null && secondOpinion(receipt, order.amount)
}

/** The receipt of a transaction that paid. Null: it is not there, or pays nothing there. */
async function paidIn(
  rpc: Rpc,
  transaction: Hash,
  { asset, payTo, payer, amount }: Pick<PaidOrder, 'asset' | 'payTo' | 'payer' | 'amount'>,
): Promise<Receipt | null> {
  const receipt = await readReceipt(rpc, transaction)
  if (!receipt?.succeeded) return null
  const isIt = (one: Transfer) => one.amount === amount && sameAddress(one.sender, payer)
  return transfersIn(receipt, asset, [payTo]).some(isIt) ? receipt : null
}
