import { cwd } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { isoTime, systemClock } from '../base/clock.ts'
import { stringify } from '../base/json.ts'
import { stderrLog } from '../base/log.ts'
import { IS_PACKED, VERSION } from '../base/version.ts'
import { readClientConfig } from '../config/client.ts'
import { type Config, type HttpConfig, publicUrls } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { sellingAccounts } from '../rails/kind.ts'
import { rails } from '../rails/rails.ts'
import { type Banner, sandboxBanner } from '../sandbox/banner.ts'
import { startSandbox } from '../service/sandbox.ts'
import { type Service, startService } from '../service/service.ts'
import type { CommandCall } from './command.ts'
import type { Output } from './output.ts'
import type { Terminal } from './terminal.ts'

/** A shop that is open, and what is said of it. */
type RunningShop = { readonly output: Output; stop(): Promise<void> }

export async function openShop(
  loaded: LoadedConfig,
  { terminal, env }: Pick<CommandCall, 'terminal' | 'env'>,
): Promise<RunningShop> {
  // It is loaded when somebody asks for it.
  const doctor = async () => (await import('./doctor.ts')).diagnose(env, ownUrl(loaded))
  if (loaded.mode === 'production') {
    const service = await startService(loaded.config, { doctor })
    await tellOfFirst(service, loaded.config)
    return { output: productionOutput(loaded.config, service.url), stop: service.stop }
  }
  const { world, stop } = await openSandbox(loaded, { doctor })
  const { mode, http } = world.config
  const banner = sandboxBanner(world, cwd())
  const json = {
    mode,
    url: http.baseUrl,
    facts: Object.fromEntries(banner.facts),
    buy: Object.fromEntries(banner.purchases),
  }
  return { output: { json, text: bannerText(banner, http, terminal) }, stop }
}

/**
 * To optimise one function of the embedded engine, its parser of SQL, takes V8 1 GB and a third of the CPU of a start, for milliseconds that
 * nobody misses in a sandbox. Production keeps its optimiser: there such code checks signatures for as long as the shop runs. A V8 that does
 * not know these flags any more says so, and goes on.
 */
export const openSandbox: typeof startSandbox = (...args) => {
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
  return startSandbox(...args)
}

/**
 * The link that makes the first admin is for whoever sits there. A log is read by others, and kept: there stands only how to get one.
 */
async function tellOfFirst(service: Service, config: Config): Promise<void> {
  if (!process.stderr.isTTY) {
    if (await service.isUnfounded())
      stderrLog(config.logLevel).warn(
        'nobody runs this shop yet: `sutler operators link` makes the link for its first admin',
      )
    return
  }
  const link = await service.firstLink()
  if (link !== null)
    process.stderr.write(
      `\nNobody runs this shop yet. Open this once, within 15 minutes, to be its first admin:\n${link}\n\n`,
    )
}

/** Where this very process is reached, whatever stands in front of it. */
function ownUrl(loaded: LoadedConfig): string {
  const { host, port } = loaded.mode === 'sandbox' ? loaded.common.http : loaded.config.http
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}

function bannerText({ facts, purchases }: Banner, http: HttpConfig, { style, table }: Terminal): string {
  return [
    '',
    `${style.bold(`Sutler ${VERSION}`)} is open at ${style.bold(style.cyan(http.baseUrl))}  ${style.dim('sandbox, play money only')}`,
    '',
    table(facts.map(([what, value]) => [`  ${style.dim(what)}`, value])),
    '',
    style.bold('Buy something, from another terminal in this folder:'),
    '',
    ...purchases.flatMap(([how, line]) => [`  ${style.dim(`# ${how}`)}`, `  ${line}`]),
    `  ${style.dim('# or watch an agent buy everything')}`,
    `  ${demoLine(http)}`,
    '',
  ].join('\n')
}

/** Another terminal does not know of a port that was set in this one. */
function demoLine({ baseUrl }: HttpConfig): string {
  const isUsual = baseUrl === readClientConfig({}).url
  if (IS_PACKED) return isUsual ? 'npx sutler demo' : `npx sutler demo --url ${baseUrl}`
  return isUsual ? 'npm run demo' : `npm run demo -- --url ${baseUrl}`
}

/** One line like those of the log, which most likely goes to the same place. */
function productionOutput(config: Config, url: string): Output {
  const { mode, http, store, game } = config
  const networks = sellingAccounts(rails, config).map(({ network }) => network)
  const facts = {
    mode,
    url,
    public: publicUrls(http).join(' and '),
    'paid on': networks.join(' and '),
    store: store.url === undefined ? `embedded in ${store.dataDir}` : 'PostgreSQL',
    game: game.backend.kind === 'embedded' ? 'embedded' : game.backend.url,
  }
  const line = {
    time: isoTime(systemClock.now()),
    level: 'info',
    message: 'the shop is open',
    version: VERSION,
    ...facts,
  }
  return { json: facts, text: stringify(line) }
}
