import { Problem } from '../base/problem.ts'
import { type BookedTransfer, isOpen } from '../domain/booked-transfer.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import { hurry } from '../store/jobs.ts'
import { changeTransfer, findTransfer, type TransferChange } from '../store/transfers/transfers.ts'
import { RECONCILE, type ReconcileContext } from './reconcile-context.ts'
import { beginReturn, finishReturn, nameOf } from './returns.ts'

/** What an operator decides about a transfer without a purchase. */
type Decision = Pick<TransferChange, 'alongside'> & {
  readonly decision: 'refund' | 'keep'
  readonly by: string
  /** `later`: the reconciler sends it soon, and the operator does not wait for the chain. */
  readonly finish: 'now' | 'later'
}

/** Carries out what an operator decided: back to its sender, or it stays. */
export async function decideTransfer(
  context: ReconcileContext,
  transferId: string,
  decided: Decision,
): Promise<{ readonly transfer: BookedTransfer; readonly account: ReceivingAccount }> {
  const transfer = await findTransfer(context.db, transferId)
  const account = context.accounts.find(({ id }) => id === transfer?.account)
  if (!transfer) throw new Problem('order_not_found', `There is no transfer ${transferId.slice(0, 40)}.`)
  if (!account)
    throw new Problem(
      'refund_refused',
      `Transfer ${transfer.id} came to a receiving account that this configuration has not; start the shop with the one that had it.`,
    )
  if (!isOpen(transfer))
    throw new Problem('refund_refused', `Transfer ${transfer.id} is ${transfer.state}; there is nothing to decide.`)
  const carryOut = decided.decision === 'refund' ? sendBack : keep
  const changed = await carryOut(context, account, transfer, decided)
  if (!changed) throw new Problem('refund_refused', `Transfer ${transfer.id} was claimed meanwhile; look at it again.`)
  return { transfer: changed, account }
}

async function sendBack(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
  decided: Decision,
): Promise<BookedTransfer | null> {
  const begun = await beginReturn(context, account, transfer, decided)
  if (decided.finish === 'now') return begun && finishReturn(context, account, begun)
  await hurry(context.db, { kind: RECONCILE, key: account.id })
  return begun
}

async function keep(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
  { by, alongside }: Decision,
): Promise<BookedTransfer | null> {
  const { identity, claimant } = await nameOf(context, account, transfer)
  const claim = claimant.kind === 'nothing' ? identity : null
  const kept = { to: 'kept', reason: transfer.reason, decidedBy: by, claim, event: null, alongside } as const
  return changeTransfer(context.db, transfer, kept)
}
