// What the most-read documents cost a server in CPU time, beside Hono handing out the very same bytes.
//   node bench/documents.ts [--shots=5000] [--rounds=7]
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/id.ts'
import { silentLog } from '../src/base/log.ts'
import { loadConfig } from '../src/config/load.ts'
import { sandboxKey } from '../src/config/published.ts'
import { startDevChains } from '../src/devchain/chains.ts'
import { serveRpc } from '../src/devchain/server.ts'
import { seedSandboxGame } from '../src/sandbox/players.ts'
import { startWorld } from '../src/sandbox/world.ts'
import { openDatabase } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { freePort } from '../test/support/free-port.ts'
import { createDatabase } from '../test/support/postgres.ts'
import { cpuMicrosPerShot, type Measured, median, startMeasured } from './measured.ts'

const paths = ['/openapi.json', '/catalog'] as const
type Path = (typeof paths)[number]

export type DocumentBench = {
  /** CPU µs per answer; medians over interleaved rounds. */
  readonly figures: readonly {
    readonly path: Path
    readonly bytes: number
    readonly bareMicros: number
    readonly ownMicros: number
    /** Median of the ratios of each round. */
    readonly timesBare: number
  }[]
  readonly isWithinBounds: boolean
}

const TIMES_BARE_MAX = 1.3

export async function benchDocuments({ shots = 5_000, rounds = 7 } = {}): Promise<DocumentBench> {
  const database = await createDatabase()
  const chains = await startDevChains()
  const rpc = await serveRpc([chains.native, chains.tempo])
  const servers: Measured[] = []
  const start = async (file: string, order: unknown) => {
    const server = await startMeasured(join(import.meta.dirname, 'servers', file), order)
    servers.push(server)
    return server
  }
  try {
    const loaded = loadConfig({})
    if (loaded.mode !== 'sandbox') throw new TypeError('the bench runs the sandbox')
    await startWorld(loaded, chains)
    await fillShelves(database.url)
    const own = await start('sutler.ts', {
      rpcUrls: { 84532: `${rpc.url}/84532`, 42431: `${rpc.url}/42431` },
      databaseUrl: database.url,
      port: await freePort(),
      settlerKey: sandboxKey('settler').reveal(),
    })
    const texts = await Promise.all(
      paths.map(async (path) => [path, await (await fetch(own.url + path)).text()] as const),
    )
    const bare = await start('bare-documents.ts', Object.fromEntries(texts))

    const samples: Record<Path, { own: number[]; bare: number[] }> = {
      '/openapi.json': { own: [], bare: [] },
      '/catalog': { own: [], bare: [] },
    }
    for (let round = 0; round <= rounds; round++) {
      // Interleaved, so that a neighbour's burst of work falls on both. The first round warms up.
      for (const path of paths) {
        const volley = Array.from({ length: shots }, () => ({ path, expects: 200 }))
        const bareMicros = await cpuMicrosPerShot(bare, volley)
        const ownMicros = await cpuMicrosPerShot(own, volley)
        if (round === 0) continue
        samples[path].bare.push(bareMicros)
        samples[path].own.push(ownMicros)
      }
    }
    const figures = texts.map(([path, text]) => {
      const { own, bare } = samples[path]
      return {
        path,
        bytes: Buffer.byteLength(text),
        bareMicros: median(bare),
        ownMicros: median(own),
        timesBare: median(own.map((micros, round) => micros / bare[round]!)),
      }
    })
    return { figures, isWithinBounds: figures.every(({ timesBare }) => timesBare <= TIMES_BARE_MAX) }
  } finally {
    for (const server of servers) server.stop()
    await rpc.close()
    await chains.close()
    await database.drop()
  }
}

/** A catalog with nothing on it would be too cheap to tell anything. */
async function fillShelves(url: string): Promise<void> {
  const database = await openDatabase({ url, dataDir: '', log: silentLog, clock: systemClock, random: systemRandom })
  await migrate(database, { log: silentLog })
  await seedSandboxGame(database)
  await database.close()
}

export function printDocuments({ figures }: DocumentBench): void {
  console.log(`CPU µs per answer         bytes    Hono  Sutler   ratio, at most ${TIMES_BARE_MAX}`)
  for (const { path, bytes, bareMicros, ownMicros, timesBare } of figures)
    console.log(
      `  ${path.padEnd(20)}${String(bytes).padStart(9)}${bareMicros.toFixed(1).padStart(8)}${ownMicros.toFixed(1).padStart(8)}${timesBare.toFixed(2).padStart(8)}`,
    )
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { shots: { type: 'string' }, rounds: { type: 'string' } } })
  const numbers = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]))
  const bench = await benchDocuments(numbers)
  printDocuments(bench)
  process.exitCode = bench.isWithinBounds ? 0 : 1
}
