// Loaded before the process is taken over: it takes a second, and no universe should wait for it.
import '../../src/rails/mpp/verifier.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import type { Database } from '../../src/store/db.ts'
import { createEmptyDatabase } from '../support/postgres.ts'
import { chanceOf } from './chance.ts'
import { openMemoryStore, type StoreTime } from './engine.ts'
import { openPostgresStore } from './postgres.ts'
import { takeOverProcess } from './process.ts'
import type { Stage } from './universe.ts'
import { foundWorld } from './world.ts'

/** On which store: the embedded engine in memory, or PostgreSQL with its locks. */
export const DEPTHS = ['memory', 'postgres'] as const
export type Depth = (typeof DEPTHS)[number]

/** Once per process: the world is founded, the store filled, and time is no longer the machine's. */
export async function buildStage(depth: Depth): Promise<Stage> {
  // Before there is no chance any more: two processes must not give it the same name.
  const database = depth === 'postgres' ? await createEmptyDatabase() : null
  takeOverProcess()
  const world = await foundWorld()
  const time: StoreTime = { isAsked: 0 }
  const furnish = async (db: Database) => {
    const players = createSandboxPlayers(db, chanceOf(0, 'players'))
    for (const { nickname, address } of world.payers) await players.create({ nickname, address })
  }
  const store =
    depth === 'postgres' ? await openPostgresStore(database!, furnish) : await openMemoryStore(time, furnish)
  return { world, store, time }
}
