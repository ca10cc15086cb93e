import type { Hash } from '../base/address.ts'
import type { Log } from '../base/log.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { blockTag } from '../chain/block-tag.ts'
import { contractAt, Reverted } from '../chain/contract.ts'
import type { Rpc } from '../chain/rpc.ts'
import { isDeliveryStep } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { MissingSend, SendWatch, WatchedSend } from '../domain/send-watch.ts'
import { landedWhileClosing } from './closing.ts'
import type { Sender, Sent } from './sender.ts'

type WatchOptions = {
  readonly rpc: Rpc
  readonly watch: SendWatch
  /** Our keys on this chain, as configured now. */
  readonly senders: readonly Sender[]
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
  const { rpc, watch } = options
  const { chainId } = rpc
  const { deep, gone } = await lookAtBlocks(rpc, watch)
  if (deep.length > 0) await watch.bury(chainId, deep)
  const missing: MissingSend[] = []
  if (gone.length === 0) return missing
  for (const send of await watch.minedIn(chainId, gone, SENDS_MAX)) {
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

/** Null when it was only mined again elsewhere. */
async function restore(options: WatchOptions, send: WatchedSend): Promise<MissingSend | null> {
  const { senders, log } = options
  const { orderId, step, landing, amount } = send
  const looker = senders.find((sender) => sender.isOwn(send)) ?? senders[0]!
  const state = await looker.look(send)
  if (state.state === 'mined' && state.receipt.succeeded) {
    await looker.land(send, state.receipt)
    return null
  }
  const detail = await bringBack(options, looker, send).catch((error: unknown) => {
    log.warn('dropped transaction could not be sent again', { orderId, step, error })
    return isProblem(error) ? error.message : 'It could not be sent again; the next look tries.'
  })
  const kind = isDeliveryStep(step) ? 'delivery_missing' : 'refund_missing'
  log.error('the chain dropped a delivery or a refund', { orderId, step, transaction: landing.hash, detail })
  return { kind, orderId, transaction: landing.hash, amount, detail }
}

async function bringBack(options: WatchOptions, sender: Sender, send: WatchedSend): Promise<string> {
  const { watch } = options
  const { send: last, state } = await sentAgain(options, sender, send)
  if (state.state === 'pending') return 'It was sent again, and waits for the chain.'
  if (state.state === 'superseded' || !state.receipt.succeeded)
    return 'It did not go through; the next look tries again.'
  await sender.land(last, state.receipt)
  if (last.nonce !== send.nonce) await watch.forget(send)
  return `It has landed again, as ${state.receipt.transactionHash}.`
}

/** The same bytes first. The far side takes each step once, so another try is safe. Of a key that was rotated away only its bytes are left. */
async function sentAgain({ rpc, lease }: WatchOptions, sender: Sender, send: WatchedSend): Promise<Sent> {
  const { orderId, step, call } = send
  const sends = (await sender.sendsOf(orderId)).filter((one) => one.step === step && sender.isOwn(one))
  // Another one may have been sent at an earlier look.
  const newest = sends.at(-1) ?? send
  const state = await sender.push(lease, newest)
  const isOver = state.state === 'superseded' || (state.state === 'mined' && !state.receipt.succeeded)
  if (!isOver || send.nonceKey || landedWhileClosing(send) || !sender.isOwn(send)) return { send: newest, state }
  await refuseIfInVain(rpc, sender, send)
  return sender.send({ lease, orderId, step }, call, sends)
}

async function refuseIfInVain(rpc: Rpc, sender: Sender, { call }: WatchedSend): Promise<void> {
  try {
    await contractAt(rpc, call.to, []).simulate(await sender.terms(call.gas), call.data)
  } catch (error) {
    if (!(error instanceof Reverted)) throw error
    throw new Problem('chain_unavailable', `The contract refuses it now: ${error.reason}.`)
  }
}
