import { type Address, type Hash, sameAddress } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { isProblem } from '../base/problem.ts'
import type { Call, Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { RefundOutcome, StillOwed } from '../domain/rail.ts'
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
import { moves, transferRefusal } from './eip3009.ts'
import { remembers } from './memory.ts'
import { type Receipt, recallReceipt } from './receipt.ts'
import { answerOrNull, type Rpc } from './rpc.ts'
import type { Sender } from './sender.ts'
import { transfersTo } from './transfers.ts'
import { wordOfAddress, wordOfUint } from './words.ts'

const SELECTOR = toHex(keccak256(Buffer.from('transfer(address,uint256)')).subarray(0, 4))
const TRANSFER_GAS = 120_000n
const STEP = 'refund'
const ROLE = 'treasury'

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
  /** Asked before anything is signed: since somebody decided it, the chain may have taken back what it is for. */
  readonly stillOwed?: StillOwed | undefined
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
  const byAnother = await outcomeOfOthers(errand, transfer, tries)
  if (byAnother) return byAnother
  const obstacle = await obstacleTo(errand, transfer, call, tries)
  if (obstacle) return obstacle
  if (errand.stillOwed && !(await errand.stillOwed()))
    return waiting('The chain, and each of two nodes, has to show the payment before it goes back.')
  const refusal = await transferRefusal(rpc, token, { terms: await sender.terms(TRANSFER_GAS), data: call.data })
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

/**
 * What another key has signed of this refund may still land, or has landed: then it is the refund, and none is signed beside it. Null when
 * there is nothing of the kind.
 */
async function outcomeOfOthers(
  { sender }: RefundErrand,
  transfer: Transfer,
  { others }: Tries,
): Promise<RefundOutcome | null> {
  for (const send of others) {
    const state = await sender.remind(send)
    if (state.state === 'void') continue
    if (state.state === 'pending')
      return waiting('A refund that another key of ours has signed waits for the chain.', state.hash)
    const { receipt } = state
    if (receipt.succeeded) {
      if (!moved(receipt, send.signer, transfer))
        return waiting('The refund landed, and its transfer is not shown yet.')
      await sender.land(send, receipt)
      return { kind: 'refunded', transaction: receipt.transactionHash }
    }
    if (!(await sender.isBuried(receipt)))
      return waiting('The refund reverted; the chain has to settle before another one is sent.')
    await sender.land(send, receipt)
  }
  return null
}

/** Why another transfer must not be signed now: an earlier one may have moved the money after all, whatever the journal says. */
async function obstacleTo(errand: RefundErrand, transfer: Transfer, call: Call, tries: Tries): Promise<Pending | null> {
  const { sender } = errand
  const isFirst = tries.attempts.length === 0 && tries.others.length === 0
  const keys = await sender.keysInRole(ROLE)
  // A store that was restored from a backup does not know what it has paid back since, perhaps by a key that was replaced; the chain does.
  if (isFirst && !(await hasLostAny(sender, keys))) return null
  for (const { state, step } of tries.attempts) {
    if (state.state !== 'mined') continue
    if (!(await sender.isBuried(state.receipt)))
      return waiting('The refund reverted; the chain has to settle before another one is sent.')
    // It has used its nonce, and nothing that was forgotten has: without a word of that every further refund would look for such a thing.
    await sender.land({ orderId: errand.orderId, step }, state.receipt)
  }
  const paid = await paidAlready(errand, transfer, keys)
  if (paid === null) return waiting('The chain does not show the payment now, so nobody can tell whether it went back.')
  return ownAmong(errand, call, paid)
}

async function hasLostAny(sender: Sender, keys: readonly Address[]): Promise<boolean> {
  return (await Promise.all(keys.map((key) => sender.hasLost(key)))).includes(true)
}

/** A transfer that one of our keys has made. */
type Paid = { readonly hash: Hash; readonly key: Address }

/**
 * Transfers of this very sum to this payer, since they paid; null when no search could be made. All nodes are asked, each by itself: one may hide them. One
 * that has thrown the blocks away refuses, and one may have no time; then it says nothing, as long as another answers that has counted as much of our keys
 * where it was searched. One that has counted less has not got the block in which they last moved something.
 */
async function paidAlready(
  { rpc }: RefundErrand,
  { token, to, amount, since }: Transfer,
  keys: readonly Address[],
): Promise<readonly Paid[] | null> {
  const first = typeof since === 'string' ? (await recallReceipt(rpc, since))?.blockNumber : since
  if (first === undefined) return null
  const told = await Promise.all(rpc.each().map((node) => answerOrNull(lookBy(node, { token, from: keys, to }, first))))
  const looks = told.filter((look) => look !== null)
  const searched = looks.filter(({ shown }) => shown !== null)
  const isCounted = (count: number, key: number) => searched.some(({ counts }) => counts[key]! >= count)
  if (looks.length < Math.min(2, told.length) || !looks.every(({ counts }) => counts.every(isCounted))) return null
  const found = new Map<Hash, Paid>()
  for (const one of searched.flatMap(({ shown }) => shown!)) {
    const key = keys.find((each) => sameAddress(each, one.sender))
    if (key && one.amount === amount) found.set(one.transaction, { hash: one.transaction, key })
  }
  return [...found.values()]
}

/** What one node has of the transfers of some keys, up to its newest block; null when it cannot be searched. And what each key has counted there. */
async function lookBy(node: Rpc, wanted: { token: Address; from: readonly Address[]; to: Address }, first: bigint) {
  const newest = await node.request<Hex>('eth_blockNumber')
  const count = async (key: Address) => Number(await node.request<Hex>('eth_getTransactionCount', [key, newest]))
  const counts = await Promise.all(wanted.from.map(count))
  // Not every node refuses to search what it has thrown away: some find nothing.
  const isThere = await remembers(node, first)
  return { counts, shown: isThere ? await answerOrNull(transfersTo(node, wanted, first, BigInt(newest))) : null }
}

/** One of them may be this very refund: as one of its tries, or as one that the journal has lost. All others belong to other orders. */
async function ownAmong(
  { sender, orderId, lease }: RefundErrand,
  call: Call,
  paid: readonly Paid[],
): Promise<Pending | null> {
  if (paid.length === 0) return null
  const sends = await sender.sendsOf(orderId)
  const versions = sends.flatMap((send) => send.versions)
  const own = paid.find(({ hash }) => versions.some((version) => version.hash === hash))
  if (own) return waiting('The chain shows the refund; its receipt is awaited.', own.hash)
  for (const { hash, key } of paid) {
    const step = freeStep(sends.filter((send) => send.chainId === sender.chainId && send.signer === key))
    if (await sender.adopt({ lease, orderId, step }, call, [hash], key))
      return waiting('The refund was found on the chain.')
  }
  return null
}

/** Each key counts its own tries. */
function freeStep(sends: readonly Send[]): string {
  let number = 1
  while (sends.some(({ step }) => step === stepName(STEP, number))) number++
  return stepName(STEP, number)
}

function waiting(detail: string, transaction?: Hash): Pending {
  return { kind: 'pending', detail, ...(transaction ? { transaction } : {}) }
}

function transferData({ to, amount }: Transfer): Hex {
  return `${SELECTOR}${wordOfAddress(to)}${wordOfUint(amount)}`
}

/** What a call of ours was to pay back, read from its bytes; null when it is no transfer. */
export function transferIn({ to: token, data }: Call): Pick<Transfer, 'token' | 'to' | 'amount'> | null {
  if (!data.startsWith(SELECTOR) || data.length !== SELECTOR.length + 128) return null
  return { token, to: `0x${data.slice(34, 74)}`, amount: BigInt(`0x${data.slice(74)}`) }
}

function moved(receipt: Receipt, from: Address, { token, to, amount }: Transfer): boolean {
  return moves(receipt, token, { from, to, value: amount.toString() })
}
