import type { Address, Hash } from '../base/address.ts'
import { type Alarm, createAlarm } from '../base/alarm.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainMeter } from '../chain/chain-meter.ts'
import type { Burial } from '../chain/head.ts'
import type { Receipt } from '../chain/receipt.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Journal, Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import { createGasBalance, type FeeSource, type GasBalance } from './fees.ts'
import type { Wallet } from './wallet.ts'

/** What a transaction is for, and the right to sign it. */
export type SendJob = { readonly lease: Lease; readonly orderId: string; readonly step: string }

export type QueueOptions = {
  readonly rpc: Rpc
  readonly wallet: Wallet
  readonly journal: Journal
  readonly fees: FeeSource
  readonly clock: Clock
  readonly log: Log
  readonly waypoint: Waypoint
  /** How long a send waits for its receipt before it says `pending`. */
  readonly waitMs: number
  /** After this long without a receipt, the same nonce is signed again at other fees. */
  readonly stuckAfterMs: number
  /** How deep something must lie before it counts as final. */
  readonly burial: Burial
  /** False where gas is paid in a token: then the balance of the coin says nothing. */
  readonly paysGasInCoin: boolean
  readonly meter?: ChainMeter | undefined
}

/** The transactions of one key on one chain, by nonce. None can overtake another: what blocks the first one blocks them all. */
export type NonceQueue = QueueOptions & {
  readonly chainId: number
  readonly signer: Address
  readonly gas: GasBalance
  readonly row: Row
  /** Nonce, signature, journal and broadcast go one at a time, so that a later nonce never overtakes an earlier one. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>
  /** Tells people, and again only after a while: the same trouble is met by every order behind it. */
  readonly alarm: Alarm
}

/** What this process knows of the queue; another process may know more. */
type Row = {
  /** Next nonce to use; null: ask. */
  next: number | null
  /** All nonces below have landed. */
  landedBelow: number
  /** When it last moved: something landed, or something came into an empty queue. Null: it was not looked at yet. */
  movedAt: number | null
  /** When the front was last pushed. */
  pushedAt: number
  /** The last look at what has landed, for all who ask while it is young. */
  look: { readonly at: number; readonly done: Promise<void> } | null
  /** Transactions that were counted as mined, so that each look at them does not count them again. */
  readonly counted: Set<Hash>
}

export function createQueue(options: QueueOptions): NonceQueue {
  const { rpc, wallet, clock, log } = options
  const { chainId } = rpc
  const signer = wallet.address
  let last: Promise<unknown> = Promise.resolve()
  return {
    ...options,
    chainId,
    signer,
    gas: createGasBalance({ rpc, signer, clock, isPaid: options.paysGasInCoin }),
    row: { next: null, landedBelow: 0, movedAt: null, pushedAt: 0, look: null, counted: new Set() },
    inTurn(work) {
      const result = last.then(work)
      last = result.catch(() => {})
      return result
    },
    alarm: createAlarm(log.with({ chainId, signer }), clock),
  }
}

/** Something of ours, or as the chain counts, has landed: all before it has as well. */
export function noteLanded({ row, clock }: NonceQueue, below: number): void {
  if (below <= row.landedBelow) return
  row.landedBelow = below
  row.movedAt = clock.now()
}

const COUNTED_MAX = 10_000

/** Found in a block: counted once in this process, however often it is looked at. What it has cost for nothing is written down. */
export async function noteMined(
  { row, meter, journal, chainId }: NonceQueue,
  send: Send,
  receipt: Receipt,
): Promise<void> {
  const { transactionHash, succeeded, gasUsed } = receipt
  if (row.counted.has(transactionHash)) return
  if (!succeeded) await journal.fail(send, gasUsed)
  if (row.counted.size >= COUNTED_MAX) row.counted.clear()
  row.counted.add(transactionHash)
  meter?.mined(chainId, send.step, receipt)
}

/** A nonce was taken. A queue that was empty begins to wait now. */
export function noteTaken({ row, clock }: NonceQueue, nonce: number): void {
  if (row.movedAt === null || nonce <= row.landedBelow) row.movedAt = clock.now()
  row.next = nonce + 1
}

/** What waits in the node's pool does not count: ours is in the journal, and a stranger's may be forgotten and leave a gap. */
export async function countedNonce({ rpc, signer }: Pick<NonceQueue, 'rpc' | 'signer'>): Promise<number> {
  return Number(await rpc.request<string>('eth_getTransactionCount', [signer, 'latest']))
}

/** The least that a node counts: more than are known close the shop until a person has looked. */
export async function countedByAll({ rpc, signer }: Pick<NonceQueue, 'rpc' | 'signer'>): Promise<number> {
  const answers = await rpc.everyone<string>('eth_getTransactionCount', [signer, 'latest'])
  const counts = answers.flatMap((count) => (count == null ? [] : [Number(count)]))
  return counts.length > 0 ? Math.min(...counts) : countedNonce({ rpc, signer })
}

/** The first nonce that the chain has not counted and that is not written down. */
export async function nextNonce(queue: NonceQueue): Promise<number> {
  const { journal, chainId, signer } = queue
  const counted = await countedNonce(queue)
  const known = new Set(await journal.taken(chainId, signer, counted))
  noteLanded(queue, counted)
  let nonce = counted
  while (known.has(nonce)) nonce++
  return nonce
}

export const FOREIGN =
  'a hot key has sent what its journal does not know: the key is used elsewhere, or the store is an older copy of itself'
