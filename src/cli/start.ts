import { once } from 'node:events'
import { createServer } from 'node:net'
import { cwd } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { isoTime, systemClock } from '../base/clock.ts'
import { stringify } from '../base/json.ts'
import { createLog, type Log } from '../base/log.ts'
import { IS_PACKED, VERSION } from '../base/version.ts'
import { readClientConfig } from '../config/client.ts'
import { type Config, type HttpConfig, publicUrls } from '../config/config.ts'
import { type LoadedConfig, loadConfig, meansProduction } from '../config/load.ts'
import { ConfigFault } from '../config/options.ts'
import { sellingAccounts } from '../rails/kind.ts'
import { rails } from '../rails/rails.ts'
import { type Banner, sandboxBanner } from '../sandbox/banner.ts'
import { startSandbox } from '../service/sandbox.ts'
import { type Service, startService } from '../service/service.ts'
import { type Command, type CommandCall, SaidAlready } from './command.ts'
import { failureOf } from './failure.ts'
import { logLastWords } from './last-words.ts'
import type { Output } from './output.ts'
import type { Terminal } from './terminal.ts'

export const start: Command = {
  args: '',
  about: [
    'Without any configuration this is the sandbox: a whole shop with its own chains, play money, players and goods, on',
    'http://localhost:4020 and for this machine only. Everything it knows is in ./data and survives any crash.',
    '',
    'PORT, HOST and SUTLER_DATA_DIR move it. With SUTLER_MODE=production it is the real thing, by configuration alone: see',
    '.env.example for every option and docs/operating.md for the rest. Options are read from the environment and from a file .env here.',
    '',
    'SIGTERM, SIGHUP or Ctrl+C ends it: what was accepted is finished or handed over, within 25 seconds.',
  ].join('\n'),
  options: {},
  examples: [
    ['sutler start', 'the sandbox'],
    ['PORT=4021 SUTLER_DATA_DIR=./other sutler start', 'a second one beside it'],
    ['SUTLER_MODE=production sutler start', 'production; names every option that is missing'],
  ],
  async run(call) {
    try {
      return await runShop(call)
    } catch (error) {
      // At a terminal, and for whoever asked for one document, the usual words.
      if (!meansProduction(call.env) || call.flag('json') || process.stderr.isTTY) throw error
      logRefusal(error)
      throw new SaidAlready()
    }
  },
}

async function runShop({ env, terminal }: CommandCall): Promise<null> {
  const stopped = signalled()
  const loaded = loadConfig(env)
  await refuseTakenPort(loaded.mode === 'sandbox' ? loaded.common.http : loaded.config.http)
  if (loaded.mode === 'production') logLastWords(loaded.config.logLevel)
  const tell = teller(loaded, terminal)
  tell('starting; the very first start takes some seconds longer')
  // A start that is called off needs no tidying up: everything here survives a process that dies.
  const running = await Promise.race([open(loaded, { terminal, env }), stopped.then(() => null)])
  if (!running) return null
  terminal.show(running.output)
  await stopped
  tell('stopping: what was accepted is finished or handed over')
  await running.stop()
  return null
}

/** A start that fails is read by the same machines as the rest of the log: a line for each reason. */
function logRefusal(error: unknown): void {
  const log = logOf({ logLevel: 'error' })
  const message = 'the shop does not start'
  if (error instanceof ConfigFault)
    for (const { option, message: detail } of error.issues)
      log.error(message, { code: 'configuration', option, detail })
  else {
    const { code, message: detail } = failureOf(error)
    log.error(message, code === 'fault' ? { code, error } : { code, detail })
  }
}

type Running = { readonly output: Output; stop(): Promise<void> }

/** In production whatever is said is read by machines too: one JSON object per line, like the rest of the log. */
function teller(loaded: LoadedConfig, { note, style }: Terminal): (message: string) => void {
  return loaded.mode === 'production' ? logOf(loaded.config).info : (message) => note(style.dim(message))
}

function logOf({ logLevel: level }: Pick<Config, 'logLevel'>): Log {
  return createLog({ level, clock: systemClock, write: (line) => process.stderr.write(line) })
}

async function open(loaded: LoadedConfig, { terminal, env }: Pick<CommandCall, 'terminal' | 'env'>): Promise<Running> {
  // It is loaded when somebody asks for it.
  const doctor = async () => (await import('./doctor.ts')).diagnose(env, ownUrl(loaded))
  if (loaded.mode === 'production') {
    const service = await startService(loaded.config, { doctor })
    await tellOfFirst(service, loaded.config)
    return { output: productionOutput(loaded.config, service.url), stop: service.stop }
  }
  runWithoutOptimiser()
  const { world, stop } = await startSandbox(loaded, { doctor })
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
 * not know these flags any more ignores them.
 */
function runWithoutOptimiser(): void {
  for (const flag of ['--no-wasm-tier-up', '--no-wasm-dynamic-tiering']) setFlagsFromString(flag)
}

/**
 * The link that makes the first admin is for whoever sits there. A log is read by others, and kept: there stands only how to get one.
 */
async function tellOfFirst(service: Service, config: Config): Promise<void> {
  if (!process.stderr.isTTY) {
    if (await service.isUnfounded())
      logOf(config).warn('nobody runs this shop yet: `sutler operators link` makes the link for its first admin')
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

/** Found out before the store and the chains are opened: a second start fails at once. */
async function refuseTakenPort({ port, host }: HttpConfig): Promise<void> {
  const server = createServer()
  server.listen(port, host)
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => resolve())
  })
}
