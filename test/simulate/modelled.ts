import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/base/clock.ts'
import { seedSandboxGame } from '../../src/sandbox/players.ts'
import type { Database } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
import type { StoreTime } from './engine.ts'
import { gateOf } from './gate.ts'
import { parserLoaded } from './model/ast.ts'
import type { Session } from './model/session.ts'
import { openModel } from './model/store.ts'
import type { SimStore } from './store.ts'
import { gatedDatabase } from './store-gate.ts'

/** A model of the store with all that every universe begins with, and the session behind it. */
export type Modelled = Pick<SimStore, 'db' | 'bare' | 'reset' | 'backUp' | 'restore'> & { readonly session: Session }

/** On a model of the store: the shop's own statements and migrations on tables that are lists of rows. */
export async function openModelStore(time: StoreTime, furnish: (db: Database) => Promise<void>): Promise<SimStore> {
  const { session, ...store } = await foundModel({ time, furnish, uuid: drawnUuid })
  const { db, bare } = store
  return {
    ...store,
    open: ({ sim, actor, wires, mishap, memory }) =>
      gatedDatabase({ sim, db, outside: db, bare, gate: gateOf(sim, actor, wires, mishap), memory }),
    hangUp: async () => {},
    differences: async () => session.store.unknown.splice(0),
    close: async () => {},
  }
}

type Founding = {
  readonly time: StoreTime
  furnish(db: Database): Promise<void>
  uuid(): string
}

export async function foundModel({ time, furnish, uuid }: Founding): Promise<Modelled> {
  await parserLoaded()
  const clock: Clock = { now: () => Date.now(), sleep: () => new Promise<void>(setImmediate) }
  const { session, db } = openModel({ now: () => storeTime(time), uuid, clock })
  await migrate(db)
  await seedSandboxGame(db)
  await furnish(db)
  const { store } = session
  const founded = store.state
  const tables = [...founded.catalogue.tables.values()]
  let backup = founded
  return {
    session,
    db,
    bare: new Set(tables.filter(({ id }) => founded.heaps[id]!.rows.length === 0).map(({ name }) => name)),
    async reset() {
      store.state = founded
      backup = founded
      store.births = 0
      store.sequences.clear()
      store.settings.clear()
    },
    async backUp() {
      backup = store.state
    },
    async restore() {
      store.state = backup
      store.births++
    },
  }
}

/** The process clock is the store's own while it is asked, whoever asks. */
function storeTime(time: StoreTime): number {
  time.isAsked++
  const now = Date.now()
  time.isAsked--
  return now
}

function drawnUuid(): string {
  const bytes = randomBytes(16)
  bytes[6] = (bytes[6]! & 0x0f) | 0x40
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
