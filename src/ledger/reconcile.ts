import type { Hash } from '../base/address.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { blockRanges } from '../chain/transfers.ts'
import { type Lease, LeaseLost } from '../domain/lease.ts'
import type { MissingSend } from '../domain/send-watch.ts'
import { type ArrivalState, isAlike, type Till } from '../domain/till.ts'
import { readHistory } from '../store/history.ts'
import { askedSince } from '../store/shop-terms.ts'
import { listArrivals, sumOfArrivals } from '../store/tills/arrivals.ts'
import { findMissing, listMissing, type MissingSettlement, writeOff } from '../store/tills/missing-settlements.ts'
import { openTill, recordReport, recordScan, recordTransfers, type TillMark } from '../store/tills/scan.ts'
import { withLease } from './exclusive-lease.ts'
import { matchMissing, matchTill } from './match.ts'
import { workOrphans } from './orphans.ts'
import type { ReconcileContext } from './reconcile-context.ts'
import { scanSteps } from './scan-steps.ts'

/** What one scan of a till found. */
export type TillReport = {
  readonly till: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly currency: string
  readonly blocks: { readonly from: bigint; readonly to: bigint }
  /** Transfers in these blocks. */
  readonly arrived: { readonly count: number; readonly amount: bigint }
  /** What the chain shows and the store does not, less what the store has and the chain does not show. Each item is named. */
  readonly difference: bigint
  readonly items: readonly ReportItem[]
}

type ReportItem = {
  readonly kind: ArrivalState | 'missing' | 'lost' | MissingSend['kind']
  /** The arrival, or the order, that it is about. */
  readonly id: string
  readonly orderId: string | null
  readonly transaction: Hash
  readonly amount: bigint
  readonly detail: string
}

const ITEMS_MAX = 1_000
/** States of arrivals that no order, operator or rule has accounted for yet. */
const OPEN_STATES: readonly ArrivalState[] = ['unclaimed', 'orphaned', 'held', 'refunding']
/** Progress is stored after so many blocks, so that a long search continues where it was interrupted. */
const BLOCKS_PER_STEP = 10_000n
/** Orders of this long before the last scan are checked again. */
const OVERLAP_SECONDS = 600

/** Compares every till with the store, and mends each difference as far as possible. Safe to run at any time, on any replica, twice. */
export async function reconcile(context: ReconcileContext): Promise<readonly TillReport[]> {
  const reports: TillReport[] = []
  for (const till of context.tills)
    reports.push(await withLease(context, (lease) => reconcileTill(context, till, lease)))
  return reports
}

export async function reconcileTill(context: ReconcileContext, till: Till, lease: Lease): Promise<TillReport> {
  await assertStoreKnown(context)
  const scan = await scanTill(context, till)
  // What came before a restore is held at once, and operators are told.
  const orphanAfterSeconds = scan.mark.isRestored ? 0 : context.policy.orphanAfterSeconds
  await workOrphans({ ...context, policy: { ...context.policy, orphanAfterSeconds } }, till)
  await workMissing(context, till, scan, lease)
  return report(context, till, scan, await till.watchSends(lease))
}

/** Another store may lack purchases, and what has bought there must not go back. */
export async function assertStoreKnown({ db }: ReconcileContext): Promise<void> {
  if ((await readHistory(db)).isKnown) return
  throw new Problem(
    'store_unavailable',
    'The store of this shop has failed over or was restored; its operator has to say so before its books are kept again.',
    { taken: 'unknown' },
  )
}

type TillScan = {
  /** The position of the till before this scan. */
  readonly mark: TillMark
  /** What came before this moment, in milliseconds, was read; null: a node could not be read as far as the final block. */
  readonly readUntil: number | null
  readonly blocks: { readonly from: bigint; readonly to: bigint }
  readonly arrived: { readonly count: number; readonly amount: bigint }
}

/** Reads the till's transfers in the final blocks since the last time, and finds their orders. */
async function scanTill(context: ReconcileContext, till: Till): Promise<TillScan> {
  const { db, random } = context
  const mark = await openTill(db, till.id, () => beginning(context, till))
  const begunAt = context.clock.now()
  const final = await till.finalBlock()
  let to = mark.fromBlock - 1n
  let count = 0
  let amount = 0n
  for (const [first, last] of blockRanges(mark.fromBlock, final.number, BLOCKS_PER_STEP)) {
    const { transfers, toBlock } = await till.transfers(first, last)
    for (const step of toBlock < first ? [] : scanSteps({ fromBlock: first, toBlock, transfers }))
      await recordScan(db, till.id, step, random)
    count += transfers.length
    for (const transfer of transfers) amount += transfer.amount
    to = toBlock
    if (to < last) break
  }
  await matchTill(context, till)
  const isReadToEnd = to >= final.number
  return {
    mark,
    readUntil: isReadToEnd ? begunAt - final.behindMs : null,
    blocks: { from: mark.fromBlock, to },
    arrived: { count, amount },
  }
}

/** The block after which the first scan begins: a payer may have paid before the shop could read the chain, but not before it first asked to be paid there. */
async function beginning({ db }: ReconcileContext, till: Till): Promise<bigint> {
  if (till.sinceBlock !== null) return till.sinceBlock - 1n
  const { network, asset } = till.rail
  const asked = await askedSince(db, { network, asset, payTo: till.payTo })
  const newest = await till.newestBlock()
  if (asked === null) return newest
  const { at, agoMs } = asked
  // The clock of the store may be ahead of the chain's: the earlier of both is taken.
  const since = Math.min(at, (await till.timeOf({ blockNumber: newest })) - agoMs)
  // Block times are whole seconds: a block of this very second may be later.
  return till.blockBefore(since - 1_000)
}

/** What counts as paid although the final blocks do not show it: its stored bytes are sent again; when that does not help, operators are told. */
async function workMissing(
  context: ReconcileContext,
  till: Till,
  { mark, readUntil, blocks: { to } }: TillScan,
  lease: Lease,
): Promise<void> {
  const { db, clock, log } = context
  const { payTo } = till
  const { network, asset } = till.rail
  if (!mark.isNew && readUntil !== null) {
    const seconds = (clock.now() - readUntil) / 1000 + mark.silentSeconds + OVERLAP_SECONDS
    await findMissing(db, { till: till.id, network, asset, payTo, seconds, before: readUntil })
  }
  await matchMissing(context, till)
  // One that fails must not keep the others, nor the deliveries and refunds of the till, from being checked.
  for (const missing of await listMissing(db, till.id, ITEMS_MAX))
    await workOne(context, till, missing, { to, lease }).catch((error) => {
      if (error instanceof LeaseLost) throw error
      log.warn('a missing payment could not be checked', { orderId: missing.orderId, error })
    })
}

async function workOne(
  { db, random, log }: ReconcileContext,
  till: Till,
  missing: MissingSettlement,
  { to, lease }: { readonly to: bigint; readonly lease: Lease },
): Promise<void> {
  const { orderId, transaction, state, since } = missing
  const transfers = await till.transfersOf(transaction)
  // Its block is final, and the node could not search it when it was read.
  await recordTransfers(
    db,
    till.id,
    { transfers: transfers.filter((one) => one.blockNumber <= to), isFinal: true },
    random,
  )
  if (state === 'lost' || transfers.some((one) => isAlike(one, missing))) return
  const outcome = await till.landAgain(orderId, lease).catch((error) => {
    log.warn('a dropped payment could not be sent again', { orderId, error })
    return isProblem(error) ? 'pending' : Promise.reject(error)
  })
  if (outcome !== 'impossible' || !(await till.isGone(missing, since))) return
  if (await writeOff(db, orderId, 'The chain dropped the payment, and it can never land again.'))
    log.error('a payment is lost: the chain dropped it for good', { orderId, paymentTx: transaction })
}

async function report(
  context: ReconcileContext,
  till: Till,
  { blocks, arrived }: TillScan,
  missingSends: readonly MissingSend[],
): Promise<TillReport> {
  const { payTo } = till
  const { network, asset, currency } = till.rail
  const arrivals = await listArrivals(context.db, till.id, { states: OPEN_STATES, after: '', limit: ITEMS_MAX })
  const missing = await listMissing(context.db, till.id, ITEMS_MAX)
  const items: ReportItem[] = [
    ...arrivals.map(({ id, state, orderId, transaction, amount, reason }) => ({
      kind: state,
      id,
      orderId,
      transaction,
      amount,
      detail: reason ?? 'Just arrived; its payer may be about to present it.',
    })),
    ...missing.map(({ orderId, transaction, amount, state, detail }) => ({
      kind: state === 'lost' ? ('lost' as const) : ('missing' as const),
      id: orderId,
      orderId,
      transaction,
      amount,
      detail,
    })),
    // They left from other addresses, and make no difference to the till.
    ...missingSends.map((missed) => ({ ...missed, id: missed.orderId })),
  ]
  const unbooked = await sumOfArrivals(context.db, till.id, OPEN_STATES)
  const difference = unbooked - missing.reduce((total, { amount }) => total + amount, 0n)
  await recordReport(context.db, till.id, { difference, block: blocks.to })
  return { till: till.id, network, asset, payTo, currency, blocks, arrived, difference, items }
}
