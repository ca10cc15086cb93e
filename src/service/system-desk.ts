import type { OperatorRoute } from '../api/operator/route.ts'
import { type DoctorReport, systemRows } from '../api/operator/system-rows.ts'
import type { JsonObject } from '../base/json.ts'
import type { Limits } from '../config/limits.ts'
import type { Database } from '../store/db.ts'
import { type Doer, recordDeed } from '../store/deeds.ts'
import { appliedMigrations } from '../store/migrate.ts'
import { listReplicas, readQueue } from '../store/replicas.ts'
import { readPauses } from '../store/restrictions.ts'
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
    proxyHops: config.http.proxyHops,
    migrations: async () => (await appliedMigrations(database)).map(({ name }) => name),
    replicas: () => listReplicas(database),
    queue: () => readQueue(database),
    pauses: () => readPauses(database),
    doctor: doctor ? (doer) => asked(database, doer, doctor) : null,
  })
}

async function asked(database: Database, doer: Doer, doctor: () => Promise<DoctorReport>): Promise<DoctorReport> {
  const report = await doctor()
  const about = { kind: 'shop', id: 'doctor' }
  await recordDeed(database, doer, { deed: 'doctor.asked', about, before: null, after: { grade: report.grade } })
  return report
}

/** Sums of money are told as text. */
function printable(limits: Limits): JsonObject {
  return JSON.parse(
    JSON.stringify(limits, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
  )
}
