import type { Database, Result, Transaction } from '../../src/store/db.ts'
import { asStoreProblem } from '../../src/store/fault.ts'
import { statement } from '../../src/store/statement.ts'
import type { Gate } from './gate.ts'
import type { Scheduler } from './scheduler.ts'

/** What has been read and written in one universe, so that idle looks cost nothing. Results are the same as without it. */
export type StoreMemory = {
  /** How often each table was written. */
  readonly written: Map<string, number>
  /** By the text of a statement, and then by its values: a text is known to a map, a text with values has to be read first. */
  readonly read: Map<string, Map<string, Kept<Result<unknown>>>>
  /** When the first job of each kind is due. */
  due: Kept<ReadonlyMap<string, number>> | null
  /** Called when an order may have been written, before anybody goes on. */
  onOpened(): Promise<void>
}

/** True as long as no table that it was read from has been written since. */
type Kept<Value> = { readonly stamp: number; readonly value: Value }

export const newMemory = (onOpened = async () => {}): StoreMemory => ({
  written: new Map(),
  read: new Map(),
  due: null,
  onOpened,
})

/** Somebody has changed the store behind everybody's back. */
export function forgetAll({ written }: StoreMemory): void {
  written.set(ANY, (written.get(ANY) ?? 0) + 1)
}

export const STATEMENT_MS_MAX = 6_500
export const LATENCY_MS = 4
/** A job that somebody holds is due when its lease ends. */
const NEXT_DUE = statement<{ kind: string; due: Date }>('select kind, min(run_at) as due from jobs group by kind')
const CLAIM = 'db claim'
const OPENING = 'db insert orders'
/** Loops that look again and again whether there is anything for them. (Endpoints have secrets that run out; here nobody rotates them.) */
const POLLED = new Set(['db update events', 'db select events', 'db select webhook_endpoints', 'db insert jobs'])

const NEVER = Number.POSITIVE_INFINITY
const NONE: Result<never> = { rows: [], rowCount: 0 }

export function lostConnection(): Error {
  return Object.assign(new Error('Connection terminated'), { code: 'ECONNRESET' })
}

type GateParts = {
  readonly sim: Scheduler
  readonly db: Database
  /** For looks that are nobody's step. */
  readonly outside: Database
  readonly bare: ReadonlySet<string>
  /** Null: the sessions behind `db` have gates of their own, and tell the memory what they wrote. */
  readonly gate: Gate | null
  readonly memory: StoreMemory
}

/** One replica's way to the store. A statement is one step, and behind one gate so is a transaction: the embedded engine has one session. */
export function gatedDatabase({ sim, db, outside, bare, gate, memory }: GateParts): Database {
  const cut = () => asStoreProblem(lostConnection())
  const through = <Answer>(label: string, run: () => Promise<Answer>) =>
    gate ? gate({ label, latencyMs: LATENCY_MS, patienceMs: STATEMENT_MS_MAX, run, failure: cut }) : run()
  const stampOf = ({ mentioned }: Shape) =>
    mentioned.reduce((sum, table) => sum + (memory.written.get(table) ?? 0), memory.written.get(ANY) ?? 0)
  const isFresh = <Value>(kept: Kept<Value> | undefined, shape: Shape): kept is Kept<Value> =>
    kept !== undefined && kept.stamp === stampOf(shape)

  /** Asked only if something was written since it was last asked the same. */
  async function remembered<Row>({ reads, key, shape }: Asked, run: () => Promise<Result<Row>>): Promise<Result<Row>> {
    const kept = reads.get(key())
    if (isFresh(kept, shape)) return kept.value as Result<Row>
    const stamp = stampOf(shape)
    const value = await run()
    if (stamp === stampOf(shape)) reads.set(key(), { stamp, value })
    return value
  }

  /** Is there a job of these kinds to be had? Looked up once for everybody, until a job is written. */
  async function isDue(kinds: readonly string[], shape: Shape): Promise<boolean> {
    if (!isFresh(memory.due ?? undefined, shape)) {
      const stamp = stampOf(shape)
      const { rows } = await sim.work(() => outside.query(NEXT_DUE))
      memory.due = { stamp, value: new Map(rows.map(({ kind, due }) => [kind, due.getTime()])) }
    }
    const { value } = memory.due!
    return kinds.some((kind) => (value.get(kind) ?? NEVER) <= sim.now())
  }

  /** A plain statement that changed no row has changed nothing, and will not before somebody else has. */
  async function written<Row>(
    { reads, key, shape }: Asked,
    text: string,
    run: () => Promise<Result<Row>>,
  ): Promise<Result<Row>> {
    const kept = reads.size > 0 ? reads.get(key()) : undefined
    if (isFresh(kept, shape)) return kept.value as Result<Row>
    if (isBare(shape)) return NONE
    const stamp = stampOf(shape)
    const result = await run()
    const hasPlacedNothing = isIdlePlacing(result.rows[0])
    const isNothing = hasPlacedNothing || (!COMPOSED.test(text) && result.rows.length === 0 && !result.rowCount)
    if (!isNothing) note(memory, shape)
    else if ((hasPlacedNothing || !shape.isImpure) && stamp === stampOf(shape))
      reads.set(key(), { stamp, value: result })
    if (shape.label === OPENING) await sim.work(memory.onOpened)
    return result
  }

  /** There is nothing to be changed in a table that nobody has ever put anything into. */
  const isBare = ({ changesOnly }: Shape) =>
    changesOnly !== null && bare.has(changesOnly) && !memory.written.has(changesOnly) && !memory.written.has(ANY)

  /** What a transaction may have written counts, whether it was committed or not. */
  function noting(tx: Transaction): Transaction {
    return {
      ...tx,
      query(sql, values) {
        note(memory, shapeOf(typeof sql === 'string' ? sql : sql.text))
        return tx.query(sql, values)
      },
    }
  }

  return {
    ...db,
    async query(sql, values) {
      const text = typeof sql === 'string' ? sql : sql.text
      const shape = shapeOf(text)
      const { label } = shape
      if (label === CLAIM && !(await isDue(values![0] as readonly string[], shape))) return NONE
      const asked = { reads: readsOf(memory, text), key: keyOf(values), shape }
      const kept = POLLED.has(label) ? asked.reads.get(asked.key()) : undefined
      if (isFresh(kept, shape)) return kept.value as never
      const run = () => db.query(sql, values)
      return through(label, () => {
        if (!label.startsWith('db select')) return written(asked, text, run)
        return shape.isImpure && !POLLED.has(label) ? run() : remembered(asked, run)
      })
    },
    async transaction(work, settings) {
      if (!gate) {
        const done = await db.transaction(work, settings)
        await sim.work(memory.onOpened)
        return done
      }
      const attempt = () =>
        through('db transaction', async () => {
          const done = await db.transaction((tx) => work(noting(tx)), settings)
          await memory.onOpened()
          return done
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

function note({ written: counts }: StoreMemory, { written }: Shape): void {
  for (const table of written) counts.set(table, (counts.get(table) ?? 0) + 1)
}

/** A statement was carried out. */
export function noteStatement(memory: StoreMemory, text: string): void {
  note(memory, shapeOf(text))
}

/** Each replica looks four times a second whether an event has to be put into the log; when there is none it writes nothing. */
function isIdlePlacing(row: unknown): boolean {
  const { placed, were_waiting } = (row ?? {}) as { readonly placed?: number; readonly were_waiting?: boolean }
  return placed === 0 && were_waiting === false
}

/** Its parts may write whatever the whole of it returns. */
const COMPOSED = /^\s*with\b/
const IMPURE = /\bnow\(\)|clock_timestamp|random|for (no key )?update|for (key )?share|nextval/

/** What a statement is called, and which tables it reads and writes. */
type Shape = {
  /** It says another thing each time. */
  readonly isImpure: boolean
  readonly label: string
  readonly mentioned: readonly string[]
  readonly written: readonly string[]
  /** A plain change or deletion of what is in this table, and nothing else. */
  readonly changesOnly: string | null
}

/** Stands for every table: what is written by a trigger is named nowhere. */
const ANY = '*'
const TRIGGERING = new Set(['items', 'good_prices'])

/** One question, and what has been answered to others of the same text. */
type Asked = { readonly reads: Map<string, Kept<Result<unknown>>>; key(): string; readonly shape: Shape }

/** Values of a statement that writes are long, and hardly ever looked at. */
function keyOf(values: readonly unknown[] | undefined): () => string {
  let key: string | undefined
  return () => {
    key ??= JSON.stringify(values ?? [])
    return key
  }
}

function readsOf({ read }: StoreMemory, text: string): Asked['reads'] {
  let reads = read.get(text)
  if (!reads) {
    reads = new Map()
    read.set(text, reads)
  }
  return reads
}

const shapes = new Map<string, Shape>()

function shapeOf(text: string): Shape {
  const known = shapes.get(text)
  if (known) return known
  const written = [...text.matchAll(WRITES)].map(([, table]) => table!)
  const shape = {
    label: labelOf(text),
    isImpure: IMPURE.test(text),
    mentioned: [...new Set([...text.matchAll(READS)].map(([, table]) => table!).concat(written))],
    written: written.some((table) => TRIGGERING.has(table)) ? [ANY] : [...new Set(written)],
    changesOnly: /^\s*(?:update|delete from)\s+([a-z_]+)/.exec(text)?.[1] ?? null,
  }
  shapes.set(text, shape)
  return shape
}

const WRITES = /\b(?:insert into|delete from|update)\s+(?!set\b|skip\b|of\b)([a-z_]+)/g
/** Lists after `from` have no commas in this house; names of `with` parts are harmless here. */
const READS = /\b(?:from|join|using)\s+(?:only\s+)?([a-z_]+)/g

/** Verb and table; claims by their name. */
export function labelOf(text: string): string {
  if (/skip locked/.test(text) && /update jobs/.test(text)) return CLAIM
  if (/\bupdate orders\b/.test(text)) return 'db update orders'
  if (/\binsert into orders\b/.test(text)) return 'db insert orders'
  const [, verb, table] = /\b(insert into|delete from|update)\s+(?!set\b|skip\b)([a-z_]+)/.exec(text) ?? []
  if (verb && table) return `db ${verb.split(' ')[0]} ${table}`
  return `db select ${/\bfrom\s+([a-z_]+)/.exec(text)?.[1] ?? 'nothing'}`
}
