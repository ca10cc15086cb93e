import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Till } from '../domain/till.ts'
import type { Database } from '../store/db.ts'
import type { StoreMemory } from './store-memory.ts'

/** The job that looks after a till. */
export const RECONCILE = 'reconcile'

/** What is needed to hold the books against the chain. */
export type ReconcileContext = {
  readonly db: Database
  readonly tills: readonly Till[]
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly policy: ReconcilePolicy
  readonly memory: Pick<StoreMemory, 'isInDoubt' | 'lineage' | 'recent'>
  /** Payers that money is never sent back to without a person's word. */
  isBlocked(payer: Address): Promise<boolean>
  /** What went back today without anybody having decided it. */
  refundedToday(): Promise<bigint>
}

export type ReconcilePolicy = {
  /** How long a payer may take to present what they paid, before the money counts as an orphan. */
  readonly orphanAfterSeconds: number
  /** How long after its arrival an orphan is sent back. */
  readonly refundAfterSeconds: number
  /** False: every orphan waits for a person. An address that other shops are paid at too must not send their money back. */
  readonly refundsOrphans: boolean
  /** Smaller sums are not sent back by themselves: it would cost more than it returns, and strangers could make us spend it. */
  readonly refundAtLeast: bigint
  /** Automatic refunds of a day; what goes beyond waits for a person. */
  readonly refundsPerDay: bigint
  /** So many blocks are read again each time, because the chain may have changed its mind about them. */
  readonly rescanBlocks: bigint
  /** And so many now and then: a node may name blocks long before it can search them. */
  readonly lookBackBlocks: bigint
  /** The books were not kept for longer than this: whatever arrived meanwhile may have been spent already. */
  readonly silenceSecondsMax: number
}
