import { once } from 'node:events'
import { createServer } from 'node:net'
import { stderrLog } from '../base/log.ts'
import type { HttpConfig } from '../config/config.ts'
import { type LoadedConfig, loadConfig, meansProduction } from '../config/load.ts'
import { ConfigFault } from '../config/options.ts'
import { type Command, type CommandCall, SaidAlready } from './command.ts'
import { failureOf } from './failure.ts'
import { logLastWords } from './last-words.ts'
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
  // Loaded only now: a start that is refused needs nothing of the shop. One that is called off needs no tidying up: everything here
  // survives a process that dies.
  const running = await Promise.race([
    import('./running-shop.ts').then(({ openShop }) => openShop(loaded, { terminal, env })),
    stopped.then(() => null),
  ])
  if (!running) return null
  terminal.show(running.output)
  await stopped
  tell('stopping: what was accepted is finished or handed over')
  await running.stop()
  return null
}

/** A start that fails is read by the same machines as the rest of the log: a line for each reason. */
function logRefusal(error: unknown): void {
  const log = stderrLog('error')
  const message = 'the shop does not start'
  if (error instanceof ConfigFault)
    for (const { option, message: detail } of error.issues)
      log.error(message, { code: 'configuration', option, detail })
  else {
    const { code, message: detail } = failureOf(error)
    log.error(message, code === 'fault' ? { code, error } : { code, detail })
  }
}

/** In production whatever is said is read by machines too: one JSON object per line, like the rest of the log. */
function teller(loaded: LoadedConfig, { note, style }: Terminal): (message: string) => void {
  return loaded.mode === 'production' ? stderrLog(loaded.config.logLevel).info : (message) => note(style.dim(message))
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
