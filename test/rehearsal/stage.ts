import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import tls from 'node:tls'
import { parseEnv } from 'node:util'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { giveGas, giveToken } from '../../src/sandbox/world.ts'
import { mined, wallet } from '../devchain/support.ts'
import { post } from '../support/buyers.ts'
import { freePort } from '../support/free-port.ts'
import { createEmptyDatabase, onServer, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { authorityIn, installCaddyfile } from './caddy.ts'
import { type Game, type Networks, PATH_USD, startGame, startNetworks, USDC } from './networks.ts'
import { blockWith } from './page.ts'
import type { Market } from './purchases.ts'
import { openTerminal, type Terminal } from './terminal.ts'

/** Everything around a shop that does not exist yet: networks, a database, an empty folder, and a studio's decisions. */
export type Stage = {
  readonly networks: Networks
  readonly database: TestDatabase
  readonly game: Game
  readonly terminal: Terminal
  readonly till: Address
  readonly ports: readonly number[]
  readonly url: string
  /** Sends each address what the list of `sutler init` says that it needs. */
  fund(said: string): Promise<void>
  /** A proxy without a public name is its own authority: from now on we and every command trust it. */
  trustProxy(): Promise<void>
  /** What the Transaction Builder of a Safe does with such a file: the owner signs each transaction, in their order. */
  execute(file: string): Promise<void>
  startReplica(port: number): Promise<void>
  stopReplica(port: number): Promise<void>
  areReady(): Promise<void>
  /** Nobody but us is connected to the database: every process of the shop has ended. */
  isDeserted(): Promise<boolean>
  /** The shop's own word, for what only its operator may ask. Null when nobody answers. An address is that of one replica. */
  ask<Answer>(path: string, init?: RequestInit): Promise<Answer | null>
  /** An address that the commands have written into .env. */
  configured(option: string): Address
  market(): Market
  close(): Promise<void>
}

export async function openStage(): Promise<Stage> {
  const [networks, database] = await Promise.all([startNetworks(), createEmptyDatabase()])
  const ports = [await freePort(), await freePort()]
  const game = await startGame(networks.chains)
  const url = `https://localhost:${await freePort()}`
  const owner = privateKeyToAccount(generatePrivateKey())
  const [till, wallet] = [generatePrivateKey(), generatePrivateKey()].map((key) => privateKeyToAccount(key).address)
  const values = {
    ...{ USER: 'mara', SHOP_URL: url, NETWORKS: 'base-sepolia,tempo-moderato', NODES: networks.nodes, PAY_TO: till! },
    ...{ OWNER: owner.address, DATABASE_URL: database.url, CONTACT: 'shop@studio.test', CRAFT_TOKEN: 'Ember:EMBER' },
    ...{ COLLECTIONS: game.collection, PASS_URI: 'https://studio.test/pass.json', PLAYER: 'Nell', WALLET: wallet! },
    PORTS: ports.join(' '),
    // The proxy looks every second whether a replica is ready; and all agents come from one address here.
    ...{ SUTLER_DRAIN_SECONDS: '2', SUTLER_RATE_UNPAID: '10000', SUTLER_RATE_READ: '10000' },
  }
  const folder = mkdtempSync(join(tmpdir(), 'sutler-rehearsal-'))
  await installCaddyfile(folder)
  const terminal = openTerminal(folder, { ...values, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder })
  const over = new AbortController()

  async function ask<Answer>(path: string, init: RequestInit = {}): Promise<Answer | null> {
    const own = join(folder, 'keys/mara.key')
    const token = readFileSync(existsSync(own) ? own : join(folder, 'keys/operator.key'), 'utf8').trim()
    const headers = { ...init.headers, authorization: `Bearer ${token}` }
    const response = await fetch(new URL(path, url), { ...init, headers }).catch(() => null)
    return response?.ok ? ((await response.json()) as Answer) : null
  }

  const configured = (option: string) => parseEnv(readFileSync(join(folder, '.env'), 'utf8'))[option] as Address

  return {
    ...{ networks, database, game, terminal, till: till!, ports, url, ask, configured },
    fund: (said) => fundAll(networks, said),
    async trustProxy() {
      const certificate = authorityIn(folder)
      await until(() => existsSync(certificate) && readFileSync(certificate, 'utf8').includes('END CERTIFICATE'))
      tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(certificate, 'utf8')])
      terminal.set({ NODE_EXTRA_CA_CERTS: certificate })
    },
    async execute(file) {
      const { transactions } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { transactions: Sent[] }
      await signAll(networks, owner, transactions)
    },
    async startReplica(port) {
      await terminal.run(replacing('sutler start'), { PORT: String(port) })
      await isReady(port)
    },
    async stopReplica(port) {
      await terminal.run(replacing('kill "$(cat'), { PORT: String(port) })
      await until(async () => (await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => null)) === null)
    },
    areReady: async () => void (await Promise.all(ports.map(isReady))),
    isDeserted: async () => (await sessions(database.url)) === 0,
    market: () => ({
      ...{ url, networks, game, over: over.signal },
      controller: configured('SUTLER_CRAFT_CONTROLLER'),
      async addPlayer(nickname, address) {
        const player = post({ nickname, address })
        await until(async () => over.signal.aborted || (await ask('/operator/players', player)) !== null)
      },
    }),
    async close() {
      over.abort()
      terminal.close()
      await networks.stop()
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const replacing = (words: string) => blockWith('Scaling, stopping, upgrading', words)

function isReady(port: number): Promise<void> {
  return until(async () => (await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null))?.ok)
}

async function fundAll({ chains }: Networks, said: string): Promise<void> {
  const listed = [...said.matchAll(/^ +\S+ +(0x\w{40}) +(base-sepolia|tempo-moderato) +(.*)$/gm)]
  if (listed.length < 6) throw new Error(`too few addresses are listed: ${said}`)
  for (const [, address, network, needs] of listed) {
    const isNative = network === 'base-sepolia'
    const chain = isNative ? chains.native : chains.tempo
    if (needs!.includes('gas')) await giveGas(chain, address as Address, 10n ** 18n)
    if (needs!.includes('float')) await giveToken(chain, isNative ? USDC : PATH_USD, address as Address, 100_000_000n)
  }
}

type Sent = { readonly to: Address; readonly data: Hex }

async function signAll(
  { chains: { native } }: Networks,
  owner: Parameters<typeof wallet>[1],
  transactions: readonly Sent[],
): Promise<void> {
  const signer = wallet(native, owner)
  await giveGas(native, signer.account.address, 10n ** 18n)
  for (const { to, data } of transactions) await mined(signer, signer.sendTransaction({ to, data }))
}

async function sessions(databaseUrl: string): Promise<number> {
  const { rows } = await onServer(databaseUrl, (client) =>
    client.query<{ n: number }>(
      'select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    ),
  )
  return rows[0]!.n
}
