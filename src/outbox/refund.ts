import type { Address, Hash } from '../base/address.ts'
import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { isProblem } from '../base/problem.ts'
import { moves, transferRefusal } from '../chain/eip3009.ts'
import { type Receipt, readReceipt } from '../chain/receipt.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Call, Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { PaidOrder, RefundOutcome, StillOwed } from '../domain/rail.ts'
import type { Sender, Sent } from './sender.ts'

/** Money that goes back: whose, how much, and the payment that it gives back. */
export type RefundTransfer = {
  /** The order, or the transfer without one, that the journal knows it by. */
  readonly orderId: string
  /** The payment's own name. The chain knows the refund by it, and refuses a second one. */
  readonly name: string
  readonly token: Address
  readonly to: Address
  readonly amount: bigint
  /** The transaction that paid: it cannot have been paid back before. */
  readonly since: Hash | null
}

export type RefundJob = { readonly lease: Lease; readonly stillOwed: StillOwed }

/** How a chain takes a refund once: under the payment's own name, whichever key of ours signs it. */
export type FarSide = {
  readonly rpc: Rpc
  /** The key that sends it. */
  readonly sender: Sender
  /** Today's treasury. */
  readonly treasury: Address
  /** Has this treasury used the name, by more than these transactions of ours? */
  isUsed(refund: RefundTransfer, treasury: Address, sends: readonly Send[]): Promise<boolean>
  /** The transactions that did so. */
  usesSince(refund: RefundTransfer, treasury: Address, block: bigint): Promise<readonly Hash[]>
  /** What today's treasury would sign. */
  sign(refund: RefundTransfer): Promise<Call>
  /** The first, or the next one after these have failed. */
  send(
    job: { readonly lease: Lease; readonly orderId: string; readonly step: string },
    call: Call,
    failed: readonly Send[],
    refund: RefundTransfer,
  ): Promise<Sent>
}

export function refundTransferOf({ id, asset, payer, amount, settlement }: PaidOrder, name: string): RefundTransfer {
  return { orderId: id, name, token: asset, to: payer, amount, since: settlement?.transaction ?? null }
}

/** What the far side knows a refund by, whichever treasury signs it: 32 bytes of the payment's own name. */
export function refundKey(name: string): Hash {
  return toHex(keccak256(Buffer.from(`refund ${name}`)))
}

const STEP = 'refund'
const NOT_OWED = 'The chain, and each of two nodes, has to show the payment before it goes back.'
const UNSEEN =
  'It counts as paid back, and no node shows by which transaction. Add an RPC address that keeps older blocks.'

/**
 * Pays back once. What is on record comes first, then what the far side knows and our store does not. Only when neither has it is it signed, and
 * the far side refuses a second one: whoever sends it, however often, from whichever store.
 */
export async function refundOnce(far: FarSide, refund: RefundTransfer, job: RefundJob): Promise<RefundOutcome> {
  const { sender } = far
  const treasuries = [...new Set([far.treasury, ...(await sender.keysInRole('treasury'))])]
  const all = await sender.sendsOf(refund.orderId)
  const sends = all.filter((send) => send.chainId === sender.chainId && send.step === STEP)
  for (const send of sends) {
    const state = await sender.look(send)
    if (state.state === 'mined' && hasMoved(state.receipt, refund, treasuries)) return landed(far, send, state.receipt)
  }
  for (const treasury of treasuries)
    if (await far.isUsed(refund, treasury, sends)) return foundElsewhere(far, refund, treasury)
  const isOwed = await job.stillOwed()
  const newest = sends.at(-1)
  const open = newest && (await stillOpen(far, newest, isOwed ? job.lease : null, { refund, treasuries }))
  if (open) return open
  return isOwed ? sendNext(far, refund, job.lease, { sends, treasuries }) : waiting(NOT_OWED)
}

type Known = { readonly refund: RefundTransfer; readonly treasuries: readonly Address[] }

/** What became of the newest try; it is sent again under the lease. Null: it has failed for good, and another one may be signed. */
async function stillOpen(
  far: FarSide,
  newest: Send,
  lease: Lease | null,
  { refund, treasuries }: Known,
): Promise<RefundOutcome | null> {
  const { sender } = far
  const state = lease ? await sender.push(lease, newest) : await sender.look(newest)
  if (state.state === 'superseded') return null
  if (state.state === 'pending') return waiting('The refund waits for the chain.', state.hash)
  const { receipt } = state
  if (hasMoved(receipt, refund, treasuries)) return landed(far, newest, receipt)
  if (receipt.succeeded) return waiting('The refund landed, and its transfer is not shown yet.')
  return (await sender.isBuried(receipt))
    ? null
    : waiting('The refund reverted; the chain has to settle before another one is sent.')
}

async function sendNext(
  far: FarSide,
  refund: RefundTransfer,
  lease: Lease,
  { sends, treasuries }: { readonly sends: readonly Send[]; readonly treasuries: readonly Address[] },
): Promise<RefundOutcome> {
  const { rpc, sender } = far
  const { orderId, token } = refund
  const call = sends.at(-1)?.call ?? (await far.sign(refund))
  try {
    const refusal = await transferRefusal(rpc, token, { terms: await sender.terms(call.gas), data: call.data })
    if (refusal !== null) return waiting(`The refund would fail: ${refusal}. Is the treasury funded?`)
    const { send, state } = await far.send({ lease, orderId, step: STEP }, call, sends, refund)
    if (state.state === 'mined' && hasMoved(state.receipt, refund, treasuries)) return landed(far, send, state.receipt)
    if (state.state === 'mined') return waiting('The refund reverted; is the treasury funded?')
    return waiting('The refund waits for the chain.', send.versions[0]!.hash)
  } catch (error) {
    if (!isProblem(error, 'relayer_unfunded')) throw error
    return waiting(`${sender.address} cannot pay for the gas of the refund.`)
  }
}

/** Another store of ours has sent it, or this one before it was restored. The far side says that it did; this tells by which transaction. */
async function foundElsewhere(far: FarSide, refund: RefundTransfer, treasury: Address): Promise<RefundOutcome> {
  const { rpc, sender } = far
  const paidIn = refund.since && (await readReceipt(rpc, refund.since))
  if (!paidIn) return waiting(UNSEEN)
  for (const hash of new Set(await far.usesSince(refund, treasury, paidIn.blockNumber))) {
    const receipt = await readReceipt(rpc, hash)
    if (!receipt || !hasMoved(receipt, refund, [treasury])) continue
    return (await sender.isBuried(receipt))
      ? { kind: 'refunded', transaction: hash }
      : waiting('The refund is on the chain, and not deep enough yet.', hash)
  }
  return waiting(UNSEEN)
}

/** It is watched from now on. */
async function landed({ sender }: FarSide, send: Send, receipt: Receipt): Promise<RefundOutcome> {
  await sender.land(send, receipt)
  return { kind: 'refunded', transaction: receipt.transactionHash }
}

function hasMoved(receipt: Receipt, { token, to, amount }: RefundTransfer, treasuries: readonly Address[]): boolean {
  const value = amount.toString()
  return receipt.succeeded && treasuries.some((from) => moves(receipt, token, { from, to, value }))
}

function waiting(detail: string, transaction?: Hash): RefundOutcome {
  return { kind: 'pending', detail, ...(transaction ? { transaction } : {}) }
}
