import { type Address, sameAddress } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { RefundOutcome } from '../domain/rail.ts'
import { lastAttempt, sendAgain } from './attempts.ts'
import { TRANSFER, transferRefusal } from './eip3009.ts'
import type { Receipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import type { Sender } from './sender.ts'

const SELECTOR = toHex(keccak256(Buffer.from('transfer(address,uint256)')).subarray(0, 4))
const TRANSFER_GAS = 120_000n

export type Transfer = { readonly token: Address; readonly to: Address; readonly amount: bigint }

/**
 * Sends our own tokens once per order. A plain transfer is not idempotent on the chain, so the journal is: another one is signed
 * only after the one before was mined and reverted, or can no longer land. None is signed that would revert: an empty treasury
 * would use up every try there is, and the gas with it.
 */
export async function refundTransfer(
  rpc: Rpc,
  sender: Sender,
  orderId: string,
  transfer: Transfer,
): Promise<RefundOutcome> {
  const { token, to, amount } = transfer
  const data =
    `${SELECTOR}${to.slice(2).toLowerCase().padStart(64, '0')}${amount.toString(16).padStart(64, '0')}` as const
  const last = await lastAttempt(sender, orderId, 'refund')
  const isOut = last?.state.state === 'pending' || (last?.state.state === 'mined' && last.state.receipt.succeeded)
  const refusal = isOut ? null : await transferRefusal(rpc, token, sender.address, data)
  if (refusal !== null) return { kind: 'pending', detail: `The refund would fail: ${refusal}. Is the treasury funded?` }
  const { state } = await sendAgain(sender, orderId, 'refund', { to: token, data, gas: TRANSFER_GAS })
  if (state.state === 'mined' && state.receipt.succeeded && moved(state.receipt, sender.address, transfer)) {
    return { kind: 'refunded', transaction: state.receipt.transactionHash }
  }
  if (state.state === 'mined') return { kind: 'pending', detail: 'The refund reverted; is the treasury funded?' }
  if (state.state === 'pending')
    return { kind: 'pending', transaction: state.hash, detail: 'The refund waits for the chain.' }
  return { kind: 'pending', detail: 'The refund is sent again under a new nonce.' }
}

function moved(receipt: Receipt, from: Address, { token, to, amount }: Transfer): boolean {
  return receipt.logs.some(
    (log) =>
      sameAddress(log.address, token) &&
      log.topics[0] === TRANSFER &&
      sameAddress(`0x${log.topics[1]?.slice(26)}`, from) &&
      sameAddress(`0x${log.topics[2]?.slice(26)}`, to) &&
      BigInt(log.data) === amount,
  )
}
