import type { OperatorRoute } from '../api/operator/route.ts'
import { type DoctorReport, systemRows } from '../api/operator/system-rows.ts'
import type { JsonObject } from '../base/json.ts'
import { Problem } from '../base/problem.ts'
import type { Limits } from '../config/limits.ts'
import { recordDeed } from '../store/deeds.ts'
import { appliedMigrations } from '../store/migrate.ts'
import { listReplicas, readQueue } from '../store/replicas.ts'
import { readPauses } from '../store/sales-pauses.ts'
import type { DeskParts } from './desk-parts.ts'

/** The machine room, and the doctor whom whoever started the shop has sent along. */
export function systemDeskRows(parts: DeskParts): readonly OperatorRoute[] {
  const { config, database, clock, replica, doctor } = parts
  const { engine, description } = database
  return systemRows({
    now: clock.now,
    mode: config.mode,
    store: { engine, description },
    self: replica.id,
    settings: config.settings,
    limits: printable(config.limits),
    migrations: async () => (await appliedMigrations(database)).map(({ name }) => name),
    replicas: () => listReplicas(database),
    queue: () => readQueue(database),
    pauses: () => readPauses(database),
    async doctor(doer): Promise<DoctorReport> {
      if (!doctor)
        throw new Problem('route_not_found', 'This shop was started without a doctor; run `sutler doctor` beside it.')
      const report = await doctor()
      const after = { grade: report.grade }
      await recordDeed(database, doer, {
        deed: 'doctor.asked',
        about: { kind: 'shop', id: 'doctor' },
        before: null,
        after,
      })
      return report
    },
  })
}

/** Sums of money are told as text. */
function printable(limits: Limits): JsonObject {
  return JSON.parse(
    JSON.stringify(limits, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
  )
}
