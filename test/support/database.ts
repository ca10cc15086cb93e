import { rmSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { silentLog } from '../../src/base/log.ts'
import type { EngineName } from '../../src/store/backend.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../src/store/db.ts'
import { createDataDir } from './embedded.ts'
import { createDatabase, type TestDatabase } from './postgres.ts'
import { end, giveBack, type Lent, lend, type Spare, takeSpare } from './spare.ts'

/** Both engines pass the same cases. There is no way to ask for one of them only. */
export const engines: readonly EngineName[] = ['embedded', 'postgres']

/** An empty, migrated database that no other test knows of. */
export type TestStore = {
  readonly engine: EngineName
  readonly db: Database
  /** What a second process needs to open the same database. */
  readonly place: Pick<DatabaseOptions, 'url' | 'dataDir'>
  /** A second handle, as another replica has one. The embedded engine has a single one, so it hands out the same. */
  replica(): Promise<Database>
  drop(): Promise<void>
}

export async function openStore(engine: EngineName, overrides: Partial<DatabaseOptions> = {}): Promise<TestStore> {
  return engine === 'embedded' ? openEmbeddedStore(overrides) : openPostgresStore(overrides)
}

/** The parts of the options that every test shares. */
export const quiet = { log: silentLog, clock: systemClock, random: systemRandom, roomBytesMin: 2 << 20 }

async function openEmbeddedStore(overrides: Partial<DatabaseOptions>): Promise<TestStore> {
  const dataDir = await createDataDir()
  const db = await openDatabase({ ...quiet, dataDir, ...overrides })
  return {
    engine: 'embedded',
    db,
    place: { dataDir },
    replica: async () => db,
    async drop() {
      await db.close()
      rmSync(dataDir, { recursive: true })
    },
  }
}

async function openPostgresStore(overrides: Partial<DatabaseOptions>): Promise<TestStore> {
  const { poolSize, ...others } = overrides
  if (Object.keys(others).length > 0) return storeIn(await createDatabase(), overrides)
  const { database, handles, how } = await takeSpare(String(poolSize))
  return storeIn(database, overrides, { handles, end: (back) => giveBack({ ...back, how }) })
}

/** A replica may still write into this one when its test ends: nobody gets it afterwards. */
export async function openBackup(): Promise<TestStore> {
  return storeIn(await createDatabase())
}

/** Whoever has it after the test, and who is connected to it already. */
type Around = { readonly end: (back: Omit<Spare, 'how'>) => Promise<void>; readonly handles: readonly Database[] }

/** The same in a database that is there already. */
export async function storeIn(
  database: TestDatabase,
  overrides: Partial<DatabaseOptions> = {},
  around: Around = { end, handles: [] },
): Promise<TestStore> {
  const place = { url: database.url, dataDir: '' }
  const free = [...around.handles]
  const lent: Lent[] = []
  async function open(): Promise<Database> {
    const one = lend(free.pop() ?? (await openDatabase({ ...quiet, ...place, ...overrides })))
    lent.push(one)
    return one.db
  }
  const db = await open()
  let isKnownElsewhere = false
  return {
    engine: 'postgres',
    db,
    get place() {
      isKnownElsewhere = true
      return place
    },
    replica: open,
    async drop() {
      const handles = [...free, ...lent.map((one) => one.takeBack()).filter((handle) => handle !== null)]
      // Who was told where it is may come back to it.
      await (isKnownElsewhere ? end : around.end)({ database, handles })
    },
  }
}
