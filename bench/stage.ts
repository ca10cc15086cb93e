import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Hex, toHex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { loadConfig } from '../src/config/load.ts'
import { type DevChains, startDevChains } from '../src/devchain/chains.ts'
import { serveRpc } from '../src/devchain/server.ts'
import { seedSandboxGame } from '../src/sandbox/players.ts'
import { startWorld } from '../src/sandbox/world.ts'
import { fundedWallet } from '../test/support/buyers.ts'
import type { RailUnderTest } from '../test/support/credentials.ts'
import { storeIn } from '../test/support/database.ts'
import { createDatabase, onServer, type TestDatabase } from '../test/support/postgres.ts'
import type { TestShop } from '../test/support/shop.ts'
import { type Measured, startMeasured } from './measured.ts'

/** What all sellers of a bench stand on: the same chains, each in a process of its own. */
export type Stage = Pick<TestShop, 'chains' | 'config'> & {
  readonly rpcUrls: { readonly 84532: string; readonly 42431: string }
  start(file: string, order: unknown): Promise<Measured>
  /** A store with the players and the shelves of the sandbox. */
  database(): Promise<TestDatabase>
  /** A key with gas. */
  fundedKey(): Promise<Hex>
  /** Headers that each pay for the same call, made before any clock runs: a seller does not pay for its buyers' CPU. */
  payments(rail: RailUnderTest, order: PaymentOrder): Promise<readonly string[]>
  close(): Promise<void>
}

type PaymentOrder = {
  readonly url: string
  readonly init?: RequestInit
  readonly count: number
  /** Strangers, unless the good is only for players. */
  readonly payer?: PrivateKeyAccount
}

export async function openStage(options: { readonly blockTimeMs?: number } = {}): Promise<Stage> {
  const chains = await startDevChains(options)
  const rpc = await serveRpc([chains.native, chains.tempo])
  const loaded = loadConfig({})
  if (loaded.mode !== 'sandbox') throw new TypeError('the bench runs the sandbox')
  const { config } = await startWorld(loaded, chains)
  const servers: Measured[] = []
  const databases: TestDatabase[] = []
  return {
    chains,
    config,
    rpcUrls: { 84532: `${rpc.url}/84532`, 42431: `${rpc.url}/42431` },
    async start(file, order) {
      const server = await startMeasured(join(import.meta.dirname, 'servers', file), order)
      servers.push(server)
      return server
    },
    async database() {
      const database = await createDatabase()
      databases.push(database)
      const { db } = await storeIn(database)
      await seedSandboxGame(db)
      await db.close()
      return database
    },
    fundedKey: () => fundedKey(chains),
    async payments(rail, { url, init, count, payer }) {
      const market = { chains, config }
      const wallets = payer ? [await fundedWallet(market, 1_000n, payer)] : await strangers(market, count)
      const headers: string[] = []
      for (let i = 0; i < count; i++)
        headers.push(await rail.pay(market, wallets[i % wallets.length]!, await fetch(url, init)))
      return headers
    },
    async close() {
      for (const server of servers) server.stop()
      await rpc.close()
      await chains.close()
      for (const database of databases) await database.drop()
    },
  }
}

/** More than buy at one moment: nobody has a second purchase open, for which a shop must ask what they have. */
const STRANGERS_MAX = 64

function strangers(market: Pick<Stage, 'chains' | 'config'>, count: number): Promise<readonly PrivateKeyAccount[]> {
  return Promise.all(Array.from({ length: Math.min(count, STRANGERS_MAX) }, () => fundedWallet(market)))
}

async function fundedKey(chains: DevChains): Promise<Hex> {
  const key = generatePrivateKey()
  const params = [privateKeyToAccount(key).address, toHex(10n ** 20n)]
  await chains.native.request({ method: 'dev_setBalance', params })
  return key
}

/** What PostgreSQL has spent by itself, all of its processes together. Linux tells, in hundredths of a second. */
export function postgresCpuMicros({ url }: TestDatabase): Promise<number> {
  return onServer(url, async (client) => {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const server = timesOf(rows[0]!.pid)!.parent
    const all = readdirSync('/proc').map((name) => (/^\d+$/.test(name) ? timesOf(Number(name)) : null))
    const living = all.filter((times) => times?.parent === server).map((times) => times!.own)
    const { own, ended } = timesOf(server)!
    return [own, ended, ...living].reduce((sum, ticks) => sum + ticks) * 10_000
  })
}

type Times = { readonly parent: number; readonly own: number; readonly ended: number }

/** Null of a process that has ended meanwhile. */
function timesOf(pid: number): Times | null {
  try {
    const [, parent, ...rest] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ').map(Number)
    const [user, system, endedUser, endedSystem] = rest.slice(9, 13) as [number, number, number, number]
    return { parent: parent!, own: user + system, ended: endedUser + endedSystem }
  } catch {
    return null
  }
}
