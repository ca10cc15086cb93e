import { sameAddress } from '../base/address.ts'
import type { PaidOrder } from '../domain/rail.ts'
import type { Transfer } from '../domain/till.ts'
import { isAgreed } from './agreed.ts'
import { readReceipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import { transfersIn } from './transfers.ts'

/** Does the chain show what an order was paid with, by two nodes where there are two? That its transaction is there does not say that it paid. */
export async function isWitnessed(rpc: Rpc, order: Omit<PaidOrder, 'authorization'>): Promise<boolean> {
  const { settlement, asset, payTo, payer, amount } = order
  const receipt = settlement && (await readReceipt(rpc, settlement.transaction))
  if (!receipt?.succeeded) return false
  const isIt = (one: Transfer) => one.amount === amount && sameAddress(one.sender, payer)
  if (!transfersIn(receipt, asset, [payTo]).some(isIt)) return false
  return rpc.second === null || isAgreed(rpc, receipt, 1n)
}
