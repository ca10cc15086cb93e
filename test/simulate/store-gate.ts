import type { Database, Result } from '../../src/store/db.ts'
import { asStoreProblem } from '../../src/store/fault.ts'
import type { Gate } from './gate.ts'
import type { Scheduler } from './scheduler.ts'

/** What has been read and written in one universe, so that idle looks cost nothing. Results are the same as without it. */
export type StoreMemory = {
  version: number
  readonly read: Map<string, { readonly version: number; readonly result: Result<unknown> }>
  /** No job was due at the last look, and none will be before this moment, unless something is written. */
  readonly idle: Map<string, { readonly version: number; readonly untilMs: number }>
}

export const newMemory = (): StoreMemory => ({ version: 0, read: new Map(), idle: new Map() })

const STATEMENT_MS_MAX = 6_500
const LATENCY_MS = 4
const NEXT_DUE = `select min(run_at) as due from jobs where state = 'waiting'`
/** Loops that look again and again whether there is anything for them. (Endpoints have secrets that run out; here nobody rotates them.) */
const POLLED = new Set(['db select events', 'db select webhook_endpoints', 'db insert jobs'])

const NEVER = Number.POSITIVE_INFINITY
const NONE: Result<never> = { rows: [], rowCount: 0 }

/** One replica's way to the store. A statement is one step, and so is a transaction: the embedded engine has one session. */
export function gatedDatabase(sim: Scheduler, db: Database, gate: Gate, memory: StoreMemory): Database {
  const cut = () => asStoreProblem(Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' }))
  const through = <Answer>(label: string, run: () => Promise<Answer>) =>
    gate({ label, latencyMs: LATENCY_MS, patienceMs: STATEMENT_MS_MAX, run, failure: cut })

  /** Asked only if something was written since it was last asked the same. */
  async function remembered<Row>(key: string, run: () => Promise<Result<Row>>): Promise<Result<Row>> {
    const kept = memory.read.get(key)
    if (kept?.version === memory.version) return kept.result as Result<Row>
    const result = await run()
    memory.read.set(key, { version: memory.version, result })
    return result
  }

  async function claimed<Row>(key: string, run: () => Promise<Result<Row>>): Promise<Result<Row>> {
    const result = await run()
    if (result.rows.length > 0) {
      memory.version++
      return result
    }
    const { rows } = await remembered(NEXT_DUE, () => db.query<{ due: Date | null }>(NEXT_DUE))
    memory.idle.set(key, { version: memory.version, untilMs: rows[0]!.due?.getTime() ?? NEVER })
    return result
  }

  /** A plain statement that changed no row has changed nothing, and will not before somebody else has. */
  async function written<Row>(key: string, text: string, run: () => Promise<Result<Row>>): Promise<Result<Row>> {
    const kept = memory.read.get(key)
    if (kept?.version === memory.version) return kept.result as Result<Row>
    const result = await run()
    const isNothing = !COMPOSED.test(text) && result.rows.length === 0 && !result.rowCount
    if (!isNothing) memory.version++
    else if (!IMPURE.test(text)) memory.read.set(key, { version: memory.version, result })
    return result
  }

  return {
    ...db,
    async query(sql, values) {
      const text = typeof sql === 'string' ? sql : sql.text
      const label = labelOf(text)
      const key = `${text}\n${JSON.stringify(values ?? [])}`
      const idle = memory.idle.get(key)
      if (idle?.version === memory.version && sim.now() < idle.untilMs) return NONE
      const kept = POLLED.has(label) ? memory.read.get(key) : undefined
      if (kept?.version === memory.version) return kept.result as never
      const run = () => db.query(sql, values)
      return through(label, () => {
        if (label === 'db claim') return claimed(key, run)
        if (!label.startsWith('db select')) return written(key, text, run)
        return IMPURE.test(text) && !POLLED.has(label) ? run() : remembered(key, run)
      })
    },
    async transaction(work, settings) {
      const attempt = () =>
        through('db transaction', () => {
          memory.version++
          return db.transaction(work, settings)
        })
      // A connection that is lost with its commit under way: the real store runs the work again too.
      try {
        return await attempt()
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'store_unavailable') throw error
        return attempt()
      }
    },
  }
}

/** Its parts may write whatever the whole of it returns. */
const COMPOSED = /^\s*with\b/
const IMPURE = /\bnow\(\)|clock_timestamp|random|for (no key )?update|for (key )?share|nextval/

const labels = new Map<string, string>()

/** Verb and table; claims by their name. */
export function labelOf(text: string): string {
  const known = labels.get(text)
  if (known !== undefined) return known
  const label = readLabel(text)
  labels.set(text, label)
  return label
}

function readLabel(text: string): string {
  if (/skip locked/.test(text) && /update jobs/.test(text)) return 'db claim'
  if (/\bupdate orders\b/.test(text)) return 'db update orders'
  if (/\binsert into orders\b/.test(text)) return 'db insert orders'
  const [, verb, table] = /\b(insert into|delete from|update)\s+(?!set\b|skip\b)([a-z_]+)/.exec(text) ?? []
  if (verb && table) return `db ${verb.split(' ')[0]} ${table}`
  return `db select ${/\bfrom\s+([a-z_]+)/.exec(text)?.[1] ?? 'nothing'}`
}
