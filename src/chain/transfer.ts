import { type Address, type Hash, sameAddress } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { Call } from '../domain/journal.ts'
import type { RefundOutcome } from '../domain/rail.ts'
import { type Attempt, lastAttempt, sendAgain } from './attempts.ts'
import { TRANSFER, transferRefusal } from './eip3009.ts'
import { type Receipt, readReceipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import type { Sender } from './sender.ts'
import { transfersTo } from './transfers.ts'

const SELECTOR = toHex(keccak256(Buffer.from('transfer(address,uint256)')).subarray(0, 4))
const TRANSFER_GAS = 120_000n

export type Transfer = {
  readonly token: Address
  readonly to: Address
  readonly amount: bigint
  /** What is paid back: it cannot have been paid back before it was paid. */
  readonly paymentTx?: Hash | undefined
}

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
  const call = { to: token, data, gas: TRANSFER_GAS }
  const last = (await lastAttempt(sender, orderId, 'refund')) ?? (await recovered(rpc, sender, orderId, transfer, call))
  const isOut = last?.state.state === 'pending' || (last?.state.state === 'mined' && last.state.receipt.succeeded)
  const refusal = isOut ? null : await transferRefusal(rpc, token, sender.address, data)
  if (refusal !== null) return { kind: 'pending', detail: `The refund would fail: ${refusal}. Is the treasury funded?` }
  const { state } = await sendAgain(sender, orderId, 'refund', call)
  if (state.state === 'mined' && state.receipt.succeeded && moved(state.receipt, sender.address, transfer)) {
    return { kind: 'refunded', transaction: state.receipt.transactionHash }
  }
  if (state.state === 'mined') return { kind: 'pending', detail: 'The refund reverted; is the treasury funded?' }
  if (state.state === 'pending')
    return { kind: 'pending', transaction: state.hash, detail: 'The refund waits for the chain.' }
  return { kind: 'pending', detail: 'The refund is sent again under a new nonce.' }
}

/** A store that was restored from a backup does not know what it has paid back since; the chain does. */
async function recovered(
  rpc: Rpc,
  sender: Sender,
  orderId: string,
  { token, to, amount, paymentTx }: Transfer,
  call: Call,
): Promise<Attempt | null> {
  await sender.recover(orderId, 'refund', call, async () => {
    const payment = paymentTx && (await readReceipt(rpc, paymentTx))
    if (!payment) return []
    const head = BigInt(await rpc.request<string>('eth_blockNumber'))
    const sent = await transfersTo(rpc, { token, from: sender.address, to }, payment.blockNumber, head)
    return sent.filter((one) => one.amount === amount).map(({ transaction }) => transaction)
  })
  return lastAttempt(sender, orderId, 'refund')
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
