import type { Hash } from '../base/address.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { RpcError } from '../chain/rpc.ts'
import { blockRanges } from '../chain/transfers.ts'
import { type Lease, LeaseLost } from '../domain/lease.ts'
import type { MissingSend } from '../domain/send-watch.ts'
import type { ArrivalState, Till } from '../domain/till.ts'
import { askedSince } from '../store/shop-terms.ts'
import { listArrivals, sumOfArrivals } from '../store/tills/arrivals.ts'
import { findMissing, listMissing, type MissingSettlement, writeOff } from '../store/tills/missing-settlements.ts'
import { openTill, recordArrivals, recordReport, recordScan, type TillMark } from '../store/tills/scan.ts'
import { addDoubtedTill } from '../store/tills/till-trust.ts'
import { withLease } from './exclusive-lease.ts'
import { matchMissing, matchTill } from './match.ts'
import { workOrphans } from './orphans.ts'
import { quarantine } from './quarantine.ts'
import type { ReconcileContext } from './reconcile-context.ts'
import { type ScanStep, scanSteps } from './scan-steps.ts'
import { isInDoubt } from './store-memory.ts'

/** What one look at a till found. */
export type TillReport = {
  readonly till: string
  readonly network: string
  readonly asset: string
  readonly payTo: string
  readonly currency: string
  readonly blocks: { readonly from: bigint; readonly to: bigint }
  /** Transfers in these blocks. */
  readonly arrived: { readonly count: number; readonly amount: bigint }
  /** What the chain shows and the books do not, less what the books have and the chain does not show. Each item is named. */
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
/** What the chain shows and no order, person or rule has accounted for yet. */
const OPEN_STATES: readonly ArrivalState[] = ['unclaimed', 'orphaned', 'held', 'refunding']
/** Written down after so many blocks, so that a long search continues where it was interrupted. */
const BLOCKS_PER_STEP = 10_000n
/** Orders of this long before the last look are looked at again. */
const OVERLAP_SECONDS = 600

/** Compares every till with the books, and does what can be done about each difference. Safe to run at any time, anywhere, twice. */
export async function reconcile(context: ReconcileContext): Promise<readonly TillReport[]> {
  const reports: TillReport[] = []
  for (const till of context.tills)
    reports.push(await withLease(context, (lease) => reconcileTill(context, till, lease)))
  return reports
}

export async function reconcileTill(context: ReconcileContext, till: Till, lease: Lease): Promise<TillReport> {
  const begunAt = context.clock.now()
  await assertLearned(context)
  const scan = await scanTill(context, till)
  // Whoever starts sets it aside before they sell; this is for a store that was put back under a shop that sells.
  if (scan.mark.isDoubted) await quarantine(context, till, scan)
  await workOrphans(context, till)
  await workMissing(context, till, { mark: scan.mark, begunAt, lease })
  return report(context, till, scan, await till.watchSends(lease))
}

/**
 * A store that was put back has forgotten purchases, and whoever starts finds that out before anybody keeps its books: else what has bought would go back, and
 * whoever looks at a till ends the silence that tells of it.
 */
export async function assertLearned({ db, memory }: ReconcileContext): Promise<void> {
  if (await isInDoubt(db, memory))
    throw new Problem(
      'chain_unavailable',
      'Which payments were spent is not known yet; the books are kept as soon as every chain has been read.',
      { taken: 'unknown' },
    )
}

type TillScan = {
  /** Where the reading stood before. */
  readonly mark: TillMark
  readonly blocks: { readonly from: bigint; readonly to: bigint }
  /** Nobody has blocks that were not read. */
  readonly isReadToHead: boolean
  readonly arrived: { readonly count: number; readonly amount: bigint }
}

/** Reads the till's transfers since the last time, and finds their orders. */
export async function scanTill(context: ReconcileContext, till: Till): Promise<TillScan> {
  const { db, policy, random, log } = context
  const { rescanBlocks: again, lookBackBlocks: seldom } = policy
  const { lower, higher } = await till.newestBlocks()
  // A height that one of two nodes makes up must not be where the next look begins: what is beyond the other's is read again by then.
  const head = higher - lower > again ? lower + again : higher
  const mark = await openTill(db, till.id, { after: () => beginning(context, till), again, seldom })
  // After longer than the chain takes to change its mind, what nobody shows any more is neither dropped nor passed over: it waits for a node that has it.
  const recent = head - 2n * again
  const read: Till['transfers'] = (from, to) => (from < recent ? till.earlierTransfers : till.transfers)(from, to)
  const { to, ...arrived } = await readBlocks(read, mark.fromBlock, head, async (step) => {
    const dropped = await recordScan(db, till.id, { ...step, mayMoveFrom: mark.fromBlock }, random)
    if (dropped.length > 0) log.error('the chain dropped payments', { till: till.id, orderIds: dropped })
  })
  await lookBack(context, till, mark)
  await matchTill(context, till)
  return { mark, blocks: { from: mark.fromBlock, to }, isReadToHead: to === higher, arrived }
}

/** As far as anybody can read: what lies beyond is neither dropped nor read. */
async function readBlocks(
  read: Till['transfers'],
  from: bigint,
  head: bigint,
  write: (step: ScanStep) => Promise<void>,
): Promise<TillScan['arrived'] & { readonly to: bigint }> {
  let to = head
  let count = 0
  let amount = 0n
  for (const [first, last] of blockRanges(from, head, BLOCKS_PER_STEP)) {
    const { transfers, toBlock } = await read(first, last)
    for (const step of toBlock < first ? [] : scanSteps({ fromBlock: first, toBlock, transfers })) await write(step)
    count += transfers.length
    for (const transfer of transfers) amount += transfer.amount
    to = toBlock
    if (to < last) break
  }
  return { to, count, amount }
}

/**
 * A node may name its newest block and search as of minutes ago: what it did not show then would never be asked for again, and money without an order
 * has no other name. Nothing depends on it: nodes that have thrown these blocks away refuse, or say that nothing is in them. So what is found is added,
 * and nothing is dropped: the chain does not change its mind so far back, and no later look would find it again.
 */
async function lookBack(
  { db, random, log }: ReconcileContext,
  till: Till,
  { backToBlock, fromBlock }: TillMark,
): Promise<void> {
  if (backToBlock >= fromBlock) return
  try {
    await readBlocks(till.transfers, backToBlock, fromBlock - 1n, ({ transfers }) =>
      recordArrivals(db, till.id, { transfers, mayMoveFrom: backToBlock }, random),
    )
  } catch (error) {
    if (!isProblem(error) && !(error instanceof RpcError)) throw error
    log.warn('earlier blocks could not be read once more', { till: till.id, error })
  }
}

/** Whoever was asked to pay before anybody could read the chain has paid us all the same. What came before that did not come for this shop. */
async function beginning({ db, policy }: ReconcileContext, till: Till): Promise<bigint> {
  if (till.sinceBlock !== null) return till.sinceBlock - 1n
  const { network, asset } = till.rail
  const asked = await askedSince(db, { network, asset, payTo: till.payTo })
  const { lower: newest } = await till.newestBlocks()
  if (asked === null) return newest
  const { at, agoMs } = asked
  // The clock of the store may be ahead of the chain's: so long ago it was by either.
  const since = Math.min(at, (await till.timeOf({ blockNumber: newest })) - agoMs)
  // Blocks bear whole seconds: one of this very second may be later.
  const after = await till.blockBefore(since - 1_000)
  // Its books were not kept for long, as those of any other till: what came is found, and a person decides about it.
  if (agoMs > policy.silenceSecondsMax * 1_000) await addDoubtedTill(db, till.id, { after, until: at })
  return after
}

/** Orders that count as paid although the chain does not show it. Their own bytes are sent again; when nothing helps, people are told. */
async function workMissing(
  context: ReconcileContext,
  till: Till,
  { mark, begunAt, lease }: { readonly mark: TillMark; readonly begunAt: number; readonly lease: Lease },
): Promise<void> {
  const { db, log } = context
  const { payTo } = till
  const { network, asset } = till.rail
  const seconds = mark.silentSeconds + OVERLAP_SECONDS
  if (!mark.isNew) await findMissing(db, { till: till.id, network, asset, payTo, seconds, before: begunAt })
  await matchMissing(context, till)
  let isAwaited = false
  for (const missing of await listMissing(db, till.id, ITEMS_MAX)) {
    // One of them must not keep the others, nor what was delivered and sent back, from being looked at.
    const isOpen = await workOne(context, till, missing, lease).catch((error) => {
      if (error instanceof LeaseLost) throw error
      log.warn('a missing payment could not be looked at', { orderId: missing.orderId, error })
      return false
    })
    if (isOpen) isAwaited = true
  }
  // What was sent again or found just now may have its order already.
  if (isAwaited) await scanTill(context, till)
}

/** False: there is nothing to wait for. What counts as lost is looked for all the same: whoever said so may have been behind, and its payer may bring it back. */
async function workOne(
  { db, random, log }: ReconcileContext,
  till: Till,
  { orderId, transaction, state, since }: MissingSettlement,
  lease: Lease,
): Promise<boolean> {
  if (await till.shows(transaction)) {
    // Its block was read from a node that was behind, and is not read again.
    const transfers = await till.transfersOf(transaction)
    await recordArrivals(db, till.id, { transfers, mayMoveFrom: 0n }, random)
    return true
  }
  if (state === 'lost') return false
  const outcome = await till.landAgain(orderId, lease).catch((error) => {
    log.warn('a dropped payment could not be sent again', { orderId, error })
    return isProblem(error) ? 'pending' : Promise.reject(error)
  })
  if (outcome !== 'impossible' || !(await till.isGone(transaction, since))) return true
  if (await writeOff(db, orderId, 'The chain dropped the payment, and it can never land again.'))
    log.error('a payment is lost: the chain dropped it for good', { orderId, paymentTx: transaction })
  return false
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
    // They were paid from elsewhere, and make no difference to the till.
    ...missingSends.map((missed) => ({ ...missed, id: missed.orderId })),
  ]
  const unbooked = await sumOfArrivals(context.db, till.id, OPEN_STATES)
  const difference = unbooked - missing.reduce((total, { amount }) => total + amount, 0n)
  await recordReport(context.db, till.id, { difference, block: blocks.to })
  return { till: till.id, network, asset, payTo, currency, blocks, arrived, difference, items }
}
