import type { Address } from '../base/address.ts'
import { noWaypoint } from '../base/waypoint.ts'
import type { CallTerms } from '../chain/contract.ts'
import { deepTime, isReceiptBuried } from '../chain/head.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { Call, KeyedPlace, LandedStep, Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import { assertClear, assertFunded, tend } from './clear.ts'
import { broadcast, broadcastAgain, type FeeRefusal, follow } from './push.ts'
import { countedByAll, createQueue, type NonceQueue, type QueueOptions, type SendJob } from './queue.ts'
import { payableFees, signAgain, signAndRecord, signKeyed } from './sign.ts'
import { type SendState, stateOf } from './state.ts'

/** A transaction that was signed, and what is known of it. */
export type Sent = { readonly send: Send; readonly state: SendState }

/** One key on one chain. Every write of the service to a chain goes through one of these. */
export type Sender = {
  readonly chainId: number
  readonly address: Address
  /**
   * Signs, writes down, broadcasts, waits; what was sent for the step before is followed instead. `beyond`: the caller has seen that these
   * failed, and the far side takes the step only once.
   */
  send(job: SendJob, call: Call, beyond?: readonly Send[]): Promise<Sent>
  /** The same on Tempo, in a row of nonces that belongs to this step alone. */
  sendKeyed(job: SendJob, call: Call, place: KeyedPlace): Promise<Sent>
  /** What became of a transaction, whichever key signed it, without sending anything new. */
  look(send: Send): Promise<SendState>
  /** The same look; while it may land its bytes are handed to the nodes once more, and at other fees when they wait for long. */
  push(lease: Lease, send: Send): Promise<SendState>
  /** Signs another call under the nonce of what hangs: only one of the two lands. */
  replace(lease: Lease, send: Send, call: Call): Promise<SendState>
  /** Everything that was ever signed for an order, by any key: one look at the journal. */
  sendsOf(orderId: string): Promise<readonly Send[]>
  /** Is this send of this very key? */
  isOwn(send: Send): boolean
  /** This key, and every other that was ever ours in the same role on this chain. */
  keysInRole(role: string): Promise<readonly Address[]>
  /** How many transactions of this key the chain has counted, by both nodes where there are two. */
  counted(): Promise<number>
  /** The success of a step, to be written down with what it was for. */
  landed(send: Send, receipt: Receipt): LandedStep
  /** The success of a step was used; from now on it is watched. */
  land(send: Send, receipt: Receipt): Promise<void>
  /** Does it lie so deep that we may act as if it could not go away again? */
  isBuried(receipt: Receipt): Promise<boolean>
  /** The time of a block that lies so deep. */
  deepTime(): Promise<number>
  /** What a call with so much gas would be signed with now: a trial under these terms cannot be told from the transaction. */
  terms(gas: bigint): Promise<CallTerms>
  /** Refuses before money moves when the key cannot pay for gas. */
  assertFunded(gas: bigint): Promise<void>
  /** Refuses before money moves when earlier transactions of the key do not land. */
  assertClear(): Promise<void>
  /** Refuses when the key could not sign now. */
  assertReady(): Promise<void>
  /** Pushes what blocks the key, though no order may wait for it. */
  tend(lease: Lease): Promise<void>
  balance(): Promise<bigint>
}

export type SenderOptions = Omit<QueueOptions, 'waypoint'> & Partial<Pick<QueueOptions, 'waypoint'>>

export function createSender(options: SenderOptions): Sender {
  const queue = createQueue({ waypoint: noWaypoint, ...options })
  const { journal, chainId, signer, rpc, burial } = queue
  return {
    chainId,
    address: signer,
    send: (job, call, beyond = []) => send(queue, job, call, beyond.length),
    async sendKeyed(job, call, place) {
      const written = await signKeyed(queue, job, call, place)
      return { send: written, state: await follow(queue, job.lease, written, await handOver(queue, written)) }
    },
    look: (one) => stateOf(queue, one),
    push: (lease, one) => push(queue, lease, one),
    async replace(lease, one, call) {
      const replaced = await signAgain(queue, lease, { ...one, call })
      return follow(queue, lease, replaced, await broadcastAgain(queue, replaced))
    },
    sendsOf: journal.ofOrder,
    isOwn: (one) => one.chainId === chainId && one.signer === signer,
    keysInRole: async (role) => [...new Set([signer, ...(await journal.keysInRole(chainId, role))])],
    counted: () => countedByAll(queue),
    landed: landedStep,
    land: (one, receipt) => journal.land(one.orderId, landedStep(one, receipt)),
    isBuried: (receipt) => isReceiptBuried(rpc, burial, receipt),
    deepTime: () => deepTime(rpc, burial),
    async terms(gas) {
      if (!queue.paysGasInCoin) return { from: signer, gas }
      return { from: signer, gas, ...(await payableFees(queue, gas)) }
    },
    assertFunded: (gas) => assertFunded(queue, gas),
    assertClear: () => assertClear(queue),
    assertReady: () => queue.wallet.assertReady(),
    tend: (lease) => tend(queue, lease),
    balance: queue.gas.read,
  }
}

function landedStep({ chainId, signer, step }: Send, receipt: Receipt): LandedStep {
  const { transactionHash: hash, blockNumber, blockHash } = receipt
  return { chainId, signer, step, hash, blockNumber, blockHash }
}

/** A step whose nonce went elsewhere is signed again at once, and no more often at a time: nodes that lag make every nonce look lost. */
async function send(queue: NonceQueue, job: SendJob, call: Call, beyond: number): Promise<Sent> {
  const sent = await sendOnce(queue, job, call, beyond)
  if (sent.state.state !== 'superseded') return sent
  return sendOnce(queue, job, call, (await ownSends(queue, job)).length)
}

async function sendOnce(queue: NonceQueue, job: SendJob, call: Call, seen: number): Promise<Sent> {
  const { inTurn } = queue
  const sent = await inTurn(async () => {
    const recorded = await signAndRecord(queue, job, call, seen)
    return recorded && { recorded, refusal: await handOver(queue, recorded) }
  })
  if (sent) {
    const { recorded: send, refusal } = sent
    return { send, state: await follow(queue, job.lease, send, refusal) }
  }
  // It was signed before, here or by a process that died. The first that succeeded counts, and otherwise the newest.
  const own = await ownSends(queue, job)
  for (const send of own.slice(0, -1)) {
    const state = await stateOf(queue, send)
    if (state.state === 'mined' && state.receipt.succeeded) return { send, state }
  }
  const newest = own.at(-1)!
  return { send: newest, state: await push(queue, job.lease, newest) }
}

async function ownSends(
  { journal, chainId, signer }: NonceQueue,
  { orderId, step }: SendJob,
): Promise<readonly Send[]> {
  const all = await journal.ofOrder(orderId)
  return all.filter((one) => one.step === step && one.chainId === chainId && one.signer === signer)
}

async function handOver(queue: NonceQueue, written: Send): Promise<FeeRefusal> {
  await queue.waypoint('send.journaled')
  const refusal = await broadcast(queue, written)
  await queue.waypoint('send.broadcast')
  return refusal
}

async function push(queue: NonceQueue, lease: Lease, one: Send): Promise<SendState> {
  const before = await stateOf(queue, one)
  if (before.state !== 'pending') return before
  return follow(queue, lease, one, await broadcastAgain(queue, one))
}
