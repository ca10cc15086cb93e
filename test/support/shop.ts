import type { Address } from '../../src/base/address.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Hex } from '../../src/base/hex.ts'
import { systemRandom } from '../../src/base/id.ts'
import type { Log } from '../../src/base/log.ts'
import type { Waypoint } from '../../src/base/waypoint.ts'
import { providerTransport, type RpcTransport } from '../../src/chain/transport.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { Block } from '../../src/devchain/blocks/block.ts'
import type { DevChain } from '../../src/devchain/chain.ts'
import { createDevChain } from '../../src/devchain/chain.ts'
import type { DevChains } from '../../src/devchain/chains.ts'
import { consoleRoutes } from '../../src/sandbox/console.ts'
import { createSandboxPlayers, seedSandboxGame } from '../../src/sandbox/players.ts'
import { withOutages } from '../../src/sandbox/practice.ts'
import { sandboxRoutes } from '../../src/sandbox/routes.ts'
import { foundWorld, startWorld, type World } from '../../src/sandbox/world.ts'
import type { Parts } from '../../src/service/parts.ts'
import { type Service, startService } from '../../src/service/service.ts'
import type { EngineName } from '../../src/store/backend.ts'
import type { Database } from '../../src/store/db.ts'
import { openStore, type TestStore } from './database.ts'
import { freePort } from './free-port.ts'
import './known-code.ts'
import { watchLeaks } from './leaks.ts'

export type ShopOptions = {
  /** PostgreSQL unless the test is about the embedded store: it starts faster. */
  readonly engine?: EngineName
  /** One that is there already, on a server of its own. */
  readonly store?: TestStore
  readonly env?: Readonly<Record<string, string>>
  readonly configure?: (config: Config) => Config
  readonly waypoint?: Waypoint
  readonly clock?: Clock
  readonly log?: Log
  readonly blockTimeMs?: number
  /** Stands between the shop and its chains, to lose, delay or count what passes. Several are several nodes of one chain. */
  readonly wrapTransport?: (chainId: number, transport: RpcTransport) => RpcTransport | readonly RpcTransport[]
  readonly withoutWorker?: boolean
  readonly surfaces?: Parts['surfaces']
  readonly rails?: Parts['rails']
  readonly doctor?: Parts['doctor']
  readonly poolSize?: number
  /** How long it pauses between two looks around, where a test does not say when it looks. */
  readonly lookMs?: number
  /** With the routes that only the sandbox has. */
  readonly withSandboxRoutes?: boolean
  /** Stands between the shop and its store. */
  readonly wrapDatabase?: (database: Database) => Database
}

/** A shop that looks around in the moment in which a test has silenced a chain sells nothing for seconds: tests say when it looks. */
const UNASKED_LOOK_MS = 24 * 3_600_000

/** How long a call is left to get as far as it can. What takes a tenth of a second otherwise took more than half of one on a busy machine. */
export const AS_FAR_AS_IT_CAN_MS = 2_500

/** A whole shop in this process: real store, real chains, real HTTP. */
export type TestShop = {
  readonly url: string
  readonly config: Config
  readonly world: World
  readonly chains: DevChains
  readonly store: TestStore
  readonly service: Service
  /** Another replica on the same store and chains, perhaps with another clock or configuration. */
  replica(changes?: Parts & Pick<ShopOptions, 'configure'>): Promise<Service>
  stop(): Promise<void>
}

/** Twice the cores. Each connection costs the server ten milliseconds, and a start would open six. */
const POOL_SIZE = 4

export async function startShop(options: ShopOptions = {}): Promise<TestShop> {
  const { engine = 'postgres', clock = systemClock, configure = (config) => config } = options
  const leaks = watchLeaks(options.log)
  const { poolSize = POOL_SIZE } = options
  const store = options.store ?? (await openStore(engine, { poolSize }))
  await seedSandboxGame(store.db)
  const { blockTimeMs } = options
  const chains = await startChains({
    clock,
    ...(blockTimeMs === undefined ? {} : { blockTimeMs }),
    past: await foundedPast(),
  })
  const port = await freePort()
  const loaded = loadConfig({ PORT: String(port), ...options.env })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  const world = await startWorld(loaded, chains)
  const config = configure(impatient(world.config))
  leaks.guard(config)
  const transports = transportsOf(chains, options.wrapTransport, world.outages)
  const { waypoint, surfaces, rails, doctor, withoutWorker = false } = options
  const parts = {
    startsCold: true,
    lookMs: options.lookMs ?? UNASKED_LOOK_MS,
    clock,
    log: leaks.log,
    transports,
    withoutWorker,
    ...(waypoint ? { waypoint } : {}),
    ...(surfaces ? { surfaces } : {}),
    ...(rails ? { rails } : {}),
    ...(doctor ? { doctor } : {}),
    ...(options.withSandboxRoutes
      ? {
          furnish: async () => [
            ...sandboxRoutes(world, createSandboxPlayers(store.db, systemRandom)),
            ...consoleRoutes({ config, database: store.db, clock, random: systemRandom }),
          ],
        }
      : {}),
  }
  const service = await startService(config, { ...parts, database: options.wrapDatabase?.(store.db) ?? store.db })
  const replicas: Service[] = []
  return {
    url: config.http.baseUrl,
    config,
    world,
    chains,
    store,
    service,
    async replica({ configure: reconfigure = (same: Config) => same, ...changes } = {}) {
      const own = reconfigure({ ...config, http: { ...config.http, port: await freePort() } })
      const database = changes.database ?? (await store.replica())
      const replica = await startService(own, { ...parts, ...changes, database })
      replicas.push(replica)
      return replica
    },
    async stop() {
      await Promise.all([service, ...replicas].map((running) => running.stop()))
      await world.close()
      await store.drop()
      // K-01, over all that the suite makes shops say.
      leaks.assertNothingLeaked()
    },
  }
}

/** Pauses between two tries of a delivery are for the real world, and so are limits: a test calls more often than any client. */
function impatient(config: Config): Config {
  const { limits } = config
  const rate = { unpaid: 1_000_000, quote: 1_000_000, read: 1_000_000, failed: 1_000_000 }
  // On a busy machine a server's pause may end at the very moment at which a client takes the socket up again.
  const bounds = { openOrdersPerPayer: 10_000, refundsPerPayer: 10_000, keepAliveMs: 60_000 }
  return { ...config, limits: { ...limits, ...bounds, rate, delivery: { ...limits.delivery, retryMs: 5 } } }
}

type Past = { readonly native: readonly Block[]; readonly tempo: readonly Block[] }
type ChainsOptions = { readonly clock?: Clock; readonly blockTimeMs?: number; readonly past?: Past }

let founded: Promise<Past> | undefined

/** The contracts and the money of the sandbox, built once for all shops of this process: that took a third of a start (273 ms of CPU became 190). */
function foundedPast(): Promise<Past> {
  founded ??= found()
  return founded
}

async function found(): Promise<Past> {
  const native = await createDevChain({ rules: 'native' })
  const tempo = await createDevChain({ rules: 'tempo' })
  await foundWorld({ native, tempo })
  return { native: native.blocks(), tempo: tempo.blocks() }
}

/** In memory and in this thread, so that they share the test's clock; faults can be injected. */
export async function startChains({ past, ...options }: ChainsOptions = {}): Promise<DevChains> {
  const native = await createDevChain({ ...options, past: past?.native, rules: 'native', faults: true })
  const tempo = await createDevChain({ ...options, past: past?.tempo, rules: 'tempo', faults: true })
  const close = async () => {
    await native.close()
    await tempo.close()
  }
  return { native, tempo, close }
}

/** The way to a chain that calls itself another one. */
export function answersAs(chainId: number, chain: DevChain): readonly [number, RpcTransport] {
  return [
    chainId,
    async ({ id, method, params }) => ({
      jsonrpc: '2.0',
      id,
      result:
        method === 'eth_chainId' ? `0x${chainId.toString(16)}` : await chain.request({ method, params: [...params] }),
    }),
  ]
}

/** Nothing in between. */
export function plainTransports(chains: DevChains): ReadonlyMap<number, RpcTransport | readonly RpcTransport[]> {
  return transportsOf(chains, undefined)
}

function transportsOf(
  { native, tempo }: DevChains,
  wrap: ShopOptions['wrapTransport'],
  outages: ReadonlySet<number> = new Set(),
): ReadonlyMap<number, RpcTransport | readonly RpcTransport[]> {
  return new Map(
    [native, tempo].map((chain) => {
      const transport = providerTransport(withOutages(chain, outages))
      return [chain.chainId, wrap ? wrap(chain.chainId, transport) : transport]
    }),
  )
}

/** What a chain says, read by itself and not through any answer of the shop. */
export async function erc20Balance(
  chain: { request: DevChains['native']['request'] },
  token: Address,
  owner: Address,
): Promise<bigint> {
  const data = `0x70a08231${owner.slice(2).toLowerCase().padStart(64, '0')}`
  return BigInt((await chain.request({ method: 'eth_call', params: [{ to: token, data }, 'latest'] })) as Hex)
}

export async function nftOwner(
  chain: { request: DevChains['native']['request'] },
  contract: Address,
  tokenId: string,
): Promise<Address> {
  const data = `0x6352211e${BigInt(tokenId).toString(16).padStart(64, '0')}`
  const word = (await chain.request({ method: 'eth_call', params: [{ to: contract, data }, 'latest'] })) as Hex
  return `0x${word.slice(26)}`
}
