// Loaded before the process is taken over: it takes a second, and no universe should wait for it.
import '../../src/rails/mpp/verifier.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { chanceOf } from './chance.ts'
import { openMemoryStore, type StoreTime } from './engine.ts'
import { takeOverProcess } from './process.ts'
import type { Stage } from './universe.ts'
import { foundWorld } from './world.ts'

/** Once per process: the world is founded, the store filled, and time is no longer the machine's. */
export async function buildStage(): Promise<Stage> {
  takeOverProcess()
  const world = await foundWorld()
  const time: StoreTime = { isAsked: 0 }
  const store = await openMemoryStore(time, async (db) => {
    const players = createSandboxPlayers(db, chanceOf(0, 'players'))
    for (const { nickname, address } of world.payers) await players.create({ nickname, address })
  })
  return { world, store, time }
}
