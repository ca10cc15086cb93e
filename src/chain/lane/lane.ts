import type { Address, Hash } from '../../base/address.ts'
import { type Alarm, createAlarm } from '../../base/alarm.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Waypoint } from '../../base/waypoint.ts'
import type { Journal } from '../../domain/journal.ts'
import type { Lease } from '../../domain/lease.ts'
import type { Burial } from '../burial.ts'
import type { ChainMeter } from '../chain-meter.ts'
import type { FeeSource } from '../fees.ts'
import type { Receipt } from '../receipt.ts'
import type { Rpc } from '../rpc.ts'
import type { Wallet } from '../wallet.ts'
import { createTank, type Tank } from './tank.ts'

/** What a transaction is for, and the right to sign it. */
export type Errand = { readonly lease: Lease; readonly orderId: string; readonly step: string }

export type LaneOptions = {
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

/**
 * One key on one chain. Its transactions stand in a row, by nonce, and none can overtake another: whatever blocks the first one blocks
 * them all. The modules beside this one are the steps of a transaction's life; all of them work on a lane.
 */
export type Lane = LaneOptions & {
  readonly chainId: number
  readonly signer: Address
  readonly tank: Tank
  readonly row: Row
  /** Nonce, signature, journal and broadcast go one at a time, so that a later nonce never overtakes an earlier one. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>
  /** Tells people, and again only after a while: the same trouble is met by every order behind it. */
  readonly alarm: Alarm
}

/** What this process knows of the row; another process may know more. */
type Row = {
  /** Next nonce to use; null: ask. */
  next: number | null
  /** All nonces below have landed. */
  landedBelow: number
  /** When it last moved: something landed, or something came into an empty row. Null: nobody has looked at it yet, and something of another process may be on its way. */
  movedAt: number | null
  /** When somebody last looked after what stands in front. */
  tendedAt: number
  /** The last look at what has landed, for whoever comes while it is young. */
  look: { readonly at: number; readonly done: Promise<void> } | null
  /** Transactions that were counted as mined, so that each look at them does not count them again. */
  readonly counted: Set<Hash>
}

export function createLane(options: LaneOptions): Lane {
  const { rpc, wallet, clock, log } = options
  const { chainId } = rpc
  const signer = wallet.address
  let queue: Promise<unknown> = Promise.resolve()
  return {
    ...options,
    chainId,
    signer,
    tank: createTank({ rpc, signer, clock, isFilled: options.paysGasInCoin }),
    row: newRow(new Set()),
    inTurn(work) {
      const result = queue.then(work)
      queue = result.catch(() => {})
      return result
    },
    alarm: createAlarm(log.with({ chainId, signer }), clock),
  }
}

function newRow(counted: Set<Hash>): Row {
  return { next: null, landedBelow: 0, movedAt: null, tendedAt: 0, look: null, counted }
}

/** The row of another key of ours on this chain, as far as it can be worked on without that key: looked at, and its bytes sent again. */
export function laneOfKey(lane: Lane, signer: Address): Lane {
  const { rpc, clock, log, chainId, row, paysGasInCoin } = lane
  return {
    ...lane,
    signer,
    tank: createTank({ rpc, signer, clock, isFilled: paysGasInCoin }),
    row: newRow(row.counted),
    alarm: createAlarm(log.with({ chainId, signer }), clock),
  }
}

/** Something of ours, or as the chain counts, has landed: all before it has as well. */
export function noteLanded({ row, clock }: Lane, below: number): void {
  if (below <= row.landedBelow) return
  row.landedBelow = below
  row.movedAt = clock.now()
}

const COUNTED_MAX = 10_000

/** Found in a block: counted once in this process, whoever looks and however often. */
export function noteMined({ row, meter, chainId }: Lane, step: string, receipt: Receipt): void {
  const { transactionHash } = receipt
  if (row.counted.has(transactionHash)) return
  if (row.counted.size >= COUNTED_MAX) row.counted.clear()
  row.counted.add(transactionHash)
  meter?.mined(chainId, step, receipt)
}

/** A nonce was taken. A row that was empty begins to wait now. */
export function noteTaken({ row, clock }: Lane, nonce: number): void {
  if (row.movedAt === null || nonce <= row.landedBelow) row.movedAt = clock.now()
  row.next = nonce + 1
}
