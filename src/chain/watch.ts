import type { Address, Hash } from '../base/address.ts'
import type { Log } from '../base/log.ts'
import { isProblem } from '../base/problem.ts'
import { isDeliveryStep, type Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { MissingSend, SendWatch, WatchedSend } from '../domain/send-watch.ts'
import { type Attempt, decisiveOf, followOn, hasSucceeded, readSendTries, sendNext } from './attempts.ts'
import { blockTag } from './block-tag.ts'
import { contractAt, Reverted } from './contract.ts'
import type { SendState } from './lane/state.ts'
import { paidIn } from './paid-transaction.ts'
import { readReceipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import type { Sender } from './sender.ts'
import { refundTransfer, transferIn } from './transfer.ts'

/** What was paid for at another till, and may stand in the row of the same key. */
export type PaidElsewhere = {
  readonly watch: SendWatch
  /** Does the chain of that till show what paid for it? Its books may not be compared with the chain yet. */
  isPaid(send: WatchedSend): Promise<boolean>
}

type WatchOptions = {
  readonly rpc: Rpc
  readonly watch: SendWatch
  /** Where what goes back without an order had come. */
  readonly payTo: Address
  /** Our keys on this chain, as configured now. */
  readonly senders: readonly Sender[]
  readonly elsewhere: readonly PaidElsewhere[]
  readonly lease: Lease
  readonly log: Log
}

/** Reorganisations deeper than this have not been seen where we sell. */
const DEPTH = 128n
const BLOCKS_MAX = 500
const SENDS_MAX = 50

/**
 * Looks whether the chain still shows what it showed when orders were confirmed and refunded, block by block: one question for all that a
 * block held. What it has dropped is sent again, the same bytes first. Returns all that was missing at this look.
 */
export async function watchSends(options: WatchOptions): Promise<readonly MissingSend[]> {
  const { rpc, watch, elsewhere } = options
  const { chainId } = rpc
  const { deep, gone } = await lookAtBlocks(rpc, watch)
  if (deep.length > 0) await watch.bury(chainId, deep)
  const missing: MissingSend[] = []
  if (gone.length === 0) return missing
  const sends = await watch.minedIn(chainId, gone, SENDS_MAX)
  for (const send of sends) await signAwayUnpaid(options, send, (one) => isPaid(options, one))
  for (const other of elsewhere)
    for (const send of await other.watch.minedIn(chainId, (await lookAtBlocks(rpc, other.watch)).gone, SENDS_MAX))
      await signAwayUnpaid(options, send, other.isPaid)
  for (const send of sends) {
    const found = await restore(options, send)
    if (found) missing.push(found)
  }
  return missing
}

/** Which of the blocks that its sends were mined in lie deep, and which are gone. */
async function lookAtBlocks(
  rpc: Rpc,
  watch: SendWatch,
): Promise<{ readonly deep: readonly Hash[]; readonly gone: readonly Hash[] }> {
  const head = BigInt(await rpc.request<string>('eth_blockNumber'))
  const deep: Hash[] = []
  const gone: Hash[] = []
  for (const { number, hash } of await watch.blocks(rpc.chainId, BLOCKS_MAX)) {
    // A node that has not come so far yet says nothing about it.
    if (number > head) continue
    const shown = await rpc.request<{ hash: Hash } | null>('eth_getBlockByNumber', [blockTag(number), false])
    if (shown && shown.hash !== hash) gone.push(hash)
    else if (shown && head - number >= DEPTH) deep.push(hash)
  }
  return { deep, gone }
}

/** Before anything is brought back: whoever sends one transaction of a key again also sends what stands in its row, paid for or not. */
async function signAwayUnpaid(
  { senders, lease, log }: WatchOptions,
  send: WatchedSend,
  isPaid: PaidElsewhere['isPaid'],
): Promise<void> {
  const { orderId, step } = send
  const own = senders.find((sender) => sender.isOwn(send))
  try {
    if (!own || (await isPaid(send))) return
    for (const { step } of (await readSendTries(own, orderId, firstStepOf(send))).attempts)
      await own.signAway({ lease, orderId, step })
  } catch (error) {
    log.warn('dropped transaction could not be signed away', { orderId, step, error })
  }
}

/** Null when it was only mined again elsewhere. Whether its key is still ours makes no difference to that. */
async function restore(options: WatchOptions, send: WatchedSend): Promise<MissingSend | null> {
  const { senders, log } = options
  const { orderId, step, landing, amount } = send
  const own = senders.find((sender) => sender.isOwn(send))
  const looker = own ?? senders[0]!
  const state = await looker.look(send)
  if (state.state === 'mined' && state.receipt.succeeded) {
    await looker.land(send, state.receipt)
    return null
  }
  const again = own ? bringBack(options, own, send) : bringBackOld(options, looker, send)
  const detail = await again.catch((error: unknown) => {
    log.warn('dropped transaction could not be sent again', { orderId, step, error })
    return isProblem(error) ? error.message : 'It could not be sent again; the next look tries.'
  })
  const kind = isDeliveryStep(step) ? 'delivery_missing' : 'refund_missing'
  log.error('the chain dropped a delivery or a refund', { orderId, step, transaction: landing.hash, detail })
  return { kind, orderId, transaction: landing.hash, amount, detail }
}

async function bringBack(options: WatchOptions, sender: Sender, send: WatchedSend): Promise<string> {
  if (!(await isPaid(options, send))) return withhold(options, sender, send)
  return isDeliveryStep(send.step) ? deliverAgain(options, sender, send) : refundAgain(options, sender, send)
}

/** Its key was rotated away: nothing can be signed or cancelled with it, but the bytes that it signed are as good as ever. */
async function bringBackOld(options: WatchOptions, looker: Sender, send: WatchedSend): Promise<string> {
  if (!(await isPaid(options, send))) {
    if ((await looker.look(send)).state === 'void') return withheld(options, send)
    return 'Its payment is missing too, and only the key that sent it, which is not configured any more, could cancel it.'
  }
  const { state } = await looker.remind(send)
  return state === 'pending'
    ? 'It was sent again, and waits for the chain.'
    : 'It did not go through, and the key that sent it is not configured any more: a person has to make up for it.'
}

async function isPaid({ rpc, payTo }: WatchOptions, { payment, arrivalTx, call }: WatchedSend): Promise<boolean> {
  if (arrivalTx === null) return payment === 'shown'
  const back = transferIn(call)
  if (!back) return false
  const { token: asset, to: payer, amount } = back
  return (await paidIn(rpc, arrivalTx, { asset, payTo, payer, amount })) !== null
}

/**
 * What paid for it is gone as well: neither is handed over for nothing. The bytes are known to the world and would land by themselves, so
 * their nonce is used up; when the payment comes back, it is sent under another one.
 */
async function withhold(options: WatchOptions, sender: Sender, send: WatchedSend): Promise<string> {
  const { orderId } = send
  const states: SendState[] = []
  // Its payment may have been back for a while: then a further try of it is out there too.
  for (const { step } of (await readSendTries(sender, orderId, firstStepOf(send))).attempts)
    states.push(await sender.cancel({ lease: options.lease, orderId, step }))
  if (states.some((state) => state.state === 'mined' && state.receipt.succeeded))
    return 'Its payment is missing too, and it has landed all the same.'
  return states.some(({ state }) => state === 'pending') ? CANCELLED : withheld(options, send)
}

const CANCELLED = 'Its payment is missing too; it is cancelled until that is back.'

/** It must not be forgotten: whoever brings back what counts as lost has paid, and this is what they are owed. */
async function withheld({ watch }: WatchOptions, send: WatchedSend): Promise<string> {
  if (send.payment === 'lost') await watch.rest(send)
  return CANCELLED
}

/** The contract takes each order once, so a further try is safe when the one before can never land. */
async function deliverAgain({ rpc, watch, lease }: WatchOptions, sender: Sender, send: WatchedSend): Promise<string> {
  const errand = { lease, orderId: send.orderId, step: firstStepOf(send) }
  const tries = await readSendTries(sender, errand.orderId, errand.step)
  const decisive = decisiveOf(tries)
  const isOut = decisive && (hasSucceeded(decisive) || decisive.state.state === 'pending')
  if (isOut) return landed(watch, sender, send, await followOn(sender, errand, decisive))
  const refusal = await refusalOf(rpc, sender, send)
  if (refusal) return `The contract refuses it now: ${refusal}.`
  return landed(watch, sender, send, await sendNext(sender, errand, send.call, tries))
}

/** The name that its first try had, and that all of them begin with. */
function firstStepOf({ step }: Send): string {
  return step.replace(/\.\d+$/, '')
}

async function refusalOf(rpc: Rpc, sender: Sender, { call }: Send): Promise<string | null> {
  try {
    await contractAt(rpc, call.to, []).simulate(await sender.terms(call.gas), call.data)
    return null
  } catch (error) {
    if (error instanceof Reverted) return error.reason
    throw error
  }
}

async function landed(watch: SendWatch, sender: Sender, send: Send, { state, step }: Attempt): Promise<string> {
  if (state.state === 'pending') return 'It was sent again, and waits for the chain.'
  if (state.state === 'void' || !state.receipt.succeeded) return 'It did not go through; the next look tries again.'
  await sender.land({ orderId: send.orderId, step }, state.receipt)
  if (step !== send.step) await watch.forget(send)
  return `It has landed again, as ${state.receipt.transactionHash}.`
}

async function refundAgain({ rpc, watch, lease }: WatchOptions, sender: Sender, send: WatchedSend): Promise<string> {
  const { orderId, landing, call, versions } = send
  const transfer = transferIn(call)
  if (!transfer) throw new TypeError(`${send.step} of ${orderId} is no transfer`)
  const since = landing.blockNumber > DEPTH ? landing.blockNumber - DEPTH : 0n
  const outcome = await refundTransfer({ rpc, sender, orderId, lease }, { ...transfer, since })
  if (outcome.kind === 'pending') return outcome.detail
  if (!versions.some(({ hash }) => hash === outcome.transaction)) await giveWay({ rpc, watch }, sender, send)
  return `It has landed again, as ${outcome.transaction}.`
}

/** Another transaction is the refund now. What cancelled this one has used its nonce, and nothing that was forgotten has: without a word of that its key would count as put back. */
async function giveWay(
  { rpc, watch }: Pick<WatchOptions, 'rpc' | 'watch'>,
  sender: Sender,
  send: WatchedSend,
): Promise<void> {
  for (const { hash } of send.versions.filter(({ isVoid }) => isVoid)) {
    const receipt = await readReceipt(rpc, hash)
    if (receipt) return sender.land(send, receipt)
  }
  await watch.forget(send)
}
