import type { Address } from '../base/address.ts'
import { noWaypoint } from '../base/waypoint.ts'
import type { Call, KeyedPlace, LandedStep, Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import { deepTime, isReceiptBuried } from './burial.ts'
import type { CallTerms } from './contract.ts'
import { broadcast, broadcastAgain } from './lane/broadcast.ts'
import { cancel, signAway } from './lane/cancel.ts'
import { assertClear, assertFunded, tend } from './lane/clear.ts'
import { follow } from './lane/follow.ts'
import { tendFront } from './lane/front.ts'
import { pushKeyed, sendKeyed } from './lane/keyed.ts'
import { createLane, type Errand, type Lane, type LaneOptions, laneOfKey } from './lane/lane.ts'
import { countedBeyond } from './lane/nonce.ts'
import { payableFees, signAndRecord } from './lane/sign.ts'
import { type SendState, stateOf } from './lane/state.ts'
import type { Receipt } from './receipt.ts'

/** One key on one chain. Every write of the service to a chain goes through one of these. */
export type Sender = {
  readonly chainId: number
  readonly address: Address
  /** Signs, writes down, broadcasts, waits. At most one transaction per order and step, however often it is called. */
  send(errand: Errand, call: Call): Promise<SendState>
  /** The same on Tempo, in a row of nonces that belongs to this step alone. */
  sendKeyed(errand: Errand, call: Call, place: KeyedPlace): ReturnType<typeof sendKeyed>
  pushKeyed(lease: Lease, send: Send): Promise<SendState>
  /** Sends the bytes of a step once more, if they are still missing, and waits. */
  resume(errand: Errand): Promise<SendState>
  /** What became of a transaction, whichever key signed it, without sending anything new. */
  look(send: Send): Promise<SendState>
  /** The same look; and if it may still land its bytes are handed to the nodes once more, because nobody may run with its key any longer. */
  remind(send: Send): Promise<SendState>
  /** Sees to it that a step can never land any more, by using up its nonce. `mined` when it landed after all. */
  cancel(errand: Errand): Promise<SendState>
  /** The first half of that: signed and written down, so that nobody helps the step to land any more, and not sent yet. */
  signAway(errand: Errand): Promise<void>
  /** Everything that was ever signed for an order, by any key: one look at the journal. */
  sendsOf(orderId: string): Promise<readonly Send[]>
  /** Is this send of this very key? */
  isOwn(send: Send): boolean
  /** This key, and every other that was ever ours in the same role on this chain. */
  keysInRole(role: string): Promise<readonly Address[]>
  /** How many transactions of a key of ours the chain has counted. More than are known only when two looks agree. */
  counted(key: Address, known: number | null): Promise<number>
  /** The success of a step, for whoever writes it down with what it was for. */
  landed(step: string, receipt: Receipt): LandedStep
  /** The success of a step was used; from now on it is watched. */
  land(step: Pick<Send, 'orderId' | 'step'> & Partial<Pick<Send, 'signer'>>, receipt: Receipt): Promise<void>
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
  /** Refuses when whoever holds the key could not sign now. */
  assertReady(): Promise<void>
  /** Looks after what blocks the key, though no order may wait for it. */
  tend(lease: Lease): Promise<void>
  balance(): Promise<bigint>
}

export type SenderOptions = Omit<LaneOptions, 'waypoint'> & Partial<Pick<LaneOptions, 'waypoint'>>

export function createSender(options: SenderOptions): Sender {
  const lane = createLane({ waypoint: noWaypoint, ...options })
  const { journal, chainId, signer, rpc, burial, tank } = lane
  // Kept, so that each look at the same trouble does not tell people again.
  const lanes = new Map([[signer, lane]])
  const laneOf = (key: Address): Lane => {
    const known = lanes.get(key) ?? laneOfKey(lane, key)
    lanes.set(key, known)
    return known
  }
  return {
    chainId,
    address: signer,
    send: (errand, call) => send(lane, errand, call),
    sendKeyed: (errand, call, place) => sendKeyed(lane, errand, call, place),
    pushKeyed: (lease, one) => pushKeyed(lane, lease, one),
    resume: (errand) => resume(lane, errand),
    look: (one) => stateOf(laneOf(one.signer), one),
    async remind(one) {
      const state = await stateOf(laneOf(one.signer), one)
      if (state.state === 'pending') await broadcastAgain(laneOf(one.signer), one)
      return state
    },
    cancel: (errand) => cancel(lane, errand),
    async signAway(errand) {
      await signAway(lane, errand)
    },
    sendsOf: journal.ofOrder,
    isOwn: (one) => one.chainId === chainId && one.signer === signer,
    keysInRole: async (role) => [...new Set([signer, ...(await journal.keysInRole(chainId, role))])],
    counted: (key, known) => countedBeyond(laneOf(key), known),
    landed: (step, { transactionHash: hash, blockNumber, blockHash }) => ({
      chainId,
      signer,
      step,
      hash,
      blockNumber,
      blockHash,
    }),
    land: ({ orderId, step, signer: by = signer }, { transactionHash: hash, blockNumber, blockHash }) =>
      journal.land({ chainId, signer: by, orderId, step }, { hash, blockNumber, blockHash }),
    isBuried: (receipt) => isReceiptBuried(rpc, burial, receipt),
    deepTime: () => deepTime(rpc, burial),
    async terms(gas) {
      if (!lane.paysGasInCoin) return { from: signer, gas }
      return { from: signer, gas, ...(await payableFees(lane, gas)) }
    },
    assertFunded: (gas) => assertFunded(lane, gas),
    assertClear: () => assertClear(lane),
    assertReady: () => lane.wallet.assertReady(),
    tend: (lease) => tend(lane, lease),
    balance: tank.read,
  }
}

async function send(lane: Lane, errand: Errand, call: Call): Promise<SendState> {
  const { inTurn, waypoint } = lane
  const { recorded, refusal } = await inTurn(async () => {
    const recorded = await signAndRecord(lane, errand, call)
    await waypoint('send.journaled')
    const refusal = await broadcast(lane, recorded)
    await waypoint('send.broadcast')
    return { recorded, refusal }
  })
  return follow(lane, errand, recorded, refusal)
}

async function resume(lane: Lane, errand: Errand): Promise<SendState> {
  const { journal, chainId, signer } = lane
  const { lease, orderId, step } = errand
  const found = await journal.find(chainId, signer, orderId, step)
  if (!found) throw new TypeError(`${step} of ${orderId} was never sent`)
  const before = await stateOf(lane, found)
  if (before.state !== 'pending') return before
  await tendFront(lane, lease, found.nonce)
  return follow(lane, errand, found, await broadcastAgain(lane, found))
}
