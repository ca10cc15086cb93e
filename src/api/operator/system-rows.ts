import { isoTime } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import { VERSION } from '../../base/version.ts'
import type { Setting } from '../../config/settings.ts'
import type { Doer } from '../../store/deeds.ts'
import type { QueuedWork, Replica } from '../../store/replicas.ts'
import type { SalesPause } from '../../store/restrictions.ts'
import { type OperatorRoute, operator } from './route.ts'
import { presentPause } from './sales-rows.ts'

/** What a doctor found: a grade, what to do next, and every single look. */
export type DoctorReport = {
  readonly grade: string
  readonly next: string | null
  readonly findings: readonly {
    readonly area: string
    readonly what: string
    readonly severity: string
    readonly detail: string
    readonly fix: string | null
  }[]
}

type SystemDesk = {
  now(): number
  readonly mode: string
  readonly store: { readonly engine: string; readonly description: string }
  readonly self: string
  readonly settings: readonly Setting[]
  readonly limits: JsonObject
  /** Of how many proxies in front the shop was told. */
  readonly proxyHops: number
  migrations(): Promise<readonly string[]>
  replicas(): Promise<readonly (Replica & { readonly seenAt: number })[]>
  queue(): Promise<readonly QueuedWork[]>
  pauses(): Promise<readonly SalesPause[]>
  /** Null: whoever started the shop has sent none along. */
  readonly doctor: ((doer: Doer) => Promise<DoctorReport>) | null
}

/** The machine room: what runs, where it runs and how, from the store alone. */
export function systemRows(desk: SystemDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/system', {
      role: 'viewer',
      summary:
        'Version, migrations, replicas, queued work, pauses, limits, and every option with where it comes from; no secret',
      handle: async ({ header }) => ({
        body: {
          ...(await presentSystem(desk)),
          // Of this very call: whether there is a proxy shows in nothing else.
          proxy: { hops: desk.proxyHops, isForwarded: header('x-forwarded-for') !== undefined },
        },
      }),
    }),
    ...(desk.doctor ? [doctorRow(desk.doctor, desk.now)] : []),
  ]
}

function doctorRow(doctor: NonNullable<SystemDesk['doctor']>, now: () => number): OperatorRoute {
  return operator('POST /operator/doctor', {
    role: 'admin',
    summary: 'Look at everything that the shop needs, as `sutler doctor` does; changes nothing and pays nothing',
    handle: async ({ doer }) => {
      const { grade, next, findings } = await doctor(doer)
      return { body: { grade, next, findings: findings.map((finding) => ({ ...finding })), asOf: isoTime(now()) } }
    },
  })
}

async function presentSystem(desk: SystemDesk): Promise<JsonObject> {
  const [migrations, replicas, queue, pauses] = await Promise.all([
    desk.migrations(),
    desk.replicas(),
    desk.queue(),
    desk.pauses(),
  ])
  return {
    version: VERSION,
    node: process.versions.node,
    mode: desk.mode,
    store: { ...desk.store },
    migrations: { count: migrations.length, last: migrations.at(-1) ?? null },
    replicas: replicas.map(({ id, version, startedAt, seenAt, facts }) => ({
      id,
      isSelf: id === desk.self,
      version,
      startedAt: isoTime(startedAt),
      seenAt: isoTime(seenAt),
      ...facts,
    })),
    queue: queue.map((work) => ({ ...work })),
    pauses: pauses.map(presentPause),
    limits: desk.limits,
    settings: desk.settings.map((setting) => ({ ...setting })) as unknown as Json,
    asOf: isoTime(desk.now()),
  }
}
