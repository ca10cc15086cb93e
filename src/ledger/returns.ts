import { newId } from '../base/id.ts'
import { type BookedTransfer, presentTransfer } from '../domain/booked-transfer.ts'
import { AUTOMATIC } from '../domain/order.ts'
import type { PaidOrder } from '../domain/rail.ts'
import type { ReceivingAccount, Transfer } from '../domain/receiving-account.ts'
import { readHistory } from '../store/history.ts'
import type { RefundBudget } from '../store/refund-budget.ts'
import { type Claimant, claimantOf, isRefundName } from '../store/transfers/claims.ts'
import { matchNamed } from '../store/transfers/matching.ts'
import {
  changedTransfer,
  changeTransfer,
  completeRefund,
  dueTransfers,
  type TransferChange,
  touchTransfer,
} from '../store/transfers/transfers.ts'
import { withExclusiveLease } from './exclusive-lease.ts'
import type { ReconcileContext } from './reconcile-context.ts'
import { decideRefund, sendRefund } from './refund.ts'

const PAGE = 100
/** One round over an account takes no longer than this; the rest comes first next time. */
const WORK_MS_MAX = 60_000

/** Sends back what no order has claimed for long enough, and finishes the refunds that have begun. */
export async function returnUnmatched(context: ReconcileContext, account: ReceivingAccount): Promise<void> {
  const { db, clock, policy } = context
  const due = { atLeast: account.rail.refundAtLeast, afterSeconds: policy.returnAfterSeconds, limit: PAGE }
  const end = clock.now() + WORK_MS_MAX
  const seen = new Set<string>()
  for (;;) {
    const found = await dueTransfers(db, account.id, due)
    const fresh = found.filter(({ id }) => !seen.has(id))
    if (fresh.length === 0) return
    for (const transfer of fresh) {
      if (clock.now() > end) return
      seen.add(transfer.id)
      await workOn(context, account, transfer)
    }
  }
}

/** A transfer that fails must not keep the others from being worked on. */
async function workOn(context: ReconcileContext, account: ReceivingAccount, transfer: BookedTransfer): Promise<void> {
  const { db, log } = context
  const failed = (error: unknown) => {
    log.warn('a transfer without a purchase could not be worked on', { transferId: transfer.id, error })
    return null
  }
  const step = transfer.state === 'returned' ? finishReturn : judge
  const next = await step(context, account, transfer)
    .catch((error: unknown) => failed(error) ?? unjudged(context, account, transfer))
    .catch(failed)
  if (!next || next === transfer) await touchTransfer(db, transfer)
}

const UNJUDGED_MS_MAX = 86_400_000

/** What cannot be judged is tried again; after a day a person hears of it. Null: not yet, or it is judged already. */
async function unjudged(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
): Promise<BookedTransfer | null> {
  const { clock, policy } = context
  const isLong = clock.now() - transfer.foundAt > policy.returnAfterSeconds * 1_000 + UNJUDGED_MS_MAX
  const reason = 'For a day the chain did not show it as it was; whether it may go back must be found out first.'
  return isLong ? changeAndTell(context, account, transfer, { to: 'held', reason }) : null
}

/** Null: not yet. */
async function judge(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
): Promise<BookedTransfer | null> {
  const { db, isBlocked, policy } = context
  const named = await nameOf(context, account, transfer)
  const { identity, claimant } = named
  if (claimant.kind === 'order') {
    if (claimant.status === 'settling') return null
    // Another transaction than its order counts on may have brought the payment.
    if (await matchNamed(db, transfer, identity)) return null
  }
  const { reason, orderId } = explained(claimant, transfer)
  const hold = (why: string) => changeAndTell(context, account, transfer, { to: 'held', reason: why, orderId })
  if (isClaimed(claimant)) return hold(`Order ${claimant.orderId} claims it, for another payer or amount.`)
  const obstacle = await obstacleToReturn(context, account, transfer)
  if (obstacle) return hold(obstacle)
  const why = { reason, orderId, by: AUTOMATIC }
  return decideRefund(
    { isBlocked, limits: policy },
    {
      rail: account.rail,
      paid: asPaidOrder(transfer, account),
      // Anybody can send money that buys nothing.
      byBuyer: true,
      perPayer: null,
      async begin(budget) {
        const begun = await begin(context, account, transfer, { ...why, named, budget })
        return begun && finishReturn(context, account, begun)
      },
      hold,
      wait: (detail) => Promise.reject(new Error(detail)),
    },
  )
}

/** An operator decided it. Null: it was claimed meanwhile, and buys. */
export async function beginReturn(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
  decided: Pick<TransferChange, 'alongside'> & { readonly by: string },
): Promise<BookedTransfer | null> {
  const named = await nameOf(context, account, transfer)
  if (isClaimed(named.claimant)) return null
  return begin(context, account, transfer, { reason: transfer.reason, named, ...decided })
}

type Named = { readonly identity: string | null; readonly claimant: Claimant }

export async function nameOf({ db }: ReconcileContext, { rail }: ReceivingAccount, transfer: Transfer): Promise<Named> {
  const identity = await rail.identityOf(transfer)
  return { identity, claimant: await claimantOf(db, identity) }
}

type ClaimedByOrder = Extract<Claimant, { kind: 'order' }>

/** Does an order wait for this very payment? Not one that was given up, nor one that another transfer has paid. */
export function isClaimed(claimant: Claimant): claimant is ClaimedByOrder {
  return claimant.kind === 'order' && claimant.status !== 'expired' && !claimant.isPaid
}

type Beginning = Pick<TransferChange, 'reason' | 'orderId' | 'alongside'> & {
  readonly by: string
  readonly named: Named
  readonly budget?: RefundBudget
}

/** Claims the name of the payment in the same transaction: from then on it buys nothing. A payer who presents it a moment before has bought. */
async function begin(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
  { by, named, ...change }: Beginning,
): Promise<BookedTransfer | null> {
  const { claimant, identity } = named
  const refund = { id: newId('rfd', context.random), name: await refundName(context, transfer, named), by }
  const claim = claimant.kind === 'nothing' ? identity : null
  const begun = { ...change, to: 'returned', decidedBy: by, claim, refund } as const
  return changeAndTell(context, account, transfer, begun)
}

/** The payment's own name, as its order would have it; where that has gone back, or paid an order, or is none, the place of the transfer. */
async function refundName({ db }: ReconcileContext, transfer: BookedTransfer, { identity, claimant }: Named) {
  const isOurs =
    claimant.kind === 'nothing' ||
    (claimant.kind === 'transfer' && claimant.transferId === transfer.id) ||
    (claimant.kind === 'order' && claimant.status === 'expired')
  if (identity !== null && isOurs && !(await isRefundName(db, identity))) return identity
  return `${transfer.account}/${transfer.transaction}/${transfer.logIndex}`.toLowerCase()
}

/** Sends it, or finds out how far that is. */
export async function finishReturn(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
): Promise<BookedTransfer> {
  const { db, log } = context
  const { refund } = transfer
  if (!refund) throw new TypeError(`transfer ${transfer.id} is returned without a refund`)
  const paid = asPaidOrder(transfer, account)
  const sent = await withExclusiveLease(context, transfer.id, (lease) =>
    sendRefund<BookedTransfer>({
      rail: account.rail,
      paid,
      lease,
      ...refund,
      async wait(detail) {
        log.warn('refund of an unmatched transfer is pending', { transferId: transfer.id, detail })
        return transfer
      },
      async finish(transaction) {
        const done = { ...transfer, refund: { ...refund, transaction } }
        const event = { type: 'refund.completed', data: presentTransfer(done, account) } as const
        await completeRefund(db, transfer, transaction, event)
        return done
      },
    }),
  )
  return sent?.result ?? transfer
}

async function changeAndTell(
  { db, log }: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
  change: Omit<TransferChange, 'event'>,
): Promise<BookedTransfer | null> {
  const type = change.to === 'held' ? 'payment.held' : 'refund.created'
  const data = presentTransfer(changedTransfer(transfer, change), account)
  const changed = await changeTransfer(db, transfer, { ...change, event: { type, data } })
  if (changed) {
    const { id: transferId, state, amount, reason, transaction: paymentTx } = changed
    log.error('money came without a purchase', { transferId, state, paymentTx, amount, reason })
  }
  return changed
}

function explained(claimant: Claimant, { transaction }: Transfer) {
  if (claimant.kind !== 'order') return { reason: 'No purchase came with it.', orderId: undefined }
  const { status, orderId } = claimant
  return status === 'expired'
    ? { reason: 'It landed after its order had been given up.', orderId }
    : { reason: `It was paid beside what paid order ${orderId}: ${transaction}.`, orderId: undefined }
}

/** Why it must not go back automatically, whoever claims its name; null: it may. */
export async function obstacleToReturn(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: Transfer & { readonly foundAt: number },
): Promise<string | null> {
  if (!context.policy.returnsUnmatched) return 'Money without a purchase waits for a person here.'
  if (await isOlderThanRestore(context, account, transfer))
    return 'It came before the database was restored; whether it had bought something must be found out first.'
  if (await account.isContract(transfer.sender))
    return 'Its sender is a contract; whose money it is must be found out first.'
  return null
}

/** The clocks of store and chain differ by less. */
const CLOCKS_APART_MS = 600_000

/** What came before the store was restored may have bought what the store lacks. */
async function isOlderThanRestore(
  { db }: ReconcileContext,
  account: ReceivingAccount,
  transfer: Transfer & { readonly foundAt: number },
): Promise<boolean> {
  const { restoredAt } = await readHistory(db)
  if (restoredAt === 0) return false
  return transfer.foundAt <= restoredAt || (await account.timeOf(transfer)) <= restoredAt + CLOCKS_APART_MS
}

function asPaidOrder(
  { id, sender, amount, transaction, foundAt }: BookedTransfer,
  { rail, payTo }: ReceivingAccount,
): PaidOrder {
  const { asset, network } = rail
  return {
    id,
    payer: sender,
    amount,
    asset,
    network,
    payTo,
    expiresAt: foundAt,
    authorization: null,
    inDoubt: false,
    createdAt: foundAt,
    settlement: { transaction, network, payer: sender, settledAt: foundAt },
  }
}
