import { countdown, msSince } from '../base/clock.ts'
import { pollUntil } from '../chain/receipt.ts'
import { RpcError } from '../chain/rpc.ts'
import type { Send, SignedVersion } from '../domain/journal.ts'
import { type Lease, LeaseLost } from '../domain/lease.ts'
import { countedNonce, type NonceQueue, noteLanded } from './queue.ts'
import { byFee, canLand, signAgain } from './sign.ts'
import { landedWhileClosing, mined, receiptOf, type SendState, stateOf } from './state.ts'

/** Whether the node would take other fees: `dear` more than the wallet has, `cheap` less than a block wants. Null: nothing speaks against them. */
export type FeeRefusal = 'dear' | 'cheap' | null

const KNOWN = /already known|already imported|known transaction/i
const NONCE_GONE = /nonce too low|nonce is too low|old nonce/i
const TOO_DEAR = /insufficient (funds|fee token balance)/i
const TOO_CHEAP = /less than block base fee|underpriced|fee too low|max fee per gas/i

/** Hands signed bytes to the node. They are written down, so whatever it answers, the receipt decides. */
export async function broadcast(queue: NonceQueue, send: Send): Promise<FeeRefusal> {
  let refusal: FeeRefusal = null
  for (const version of worthSending(queue, send)) refusal = await hand(queue, send, version)
  return refusal
}

/** Once more, and to every node: the one that is asked first may have taken the bytes and thrown them away. */
export async function broadcastAgain(queue: NonceQueue, send: Send): Promise<FeeRefusal> {
  const { rpc } = queue
  for (const { raw } of rpc.standing().length > 1 ? worthSending(queue, send) : [])
    await rpc.everyone('eth_sendRawTransaction', [raw])
  return broadcast(queue, send)
}

/** Every version may land, so all that the wallet can pay are kept alive, the dearest last: it replaces the others where it can. */
function worthSending({ gas }: NonceQueue, send: Send): readonly SignedVersion[] {
  const { versions, call, landing } = send
  if (landedWhileClosing(send)) return versions.filter(({ hash }) => hash === landing?.hash)
  const wei = gas.known()
  const isPayable = ({ fees }: SignedVersion) => wei === null || call.gas * fees.maxFeePerGas <= wei
  return versions.filter((one) => one === versions.at(-1) || isPayable(one)).toSorted(byFee)
}

async function hand(queue: NonceQueue, { nonce, step }: Send, { raw, hash }: SignedVersion): Promise<FeeRefusal> {
  const { rpc, log, chainId, signer, row } = queue
  try {
    await rpc.request('eth_sendRawTransaction', [raw])
    return null
  } catch (error) {
    const words = error instanceof RpcError ? error.message : ''
    if (KNOWN.test(words)) return null
    // The nonce is used, perhaps by this very transaction; the next one is asked for again.
    if (NONCE_GONE.test(words)) row.next = null
    log.warn('broadcast not accepted', { chainId, signer, nonce, step, hash, error })
    return TOO_DEAR.test(words) ? 'dear' : TOO_CHEAP.test(words) ? 'cheap' : null
  }
}

/** So many of those in front are pushed at a time: when they have landed, the next ones are. */
const FRONT_MAX = 16
const PUSH_MS = 1_000

/**
 * A transaction waits when an earlier nonce of the same key is not on the chain: the process that signed it died, or the node forgot it. The
 * bytes are in the journal, so every process with the key sends them again. Once a second, however many wait behind.
 */
export async function pushFront(queue: NonceQueue): Promise<void> {
  const { row, clock } = queue
  if (msSince(clock, row.pushedAt) < PUSH_MS) return
  row.pushedAt = clock.now()
  for (const send of await frontOf(queue)) await broadcastAgain(queue, send)
}

/** The same after a long wait: what offers too little is signed again for today's fees. */
export async function renewFront(queue: NonceQueue, lease: Lease): Promise<void> {
  const { maxFeePerGas } = await queue.fees.current()
  for (const send of await frontOf(queue)) {
    const offered = send.versions.at(-1)!.fees
    if (offered.maxFeePerGas < maxFeePerGas || !(await canLand(queue, send)))
      await broadcastAgain(queue, await signAgain(queue, lease, send))
  }
}

async function frontOf(queue: NonceQueue): Promise<readonly Send[]> {
  const { journal, chainId, signer } = queue
  const counted = await countedNonce(queue)
  noteLanded(queue, counted)
  return journal.between(chainId, signer, counted, counted + FRONT_MAX)
}

/** Waits for the receipt, and meanwhile does what brings it about: the same bytes again, then the same nonce at other fees. */
export async function follow(queue: NonceQueue, lease: Lease, first: Send, refused: FeeRefusal): Promise<SendState> {
  const { clock, waitMs, stuckAfterMs } = queue
  const isQueued = !first.nonceKey && first.signer === queue.signer
  const toRenew = () => countdown(clock, stuckAfterMs)
  const toNudge = () => countdown(clock, Math.min(PUSH_MS, stuckAfterMs / 2))
  let [beforeRenewal, beforeNudge] = [toRenew(), toNudge()]
  let [send, refusal] = [first, refused]

  async function help(isLong: boolean): Promise<void> {
    if (isQueued) await (isLong ? renewFront(queue, lease) : pushFront(queue))
    // As long as others stand in front of it, more money does not help it. Where the node wants other fees there is no use in waiting; what is only
    // too much together with all in front is paid when they have landed.
    const isFirst = !isQueued || queue.row.landedBelow >= send.nonce
    const isRefused = refusal === 'cheap' || (refusal === 'dear' && !(await canLand(queue, send)))
    if (isRefused || (isLong && isFirst)) send = await signAgain(queue, lease, send)
    refusal = await broadcastAgain(queue, send)
  }

  const look = async () => {
    const receipt = await receiptOf(queue, send)
    if (receipt) return receipt
    const isLong = beforeRenewal() <= 0
    if (!isLong && beforeNudge() > 0) return null
    if (isLong) beforeRenewal = toRenew()
    beforeNudge = toNudge()
    await helped(queue, send, () => help(isLong))
    return null
  }
  const receipt = await pollUntil(clock, waitMs, look)
  if (!receipt) return stateOf(queue, send)
  await queue.waypoint('send.mined')
  return mined(queue, send, receipt)
}

/** Help that fails changes nothing: the bytes are out, and may land at any time. */
async function helped({ log, chainId, signer }: NonceQueue, { nonce, step }: Send, help: () => Promise<void>) {
  try {
    await help()
  } catch (error) {
    if (error instanceof LeaseLost) throw error
    log.warn('transaction could not be sped up', { chainId, signer, nonce, step, error })
  }
}
