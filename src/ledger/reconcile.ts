import type { Hash } from '../base/address.ts'
import { Problem } from '../base/problem.ts'
import { blockRanges } from '../chain/transfers.ts'
import type { TransferState } from '../domain/booked-transfer.ts'
import type { MissingSend } from '../domain/journal.ts'
import { type Lease, LeaseLost } from '../domain/lease.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import { readHistory } from '../store/history.ts'
import { askedSince } from '../store/shop-terms.ts'
import {
  type AccountMark,
  addTransfers,
  openAccount,
  recordReading,
  recordReport,
} from '../store/transfers/accounts.ts'
import { findMissing, type MissingPayment } from '../store/transfers/missing.ts'
import { openTransfers, sumOfOpen } from '../store/transfers/transfers.ts'
import { withLease } from './exclusive-lease.ts'
import { matchAccount, matchMissing } from './match.ts'
import type { ReconcileContext } from './reconcile-context.ts'
import { returnUnmatched } from './returns.ts'
import { scanSteps } from './scan-steps.ts'

/** What one look at a receiving account found. */
export type AccountReport = {
  readonly account: string
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
  readonly kind: TransferState | 'missing' | MissingSend['kind']
  /** The transfer, or the order, that it is about. */
  readonly id: string
  readonly orderId: string | null
  readonly transaction: Hash
  readonly amount: bigint
  readonly detail: string
}

const ITEMS_MAX = 1_000
/** Progress is stored after so many blocks, so that a long search continues where it was interrupted. */
const BLOCKS_PER_STEP = 10_000n
/** Orders of this long before the last look are compared again. */
const OVERLAP_MS = 600_000

/** Compares every receiving account with the store, and mends each difference as far as possible. Safe to run at any time, on any replica, twice. */
export async function reconcile(context: ReconcileContext): Promise<readonly AccountReport[]> {
  const reports: AccountReport[] = []
  for (const account of context.accounts)
    reports.push(await withLease(context, (lease) => reconcileAccount(context, account, lease)))
  return reports
}

export async function reconcileAccount(
  context: ReconcileContext,
  account: ReceivingAccount,
  lease: Lease,
): Promise<AccountReport> {
  await assertStoreKnown(context)
  const reading = await readAccount(context, account)
  await matchAccount(context, account)
  await returnUnmatched(context, account)
  const missing = await workMissing(context, account, reading, lease)
  return report(context, account, { ...reading, missing, sends: await account.watchSends(lease) })
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

type Reading = {
  /** The account before this reading. */
  readonly mark: AccountMark
  /** What came before this moment, in milliseconds, was read. As before, where a node could not be read as far as the final block. */
  readonly readUntil: number
  readonly blocks: { readonly from: bigint; readonly to: bigint }
  readonly arrived: { readonly count: number; readonly amount: bigint }
}

/** Adds the transfers in the final blocks since the last time. */
async function readAccount(context: ReconcileContext, account: ReceivingAccount): Promise<Reading> {
  const { db, random } = context
  const mark = await openAccount(db, account.id, () => beginning(context, account))
  const begunAt = context.clock.now()
  const final = await account.finalBlock()
  let to = mark.fromBlock - 1n
  let count = 0
  let amount = 0n
  for (const [first, last] of blockRanges(mark.fromBlock, final.number, BLOCKS_PER_STEP)) {
    const { transfers: shown, toBlock } = await account.transfers(first, last)
    const transfers = shown.filter(({ sender }) => !account.isOwn(sender))
    for (const step of toBlock < first ? [] : scanSteps({ fromBlock: first, toBlock, transfers }))
      await recordReading(db, account.id, step, random)
    count += transfers.length
    for (const transfer of transfers) amount += transfer.amount
    to = toBlock
    if (to < last) break
  }
  return {
    mark,
    readUntil: to >= final.number ? begunAt - final.behindMs : mark.readUntil,
    blocks: { from: mark.fromBlock, to },
    arrived: { count, amount },
  }
}

/** The block after which the first reading begins: a payer may have paid before the shop could read the chain, but not before it first asked to be paid there. */
async function beginning({ db }: ReconcileContext, account: ReceivingAccount): Promise<bigint> {
  if (account.sinceBlock !== null) return account.sinceBlock - 1n
  const { network, asset } = account.rail
  const asked = await askedSince(db, { network, asset, payTo: account.payTo })
  const newest = await account.newestBlock()
  if (asked === null) return newest
  const { at, agoMs } = asked
  // The clock of the store may be ahead of the chain's: the earlier of both is taken.
  const since = Math.min(at, (await account.timeOf({ blockNumber: newest })) - agoMs)
  // Block times are whole seconds: a block of this very second may be later.
  return account.blockBefore(since - 1_000)
}

/** What counts as paid although the final blocks do not show it. Its stored bytes are sent again; what does not land is the shop's loss. */
async function workMissing(
  context: ReconcileContext,
  account: ReceivingAccount,
  { mark, readUntil, blocks: { to } }: Reading,
  lease: Lease,
): Promise<readonly MissingPayment[]> {
  const { db, log } = context
  const { network, asset } = account.rail
  const search = { network, asset, payTo: account.payTo, known: mark.missing, limit: ITEMS_MAX }
  const find = () => findMissing(db, { ...search, settledAfter: mark.readUntil - OVERLAP_MS, settledBefore: readUntil })
  const missing = await find()
  if (missing.length === 0) return missing
  for (const one of missing)
    await workOne(context, account, one, { to, lease }).catch((error: unknown) => {
      if (error instanceof LeaseLost) throw error
      // One that fails must not keep the others, nor the deliveries and refunds of the account, from being checked.
      log.warn('a missing payment could not be checked', { orderId: one.orderId, error })
    })
  await matchAccount(context, account)
  const left = await find()
  for (const { orderId, transaction: paymentTx } of left)
    if (!mark.missing.includes(orderId)) log.error('the final blocks do not show a payment', { orderId, paymentTx })
  return left
}

async function workOne(
  context: ReconcileContext,
  account: ReceivingAccount,
  missing: MissingPayment,
  { to, lease }: { readonly to: bigint; readonly lease: Lease },
): Promise<void> {
  const { db, random } = context
  const transfers = await account.transfersOf(missing.transaction)
  // Its block is final, and the node could not search it when it was read.
  const final = transfers.filter(({ blockNumber }) => blockNumber <= to)
  await addTransfers(db, account.id, final, random)
  if (transfers.length === 0 && !(await matchMissing(context, account, missing)))
    await account.landAgain(missing.orderId, lease)
}

type Looked = Reading & {
  readonly missing: readonly MissingPayment[]
  readonly sends: readonly MissingSend[]
}

async function report(
  { db }: ReconcileContext,
  account: ReceivingAccount,
  { blocks, arrived, missing, readUntil, sends }: Looked,
): Promise<AccountReport> {
  const { id, payTo, rail } = account
  const { network, asset, currency, refundAtLeast: atLeast } = rail
  const open = await openTransfers(db, id, { atLeast, limit: ITEMS_MAX })
  const items: ReportItem[] = [
    ...open.map(({ state, reason, ...transfer }) => ({
      ...named(transfer),
      kind: state,
      detail: reason ?? 'Its payer may be about to present it.',
    })),
    ...missing.map((one) => ({
      ...named({ ...one, id: one.orderId }),
      kind: 'missing' as const,
      detail: 'The final blocks show no such payment.',
    })),
    // They left from other addresses, and make no difference to the account.
    ...sends.map((missed) => ({ ...missed, id: missed.orderId })),
  ]
  const lacking = missing.reduce((total, { amount }) => total + amount, 0n)
  const difference = (await sumOfOpen(db, id, atLeast)) - lacking
  await recordReport(db, id, { difference, missing: missing.map(({ orderId }) => orderId), readUntil })
  return { account: id, network, asset, payTo, currency, blocks, arrived, difference, items }
}

function named({ id, orderId, transaction, amount }: Pick<ReportItem, 'id' | 'orderId' | 'transaction' | 'amount'>) {
  return { id, orderId, transaction, amount }
}
