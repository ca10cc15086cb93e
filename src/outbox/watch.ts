import type { Hash } from '../base/address.ts'
import type { Log } from '../base/log.ts'
import { blockTag } from '../chain/block-tag.ts'
import { contractAt, Reverted } from '../chain/contract.ts'
import type { Rpc } from '../chain/rpc.ts'
import { type Call, isDeliveryStep, type MissingSend } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { SendWatch, WatchedSend } from '../store/sends/watch.ts'
import type { Sender, Sent } from './sender.ts'
import { hasSucceeded, type SendState } from './state.ts'

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

/**
 * Looks whether the chain still shows what it showed when orders were confirmed and refunded, block by block: one question for all that a
 * block held. What it has dropped is named and sent again. Returns all that was missing at this look.
 */
export async function watchSends(options: WatchOptions): Promise<readonly MissingSend[]> {
  const { rpc, watch } = options
  const head = BigInt(await rpc.request<string>('eth_blockNumber'))
  const deep: Hash[] = []
  const gone: Hash[] = []
  for (const { number, hash } of await watch.blocks(rpc.chainId)) {
    // A node that has not come so far yet says nothing about it.
    if (number > head) continue
    const shown = await rpc.request<{ hash: Hash } | null>('eth_getBlockByNumber', [blockTag(number), false])
    if (!shown) continue
    if (shown.hash !== hash) gone.push(hash)
    if (head - number >= DEPTH) deep.push(hash)
  }
  const missing: MissingSend[] = []
  for (const send of gone.length > 0 ? await watch.minedIn(rpc.chainId, gone) : []) {
    const found = await restore(options, send)
    if (found) missing.push(found)
  }
  if (deep.length > 0) await watch.bury(rpc.chainId, deep)
  return missing
}

/** Null when it was only mined again elsewhere. */
async function restore(options: WatchOptions, send: WatchedSend): Promise<MissingSend | null> {
  const { senders, watch, log } = options
  const { orderId, step, landing, amount } = send
  const sender = senders.find((one) => one.isOwn(send)) ?? senders[0]!
  const shown = await sender.look(send)
  if (hasSucceeded(shown)) {
    await sender.land(send, shown.receipt)
    return null
  }
  const { send: last, state } = await sentAgain(options, sender, send)
  if (hasSucceeded(state)) {
    await sender.land(last, state.receipt)
    if (last.nonce !== send.nonce) await watch.forget(send)
  }
  const detail = afterPush(state)
  const kind = isDeliveryStep(step) ? 'delivery_missing' : 'refund_missing'
  log.error('the chain dropped a delivery or a refund', { orderId, step, transaction: landing.hash, detail })
  return { kind, orderId, transaction: landing.hash, amount, detail }
}

/**
 * The same bytes first; when those can land no more, the same step under a new nonce. The far side takes each step once. Of a key that was rotated
 * away only its bytes are left, and a refund under a nonce key has no other nonce.
 */
async function sentAgain({ rpc, lease }: WatchOptions, sender: Sender, send: WatchedSend): Promise<Sent> {
  const { orderId, step, call } = send
  const sends = (await sender.sendsOf(orderId)).filter((one) => one.step === step && sender.isOwn(one))
  const newest = sends.at(-1) ?? send
  const state = await sender.push(lease, newest)
  const isOver = state.state === 'superseded' || (state.state === 'mined' && !state.receipt.succeeded)
  if (!isOver || send.nonceKey || !sender.isOwn(send) || (await isRefused(rpc, sender, call)))
    return { send: newest, state }
  return sender.send({ lease, orderId, step }, call, sends)
}

/** What the far side would refuse costs no gas. */
async function isRefused(rpc: Rpc, sender: Sender, { to, data, gas }: Call): Promise<boolean> {
  try {
    await contractAt(rpc, to, []).simulate(await sender.terms(gas), data)
    return false
  } catch (error) {
    if (error instanceof Reverted) return true
    throw error
  }
}

function afterPush(state: SendState): string {
  if (state.state === 'pending') return 'It was sent again, and waits for the chain.'
  return hasSucceeded(state)
    ? 'It was sent again, and has landed.'
    : 'The chain refuses it now; the next look tries again.'
}
