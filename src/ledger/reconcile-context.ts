import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Till } from '../domain/till.ts'
import type { Database } from '../store/db.ts'

/** Kind of the job that reconciles a till. */
export const RECONCILE = 'reconcile'

/** What is needed to compare the books with the chain. */
export type ReconcileContext = {
  readonly db: Database
  readonly tills: readonly Till[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly policy: ReconcilePolicy
  /** Payers to whom money is sent back only when an operator decides so. */
  isBlocked(payer: Address): Promise<boolean>
}

export type ReconcilePolicy = {
  readonly challengeTtlMs: number
  /** How long a payer may take to present a payment before it counts as orphaned. */
  readonly orphanAfterSeconds: number
  /** How long after its arrival an orphaned payment is sent back. */
  readonly refundAfterSeconds: number
  /** False: every orphaned payment waits for an operator. A shop must not send back the money of others that are paid at the same address. */
  readonly refundsOrphans: boolean
  /** Automatic refunds of a day; what goes beyond waits for an operator. */
  readonly refundsPerDay: bigint
  /** And the percentage of the float that may go back within a day where nothing of the shop has failed. */
  readonly receiverRefundPercent: number
}
