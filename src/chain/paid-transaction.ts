import { type Hash, sameAddress } from '../base/address.ts'
import type { PaidOrder } from '../domain/rail.ts'
import type { Transfer } from '../domain/till.ts'
import type { SecondOpinion } from './node-agreement.ts'
import { type Receipt, readReceipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import { transfersIn } from './transfers.ts'

/** Does the chain show what an order was paid with, a large payment by two nodes? That its transaction is there does not say that it paid. */
export async function isPaymentShown(
  { rpc, secondOpinion }: { readonly rpc: Rpc; readonly secondOpinion: SecondOpinion },
  order: Omit<PaidOrder, 'authorization'>,
): Promise<boolean> {
  const receipt = order.settlement && (await paidIn(rpc, order.settlement.transaction, order))
  return receipt !== null && secondOpinion(receipt, { amount: order.amount, confirmations: 1n })
}

/** What a transaction has to have moved. */
type Moved = Pick<PaidOrder, 'asset' | 'payTo' | 'payer' | 'amount'>

/** The receipt of a transaction that paid, as one node has it. Null: it is not there, or pays nothing there. */
export async function paidIn(
  rpc: Rpc,
  transaction: Hash,
  { asset, payTo, payer, amount }: Moved,
): Promise<Receipt | null> {
  const receipt = await readReceipt(rpc, transaction)
  if (!receipt?.succeeded) return null
  const isIt = (one: Transfer) => one.amount === amount && sameAddress(one.sender, payer)
  return transfersIn(receipt, asset, [payTo]).some(isIt) ? receipt : null
}
