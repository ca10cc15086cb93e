import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { type Config, withChains } from '../../config/config.ts'
import { readKeyring } from '../../config/keyring.ts'
import { type LoadedConfig, loadConfig } from '../../config/load.ts'
import { ConfigFault, type Environment } from '../../config/options.ts'
import { sellingAccounts } from '../../rails/kind.ts'
import { rails } from '../../rails/rails.ts'
import { sandboxConfig } from '../../sandbox/world.ts'
import type { Database } from '../../store/db.ts'
import { pendingMigrations } from '../../store/migrate.ts'
import { storeTime } from '../../store/time.ts'
import { createGameClient } from '../../surfaces/shop/game-client.ts'
import { healthAnswer } from '../../surfaces/shop/game-wire.ts'
import { withStore } from '../store-access.ts'
import { type Diagnosis, FoundTrouble, look, skipped } from './finding.ts'

/** The configuration as the shop would read it. In the sandbox the chains are asked through the shop at `url`. */
export function readConfiguration(
  env: Environment,
  url: string,
): { readonly config: Config | null; readonly findings: readonly Diagnosis[] } {
  let loaded: LoadedConfig
  try {
    loaded = loadConfig(env)
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
    const findings = error.issues.map(({ option, message }): Diagnosis => {
      const fix = `Change ${option} as it says; .env.example explains every option.`
      return { area: 'configuration', what: option, severity: 'fail', detail: `${option} ${message}`, fix }
    })
    return { config: null, findings }
  }
  const config = loaded.mode === 'production' ? loaded.config : withRpc(sandboxConfig(loaded), url)
  const mode: Diagnosis = {
    area: 'configuration',
    what: 'options',
    severity: 'ok',
    detail: `${config.mode}, public at ${config.http.baseUrl}`,
    fix: null,
  }
  return {
    config,
    findings: [mode, ...(config.mode === 'production' ? [...advice(config), ...missingContracts(env, config)] : [])],
  }
}

function withRpc(config: Config, url: string): Config {
  return withChains(config, (chain) => ({ ...chain, rpcUrls: [`${url}/sandbox/rpc/${chain.chainId}`] }))
}

/** What is allowed and yet worth a second thought before real money is taken. */
function advice({ http, operatorToken, store, service }: Config): readonly Diagnosis[] {
  const warn = (what: string, detail: string, fix: string): Diagnosis => ({
    area: 'configuration',
    what,
    severity: 'warn',
    detail,
    fix,
  })
  return [
    ...(operatorToken === null
      ? [warn('operator', 'There are no operator routes, metrics or webhooks.', 'Set SUTLER_OPERATOR_TOKEN.')]
      : []),
    ...(store.url === undefined
      ? [warn('store', 'The embedded store serves one process only.', 'Set DATABASE_URL to run replicas.')]
      : []),
    ...(new URL(http.baseUrl).protocol === 'http:'
      ? [warn('base URL', 'Agents outside this machine cannot pay it.', 'Set SUTLER_BASE_URL to an https address.')]
      : []),
    ...(service.contactEmail === null
      ? [warn('contact', 'Directories and buyers find no address.', 'Set SUTLER_CONTACT_EMAIL.')]
      : []),
  ]
}

/** Whoever has made the key of a surface wants to sell there. */
function missingContracts(env: Environment, { game, notSold }: Config): readonly Diagnosis[] {
  const { keys } = readKeyring(env)
  const wanted = keys.filter(({ isSet }) => isSet).map(({ role }) => role.surface)
  const missing = wanted.filter((surface) => surface !== null && !game[surface] && !notSold.has(surface))
  const token = missing.includes('craft') ? ' --craft-token <address or Name:SYMBOL>' : ''
  const fix = `Run \`sutler contracts deploy --key-file keys/deployer.key --owner <cold address>${token}\`; it fills in the addresses.`
  return missing.map((name) => ({
    area: 'configuration',
    what: `${name} contract`,
    severity: 'fail',
    detail: 'There is a key for it and no contract.',
    fix,
  }))
}

export async function checkStore(config: Config, isRunning: boolean): Promise<readonly Diagnosis[]> {
  const { store } = config
  const fix = store.url === undefined ? 'Restore the data folder from a backup.' : 'Check DATABASE_URL and the server.'
  if (store.url === undefined && isRunning)
    return [skipped('store', 'embedded', 'The running shop has the folder; see its own health below.')]
  if (store.url === undefined && !existsSync(join(store.dataDir, 'lock')))
    return [skipped('store', 'embedded', `There is nothing in ${store.dataDir} yet; the first start fills it.`)]
  const findings: Diagnosis[] = []
  const opened = await look({ area: 'store', what: 'opens', fix }, () =>
    withStore(store, async (database) => {
      findings.push(await checkTables(database), await checkTime(database))
      return database.description
    }),
  )
  return [opened, ...findings]
}

function checkTables(database: Database): Promise<Diagnosis> {
  const fix = 'Run `sutler migrate`, or let the next start do it.'
  return look({ area: 'store', what: 'tables', fix }, async () => {
    const pending = await pendingMigrations(database)
    if (pending.length > 0) throw new FoundTrouble('warn', `Missing: ${pending.join(', ')}.`, fix)
    return 'up to date'
  })
}

const SKEW_MS_MAX = 5_000
const SYNC = 'Set the clock of this machine, for example with an NTP service.'

function checkTime(database: Database): Promise<Diagnosis> {
  return look({ area: 'clock', what: 'store', fix: SYNC }, async () =>
    compareClocks('the store', (await storeTime(database)) - systemClock.now()),
  )
}

/** Challenges and signatures live for minutes: a clock that is off by more refuses good payments. */
export function compareClocks(other: string, offMs: number): string {
  const off = Math.abs(Math.round(offMs))
  if (off > SKEW_MS_MAX) throw new FoundTrouble('warn', `This machine is ${off} ms away from ${other}.`, SYNC)
  return `agrees with ${other}`
}

/** Whoever settles for us, where we do not do so ourselves. */
export async function checkFacilitator(config: Config): Promise<readonly Diagnosis[]> {
  const outside = sellingAccounts(rails, config).flatMap((account) => account.outside)
  if (outside.length === 0) return [skipped('facilitator', 'inproc', 'The shop settles payments by itself.')]
  return Promise.all(outside.map((service) => look({ ...service, area: 'facilitator' }, service.look)))
}

export async function checkGame({ game, limits }: Config): Promise<readonly Diagnosis[]> {
  const { backend } = game
  if (backend.kind === 'embedded') return [skipped('game', 'embedded', 'Players and items are in the store.')]
  const fix = 'Start the backend, and check that SUTLER_GAME_BACKEND_SECRET is the same on both sides.'
  const client = createGameClient({ ...backend, timeoutMs: limits.gameTimeoutMs, clock: systemClock })
  const finding = await look({ area: 'game', what: backend.url, fix }, async () => {
    await client.read({ method: 'GET', path: '/health' }, healthAnswer)
    return 'answers, and its signature is right'
  })
  return [finding]
}
