import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import type { Database } from '../store/db.ts'

/** Kind of the job that reconciles a receiving account. */
export const RECONCILE = 'reconcile'

/** What is needed to compare the books with the chain. */
export type ReconcileContext = {
  readonly db: Database
  readonly accounts: readonly ReceivingAccount[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly policy: ReconcilePolicy
  /** Payers to whom money is sent back only when an operator decides so. */
  isBlocked(payer: Address): Promise<boolean>
}

export type ReconcilePolicy = {
  /** How long money without a purchase waits for its payer before it goes back. */
  readonly returnAfterSeconds: number
  /** False: it waits for an operator. A shop must not send back the money of others that are paid at the same address. */
  readonly returnsUnmatched: boolean
  /** Automatic refunds of a day; what goes beyond waits for an operator. */
  readonly refundsPerDay: bigint
  /** And the percentage of the float that may go back within a day where nothing of the shop has failed. */
  readonly receiverRefundPercent: number
}
