import { systemClock } from '../base/clock.ts'
import { claimFolder } from '../base/data-folder.ts'
import { systemRandom } from '../base/id.ts'
import { stderrLog } from '../base/log.ts'
import { providerTransport } from '../chain/transport.ts'
import type { LoadedConfig } from '../config/load.ts'
import { consoleRoutes } from '../sandbox/console.ts'
import { createSandboxPlayers, seedSandboxGame } from '../sandbox/players.ts'
import { withOutages } from '../sandbox/practice.ts'
import { sandboxRoutes } from '../sandbox/routes.ts'
import { startWorld, type World } from '../sandbox/world.ts'
import { type Database, openDatabase } from '../store/db.ts'
import type { Parts } from './parts.ts'
import { type Service, startService } from './service.ts'

/** A shop with a world of its own around it: chains, money, contracts, players. */
type SandboxShop = { readonly service: Service; readonly world: World; stop(): Promise<void> }

type SandboxLoaded = Extract<LoadedConfig, { mode: 'sandbox' }>

export async function startSandbox(loaded: SandboxLoaded, parts: Pick<Parts, 'doctor'> = {}): Promise<SandboxShop> {
  const log = stderrLog(loaded.common.logLevel)
  const { dataDir, url, poolSize } = loaded.common.store
  // Chains and store are one: they are claimed together, and let go together.
  const folder = claimFolder(dataDir)
  const place = { dataDir, folder, poolSize, ...(url === undefined ? {} : { url }) }
  const [world, database] = await openBoth(
    startWorld(loaded),
    openDatabase({ ...place, clock: systemClock, random: systemRandom, log }),
  ).catch((error) => {
    folder.release()
    throw error
  })
  // The shop goes first: what it finishes on its way out, it finishes on these chains and in this store.
  const close = () => closeBoth(world, database).finally(folder.release)
  try {
    const { native, tempo } = world.chains
    const service = await startService(world.config, {
      ...parts,
      log,
      database,
      // Most sandboxes are looked at first: what only payments need comes with the first of them, and costs that one a second.
      startsCold: true,
      transports: new Map(
        [native, tempo].map((chain) => [chain.chainId, providerTransport(withOutages(chain, world.outages))]),
      ),
      async furnish() {
        await seedSandboxGame(database)
        return [
          ...sandboxRoutes(world, createSandboxPlayers(database, systemRandom)),
          ...consoleRoutes({ config: world.config, database, clock: systemClock, random: systemRandom }),
        ]
      },
    })
    return { service, world, stop: () => service.stop().then(close) }
  } catch (error) {
    await close()
    throw error
  }
}

/** Each takes seconds at its first start, and neither needs the other. When one fails, the other is not left open. */
async function openBoth(world: Promise<World>, database: Promise<Database>): Promise<[World, Database]> {
  try {
    return await Promise.all([world, database])
  } catch (error) {
    const opened = await Promise.allSettled([world, database])
    await Promise.all(opened.map((one) => (one.status === 'fulfilled' ? one.value.close() : undefined)))
    throw error
  }
}

/** Neither is left half closed because the other failed. */
async function closeBoth(world: World, database: Database): Promise<void> {
  const closed = await Promise.allSettled([world.close(), database.close()])
  for (const one of closed) if (one.status === 'rejected') throw one.reason
}
