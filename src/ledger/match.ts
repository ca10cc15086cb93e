import type { BookedTransfer } from '../domain/booked-transfer.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import { claimantOf } from '../store/transfers/claims.ts'
import { matchNamed, matchTransfers, matchUnnamed, openLike, type Twins } from '../store/transfers/matching.ts'
import type { MissingPayment } from '../store/transfers/missing.ts'
import type { ReconcileContext } from './reconcile-context.ts'

/**
 * Finds the order of every transfer that has none yet. One transaction may contain several transfers of one payer and amount, each for another
 * purchase, and only their names tell which of them was presented: the others may still buy, so none may be matched in place of another.
 */
export async function matchAccount(context: ReconcileContext, account: ReceivingAccount): Promise<void> {
  for (const twins of await matchTransfers(context.db, account.id)) await tellApart(context, account, twins)
}

async function tellApart(
  context: ReconcileContext,
  account: ReceivingAccount,
  { transfers, orders }: Twins,
): Promise<void> {
  const { db } = context
  const unnamed = []
  let unpaid = orders
  for (const transfer of transfers) {
    // Each look at a transfer is a question to a node, and a stranger decides how many transfers there are.
    if (unpaid === 0) return
    const identity = await identityOf(context, account, transfer)
    if (identity === undefined) continue
    if (await matchNamed(db, transfer, identity)) unpaid--
    else unnamed.push({ transfer, identity })
  }
  for (const { transfer, identity } of unnamed)
    if ((await claimantOf(db, identity)).kind === 'nothing') await matchUnnamed(db, transfer, identity)
}

/** Each is a question to a node, and its payer decides how many there are. Those beyond are identified when they would go back. */
const LIKE_MAX = 10

/** Another transaction may have brought the payment of an order than the one that it counts on. */
export async function matchMissing(
  context: ReconcileContext,
  account: ReceivingAccount,
  missing: MissingPayment,
): Promise<boolean> {
  const { db, log } = context
  const { orderId } = missing
  for (const transfer of await openLike(db, account.id, missing, LIKE_MAX)) {
    const identity = await identityOf(context, account, transfer)
    if (identity === undefined || !(await matchNamed(db, transfer, identity))) continue
    log.warn('another transaction has paid an order whose payment was missing', { orderId, transferId: transfer.id })
    return true
  }
  return false
}

/** Null: it has none. Undefined: the chain does not say now. */
async function identityOf(
  { log }: ReconcileContext,
  { rail }: ReceivingAccount,
  transfer: BookedTransfer,
): Promise<string | null | undefined> {
  return rail.identityOf(transfer).catch((error: unknown) => {
    log.warn('a payment could not be identified', { transferId: transfer.id, error })
    return undefined
  })
}
