import type pg from 'pg'
import type { Clock } from '../../../src/base/clock.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { Backend } from '../../../src/store/backend.ts'
import { createDatabase, type Database } from '../../../src/store/db.ts'
import { createSession, type Session } from './session.ts'
import { EMPTY, type Store } from './state.ts'

export type ModelOptions = {
  /** Whole milliseconds since 1970. */
  now(): number
  uuid(): string
  /** Answers take a turn of the event loop, as those that come over a wire. */
  readonly isRemote?: boolean
  readonly clock: Clock
}

/** A store that is modelled: a session of its own behind everything that the shop uses to talk to a real one. */
export function openModel(options: ModelOptions): { readonly session: Session; readonly db: Database } {
  const { now, uuid, clock } = options
  const store: Store = {
    state: EMPTY,
    begunAt: 0,
    isReadOnly: false,
    sequences: new Map(),
    settings: new Map(),
    localSettings: new Map(),
    births: 0,
    unknown: [],
    prepared: new Map(),
    now: () => now() * 1000,
    uuid,
  }
  const session = createSession(store)
  const backend: Backend = {
    engine: 'embedded',
    keepsSessions: true,
    hosts: 1,
    description: 'PostgreSQL 18, modelled',
    filesBornAt: '',
    pool: poolOf(session, options.isRemote ?? false),
    ensureRoom() {},
    freeBytes: () => null,
    close: async () => {},
  }
  const random = { bytes: (length: number) => new Uint8Array(length) }
  return { session, db: createDatabase(backend, { dataDir: '', log: silentLog, clock, random }) }
}

/** One connection, lent to one after the other. */
function poolOf(session: Session, isRemote: boolean): pg.Pool {
  const waiting: ((client: pg.PoolClient) => void)[] = []
  let isIdle = true
  const client = { query: clientQuery(session, isRemote), release } as unknown as pg.PoolClient

  function release(isLost?: boolean): void {
    // A connection that ends takes its transaction along.
    if (isLost) session.ask('rollback')
    const next = waiting.shift()
    if (next) next(client)
    else isIdle = true
  }

  const pool = {
    get waitingCount() {
      return waiting.length
    },
    get idleCount() {
      return isIdle ? 1 : 0
    },
    totalCount: 1,
    connect() {
      if (!isIdle) return new Promise<pg.PoolClient>((resolve) => void waiting.push(resolve))
      isIdle = false
      return Promise.resolve(client)
    },
  }
  return pool as unknown as pg.Pool
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

type Asked = string | { readonly name?: string; readonly text: string; readonly values?: readonly unknown[] }

function clientQuery(session: Session, isRemote: boolean) {
  const { prepared } = session.store
  return async (asked: Asked): Promise<unknown> => {
    const { name, text, values } = typeof asked === 'string' ? { text: asked } : asked
    if (name !== undefined) prepared.set(name, (prepared.get(name) ?? 0n) + 1n)
    if (isRemote) await turn()
    const answers = session.ask(text, values)
    if (isRemote) await turn()
    return answers.length === 1 ? answers[0] : answers
  }
}
