import { type Address, type Hash, sameAddress } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { isProblem } from '../base/problem.ts'
import type { Call } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { RefundOutcome } from '../domain/rail.ts'
import {
  type Attempt,
  decisiveOf,
  followOn,
  hasSucceeded,
  readSendTries,
  sendNext,
  stepName,
  type Tries,
} from './attempts.ts'
import { TRANSFER, transferRefusal } from './eip3009.ts'
import { type Receipt, readReceipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import type { Sender } from './sender.ts'
import { transfersTo } from './transfers.ts'

const SELECTOR = toHex(keccak256(Buffer.from('transfer(address,uint256)')).subarray(0, 4))
const TRANSFER_GAS = 120_000n
const STEP = 'refund'

type Transfer = {
  readonly token: Address
  readonly to: Address
  readonly amount: bigint
  /** It cannot have been paid back before it was paid: by this transaction, or before this block. */
  readonly since?: Hash | bigint | undefined
}

/** Who sends it, for which order, and by what right. */
type RefundErrand = {
  readonly rpc: Rpc
  readonly sender: Sender
  readonly orderId: string
  readonly lease: Lease
}

type Pending = Extract<RefundOutcome, { kind: 'pending' }>

/**
 * Sends our own tokens once per order. A plain transfer is not idempotent on the chain, so the journal is: another one is signed
 * only after all before it were mined and reverted for good, or can no longer land, and the chain shows no such transfer either. None is
 * signed that would revert: an empty treasury would use up every try there is, and the gas with it.
 */
export async function refundTransfer(errand: RefundErrand, transfer: Transfer): Promise<RefundOutcome> {
  try {
    return await refundOnce(errand, transfer)
  } catch (error) {
    if (!isProblem(error, 'relayer_unfunded')) throw error
    return waiting('The treasury cannot pay for gas.')
  }
}

async function refundOnce(errand: RefundErrand, transfer: Transfer): Promise<RefundOutcome> {
  const { rpc, sender, orderId } = errand
  const { token } = transfer
  const call = { to: token, data: transferData(transfer), gas: TRANSFER_GAS }
  const tries = await readSendTries(sender, orderId, STEP)
  const decisive = decisiveOf(tries)
  if (decisive?.state.state === 'pending')
    return outcomeOf(errand, transfer, await followOn(sender, { ...errand, step: STEP }, decisive))
  if (decisive && hasSucceeded(decisive)) return outcomeOf(errand, transfer, decisive)
  const obstacle = await obstacleTo(errand, transfer, call, tries)
  if (obstacle) return obstacle
  const refusal = await transferRefusal(rpc, token, await sender.terms(TRANSFER_GAS), call.data)
  if (refusal !== null) return waiting(`The refund would fail: ${refusal}. Is the treasury funded?`)
  return outcomeOf(errand, transfer, await sendNext(sender, { ...errand, step: STEP }, call, tries))
}

async function outcomeOf(errand: RefundErrand, transfer: Transfer, { state, step }: Attempt): Promise<RefundOutcome> {
  const { sender, orderId } = errand
  if (state.state === 'pending') return waiting('The refund waits for the chain.', state.hash)
  if (state.state === 'void') return waiting('The refund is sent again under a new nonce.')
  const { receipt } = state
  if (!receipt.succeeded) return waiting('The refund reverted; is the treasury funded?')
  if (!moved(receipt, sender.address, transfer)) return waiting('The refund landed, and its transfer is not shown yet.')
  await sender.land({ orderId, step }, receipt)
  return { kind: 'refunded', transaction: receipt.transactionHash }
}

/** Why another transfer must not be signed now: an earlier one may have moved the money after all, whatever the journal says. */
async function obstacleTo(errand: RefundErrand, transfer: Transfer, call: Call, tries: Tries): Promise<Pending | null> {
  const { sender } = errand
  const isFirst = tries.attempts.length === 0
  // A store that was restored from a backup does not know what it has paid back since; the chain does.
  if (isFirst && !(await sender.hasLost())) return null
  for (const { state } of tries.attempts)
    if (state.state === 'mined' && !(await sender.isBuried(state.receipt)))
      return waiting('The refund reverted; the chain has to settle before another one is sent.')
  const paid = await paidAlready(errand, transfer)
  if (paid === null) return waiting('The chain does not show the payment now, so nobody can tell whether it went back.')
  return ownAmong(errand, call, tries, paid)
}

/** Transfers of this very sum to this payer, since they paid; null when no search could be made. All nodes are asked: one may hide them. */
async function paidAlready(
  { rpc, sender }: RefundErrand,
  { token, to, amount, since }: Transfer,
): Promise<readonly Hash[] | null> {
  const first = typeof since === 'string' ? (await readReceipt(rpc, since))?.blockNumber : since
  if (first === undefined) return null
  const found = new Set<Hash>()
  for (const node of rpc.second ? [rpc, rpc.second] : [rpc]) {
    const head = BigInt(await node.request<Hex>('eth_blockNumber'))
    const sent = await transfersTo(node, { token, from: sender.address, to }, first, head)
    for (const one of sent) if (one.amount === amount) found.add(one.transaction)
  }
  return [...found]
}

/** One of them may be this very refund: as one of its tries, or as one that the journal has lost. All others belong to other orders. */
async function ownAmong(
  { sender, orderId, lease }: RefundErrand,
  call: Call,
  { attempts }: Tries,
  paid: readonly Hash[],
): Promise<Pending | null> {
  if (paid.length === 0) return null
  const versions = (await sender.sendsOf(orderId)).flatMap((send) => send.versions)
  const own = paid.find((hash) => versions.some((version) => version.hash === hash))
  if (own) return waiting('The chain shows the refund; its receipt is awaited.', own)
  const step = stepName(STEP, (attempts.at(-1)?.number ?? 0) + 1)
  return (await sender.adopt({ lease, orderId, step }, call, paid))
    ? waiting('The refund was found on the chain.')
    : null
}

function waiting(detail: string, transaction?: Hash): Pending {
  return { kind: 'pending', detail, ...(transaction ? { transaction } : {}) }
}

function transferData({ to, amount }: Transfer): Hex {
  return `${SELECTOR}${to.slice(2).toLowerCase().padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`
}

/** What a call of ours was to pay back, read from its bytes; null when it is no transfer. */
export function transferIn({ to: token, data }: Call): Pick<Transfer, 'token' | 'to' | 'amount'> | null {
  if (!data.startsWith(SELECTOR) || data.length !== SELECTOR.length + 128) return null
  return { token, to: `0x${data.slice(34, 74)}`, amount: BigInt(`0x${data.slice(74)}`) }
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
