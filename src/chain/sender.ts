import { type Address, type Hash, sameAddress } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import type { Log as LogBook } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import { noWaypoint, type Waypoint } from '../base/waypoint.ts'
import type { Call, Journal, Send, SignedVersion } from '../domain/journal.ts'
import { type FeeSource, raised } from './fees.ts'
import { pollUntil, type Receipt, readReceipt } from './receipt.ts'
import { type Rpc, RpcError } from './rpc.ts'
import type { Wallet } from './wallet.ts'

/** What is known of a transaction of ours. `pending` never turns into "failed": the signed bytes may land at any time. */
export type SendState =
  | { readonly state: 'mined'; readonly receipt: Receipt }
  | { readonly state: 'pending'; readonly hash: Hash }
  /** The nonce went to another transaction, ours to cancel it or a foreign one: this call can never land. */
  | { readonly state: 'void' }

/** One key on one chain. Every write of the service to a chain goes through one of these. */
export type Sender = {
  readonly address: Address
  /** Signs, writes down, broadcasts, waits. At most one transaction per order and step, however often it is called. */
  send(orderId: string, step: string, call: Call): Promise<SendState>
  /** Sends the bytes of a step once more, if they are still missing, and waits. */
  resume(orderId: string, step: string): Promise<SendState>
  /** What became of a step, without sending anything new: null when it was never signed. */
  look(orderId: string, step: string): Promise<SendState | null>
  /** Sees to it that a step can never land any more, by using up its nonce. `mined` when it landed after all. */
  cancel(orderId: string, step: string): Promise<SendState>
  /**
   * One of these transactions may be a step that the journal has lost, because it is an older copy of itself: then it is written down, as
   * if it had always been there. Asks for them only when the chain has counted more of this key than the journal knows.
   */
  recover(orderId: string, step: string, call: Call, candidates: () => Promise<readonly Hash[]>): Promise<void>
  /** Refuses before money moves when the key cannot pay for gas. */
  assertFunded(gas: bigint): Promise<void>
  balance(): Promise<bigint>
}

export type SenderOptions = {
  readonly rpc: Rpc
  readonly wallet: Wallet
  readonly journal: Journal
  readonly fees: FeeSource
  readonly clock: Clock
  readonly log: LogBook
  readonly waypoint?: Waypoint
  /** How long `send` waits for the receipt before it says `pending`. */
  readonly waitMs: number
  /** After this long without a receipt, the same nonce is signed again with higher fees. */
  readonly stuckAfterMs: number
}

const BALANCE_CACHE_MS = 5_000
/** Behind one address there may be several nodes. A receipt that none of them shows, so many blocks after its nonce was used, is not there. */
const BLOCKS_UNTIL_SURE = 64n

export function createSender(options: SenderOptions): Sender {
  const { rpc, wallet, journal, fees, clock, log, waitMs, stuckAfterMs, waypoint = noWaypoint } = options
  const { chainId } = rpc
  const signer = wallet.address
  /** Next nonce to use, as far as this process knows; another process may have used it meanwhile. */
  let nextNonce: number | null = null
  let queue: Promise<unknown> = Promise.resolve()
  let tank: { readonly at: number; readonly wei: bigint } | null = null

  /** Nonce, signature, journal and broadcast go one at a time, so that a later nonce never overtakes an earlier one. */
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = queue.then(work)
    queue = result.catch(() => {})
    return result
  }

  /** What waits in the node's pool does not count: ours is in the journal, and a stranger's may be forgotten and leave a gap. */
  async function firstFreeNonce(): Promise<number> {
    const [last, onChain] = await Promise.all([journal.lastNonce(chainId, signer), nonceAt('latest')])
    return Math.max(last === null ? 0 : last + 1, onChain)
  }

  async function nonceAt(block: 'latest' | Hex): Promise<number> {
    return Number(await rpc.request<string>('eth_getTransactionCount', [signer, block]))
  }

  async function isUsedForGood(nonce: number): Promise<boolean> {
    const head = BigInt(await rpc.request<string>('eth_blockNumber'))
    if (head < BLOCKS_UNTIL_SURE) return false
    return (await nonceAt(`0x${(head - BLOCKS_UNTIL_SURE).toString(16)}`)) > nonce
  }

  async function signAndRecord(orderId: string, step: string, call: Call): Promise<Send> {
    for (;;) {
      nextNonce ??= await firstFreeNonce()
      const version = wallet.signCall(call, nextNonce, await fees.current(), chainId)
      const send: Send = { chainId, signer, nonce: nextNonce, orderId, step, call, versions: [version] }
      await waypoint('send.signed')
      if (await journal.record(send)) {
        nextNonce += 1
        return send
      }
      // Either this step was signed before, here or by a process that died, or another process took the nonce.
      nextNonce = null
      const existing = await journal.find(chainId, signer, orderId, step)
      if (existing) return existing
    }
  }

  /** Hands signed bytes to the node. Whatever it says, the bytes are written down and the receipt decides. */
  async function broadcast(send: Send): Promise<void> {
    const { raw, hash } = send.versions.at(-1)!
    try {
      await rpc.request('eth_sendRawTransaction', [raw])
    } catch (error) {
      const known = error instanceof RpcError && /already known|already imported|known transaction/i.test(error.message)
      if (!known)
        log.warn('broadcast not accepted', { chainId, signer, nonce: send.nonce, step: send.step, hash, error })
    }
  }

  async function receiptOf(send: Send): Promise<Receipt | null> {
    for (const { hash } of send.versions.toReversed()) {
      const receipt = await readReceipt(rpc, hash)
      if (receipt) return receipt
    }
    return null
  }

  function landed(send: Send, receipt: Receipt): SendState {
    const version = send.versions.find(({ hash }) => hash === receipt.transactionHash)
    return version?.isVoid ? { state: 'void' } : { state: 'mined', receipt }
  }

  /** A step that is called void is sent again, so nothing is void before that is sure: money must not go back twice. */
  async function stateOf(send: Send): Promise<SendState> {
    const receipt = await receiptOf(send)
    if (receipt) return landed(send, receipt)
    const pending = { state: 'pending', hash: send.versions[0]!.hash } as const
    if ((await nonceAt('latest')) <= send.nonce) return pending
    // The nonce is gone: ours landed between the two readings, perhaps as a version that another process signed, or a stranger took it.
    const newest = (await journal.find(chainId, signer, send.orderId, send.step)) ?? send
    const late = await receiptOf(newest)
    if (late) return landed(newest, late)
    return (await isUsedForGood(send.nonce)) ? { state: 'void' } : pending
  }

  /**
   * A transaction waits when an earlier nonce of the same key never reached the chain, perhaps because the process that signed
   * it died. The bytes are in the journal, so anybody may send them again.
   */
  async function unblock(send: Send): Promise<void> {
    for (const earlier of await missingBefore(send)) await broadcast(earlier)
    await broadcast(send)
  }

  async function missingBefore({ nonce }: Send): Promise<readonly Send[]> {
    return journal.between(chainId, signer, await nonceAt('latest'), nonce)
  }

  /** Nobody may care any more for what is in front of it; whoever waits behind pays what it takes by now, and no more. */
  async function raiseFront(send: Send): Promise<Send> {
    const front = await missingBefore(send)
    if (front.length === 0) return raiseFees(send)
    const { maxFeePerGas } = await fees.current()
    for (const earlier of front)
      if (earlier.versions.at(-1)!.fees.maxFeePerGas < maxFeePerGas) await broadcast(await raiseFees(earlier))
    return send
  }

  /** Signs the newest version's purpose again for more; somebody else's newer version is as good as ours. */
  async function raiseFees(send: Send): Promise<Send> {
    const newest = send.versions.at(-1)!
    const higher = raised(newest.fees, await fees.current())
    const version = newest.isVoid
      ? wallet.signVoid(send.nonce, higher, chainId)
      : wallet.signCall(send.call, send.nonce, higher, chainId)
    return addVersion(send, version)
  }

  async function addVersion(send: Send, version: SignedVersion): Promise<Send> {
    const { nonce, orderId, step } = send
    if (!(await journal.addVersion(send, version))) return (await journal.find(chainId, signer, orderId, step)) ?? send
    log.warn('signed again for the same nonce', {
      chainId,
      signer,
      nonce,
      step,
      hash: version.hash,
      isVoid: version.isVoid,
    })
    return { ...send, versions: [...send.versions, version] }
  }

  async function follow(first: Send): Promise<SendState> {
    let send = first
    const begun = clock.now()
    let nudgedAt = begun
    let raisedAt = begun
    const found = await pollUntil(clock, waitMs, async () => {
      const receipt = await receiptOf(send)
      if (receipt) return receipt
      const now = clock.now()
      if (now - raisedAt >= stuckAfterMs) {
        raisedAt = now
        send = await raiseFront(send)
        await broadcast(send)
      } else if (now - nudgedAt >= Math.min(1_000, stuckAfterMs / 2)) {
        nudgedAt = now
        await unblock(send)
      }
      return null
    })
    if (!found) return stateOf(send)
    await waypoint('send.mined')
    return landed(send, found)
  }

  const sender: Sender = {
    address: signer,

    async send(orderId, step, call) {
      const send = await inTurn(async () => {
        const recorded = await signAndRecord(orderId, step, call)
        await waypoint('send.journaled')
        await broadcast(recorded)
        await waypoint('send.broadcast')
        return recorded
      })
      return follow(send)
    },

    async resume(orderId, step) {
      const send = await journal.find(chainId, signer, orderId, step)
      if (!send) throw new TypeError(`${step} of ${orderId} was never sent`)
      const before = await stateOf(send)
      if (before.state !== 'pending') return before
      await unblock(send)
      return follow(send)
    },

    async look(orderId, step) {
      const send = await journal.find(chainId, signer, orderId, step)
      return send ? stateOf(send) : null
    },

    async cancel(orderId, step) {
      const send = await journal.find(chainId, signer, orderId, step)
      if (!send) return { state: 'void' }
      const before = await stateOf(send)
      if (before.state !== 'pending') return before
      // The same nonce, to ourselves, for more: whichever lands, the other one never will.
      const newest = send.versions.at(-1)!
      const higher = raised(newest.fees, await fees.current())
      const voided = newest.isVoid ? send : await addVersion(send, wallet.signVoid(send.nonce, higher, chainId))
      await unblock(voided)
      return follow(voided)
    },

    async recover(orderId, step, call, candidates) {
      if ((await journal.unknownBefore(chainId, signer, await nonceAt('latest'))) <= 0) return
      for (const hash of await candidates()) {
        const found = await rpc.request<{ from: Address; nonce: Hex } | null>('eth_getTransactionByHash', [hash])
        if (!found || !sameAddress(found.from, signer)) continue
        // The signed bytes are lost, but they have landed: nobody will have to send them.
        const version = {
          raw: '0x',
          hash,
          fees: { maxFeePerGas: 0n, maxPriorityFeePerGas: 0n },
          isVoid: false,
        } as const
        const send: Send = { chainId, signer, nonce: Number(found.nonce), orderId, step, call, versions: [version] }
        // False: this one is known, as the work of another order.
        if (!(await journal.record(send))) continue
        log.error('the journal had lost a transaction', { chainId, signer, nonce: send.nonce, orderId, step, hash })
        return
      }
    },

    async assertFunded(gas) {
      const { maxFeePerGas } = await fees.current()
      if (tank === null || clock.now() - tank.at > BALANCE_CACHE_MS)
        tank = { at: clock.now(), wei: await sender.balance() }
      if (tank.wei < gas * maxFeePerGas) {
        tank = null
        throw new Problem(
          'relayer_unfunded',
          'The shop cannot pay for gas right now, so nothing was taken; try again later.',
        )
      }
    },

    async balance() {
      return BigInt(await rpc.request<string>('eth_getBalance', [signer, 'latest']))
    },
  }
  return sender
}
