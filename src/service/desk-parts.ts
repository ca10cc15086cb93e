import type { Admission } from '../api/operator/admission.ts'
import type { EventLog } from '../api/operator/event-stream.ts'
import type { DoctorReport } from '../api/operator/system-rows.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { ReconcileContext } from '../ledger/reconcile-context.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { RailAccount } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import type { Webhooks } from '../webhooks/endpoints.ts'
import type { ReplicaVoice } from './replica.ts'
import type { Tally } from './tally.ts'

/** What the desks of operators work with. */
export type DeskParts = {
  readonly config: Config
  readonly accounts: readonly RailAccount[]
  readonly database: Database
  readonly chainOf: (chain: ChainConfig) => ChainAccess
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly events: EventLog
  readonly webhooks: Webhooks
  readonly metrics: () => Promise<string>
  readonly reconcileContext: ReconcileContext
  readonly tally: Pick<Tally, 'flush'>
  readonly replica: Pick<ReplicaVoice, 'id'>
  readonly doctor: (() => Promise<DoctorReport>) | undefined
  readonly admission: Admission
}
