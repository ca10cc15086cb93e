import type { Hash } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import { type BookedTransfer, refundOf } from '../domain/booked-transfer.ts'
import type { RailName } from '../domain/rail.ts'
import type { ReceivingAccount, Transfer } from '../domain/receiving-account.ts'
import { transfersOf } from '../store/transfers/transfers.ts'
import { assertStoreKnown } from './reconcile.ts'
import type { ReconcileContext } from './reconcile-context.ts'
import { isClaimed, nameOf, obstacleToReturn } from './returns.ts'

export type Fate =
  /** It goes back, or has gone; `refund` is what the caller reads of it. */
  | { readonly kind: 'returning'; readonly refund: JsonObject }
  /** It waits for an operator, or is too little to be sent. */
  | { readonly kind: 'held' }
  /** An operator decided that it stays. */
  | { readonly kind: 'kept' }
  /** It belongs to a purchase, and nothing goes back. */
  | { readonly kind: 'claimed' }

/**
 * What becomes of a payment that a caller has shown, and that buys nothing. Nothing is written: the books read it when its block is final, and
 * it waits there like all money without a purchase.
 */
export async function fateOf(context: ReconcileContext, rail: RailName, transaction: Hash): Promise<Fate> {
  await assertStoreKnown(context)
  for (const account of context.accounts.filter((one) => one.rail.name === rail)) {
    const booked = await transfersOf(context.db, account.id, transaction)
    const known = booked.filter(({ state }) => state !== 'matched')
    for (const transfer of known)
      if (transfer.state !== 'unmatched' || !(await hasBought(context, account, transfer)))
        return fateOfBooked(context, account, transfer)
    if (booked.length > 0) continue
    for (const transfer of await account.transfersOf(transaction))
      if (!account.isOwn(transfer.sender) && !(await hasBought(context, account, transfer)))
        return fateOfUnmatched(context, account, { ...transfer, foundAt: context.clock.now() })
  }
  return { kind: 'claimed' }
}

/** The books may read it, and match it, between two questions of ours. */
async function hasBought(context: ReconcileContext, account: ReceivingAccount, transfer: Transfer): Promise<boolean> {
  const { claimant } = await nameOf(context, account, transfer)
  if (isClaimed(claimant)) return true
  const booked = await transfersOf(context.db, account.id, transfer.transaction)
  return booked.some(({ logIndex, state }) => logIndex === transfer.logIndex && state === 'matched')
}

async function fateOfBooked(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: BookedTransfer,
): Promise<Fate> {
  const refund = refundOf(transfer)
  if (refund) return { kind: 'returning', refund }
  if (transfer.state === 'kept') return { kind: 'kept' }
  return transfer.state === 'held' ? { kind: 'held' } : fateOfUnmatched(context, account, transfer)
}

async function fateOfUnmatched(
  context: ReconcileContext,
  account: ReceivingAccount,
  transfer: Transfer & { readonly foundAt: number },
): Promise<Fate> {
  const { sender, amount } = transfer
  const isHeld =
    amount < account.rail.refundAtLeast ||
    (await context.isBlocked(sender)) ||
    (await obstacleToReturn(context, account, transfer)) !== null
  if (isHeld) return { kind: 'held' }
  return { kind: 'returning', refund: { status: 'refunding', to: sender, transaction: null } }
}
