// A replica of the shop in a process of its own, which can be told to die at a waypoint. It imports everything first and starts when it is
// told to, so that a spare is ready when one is killed.
import { appendFileSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, type Log, silentLog } from '../../src/base/log.ts'
import type { WaypointName } from '../../src/base/waypoint.ts'
import type { ChainConfig, Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { sandboxConfig } from '../../src/sandbox/world.ts'
import { startService } from '../../src/service/service.ts'
import { type FromServer, PUBLIC_URL, type StartOrder, type ToServer } from './protocol.ts'

let left: number | null = null
let isRecording = false

function waypoint(name: WaypointName): void {
  if (isRecording) tell({ passed: name })
  if (left === null || --left > 0) return
  process.kill(process.pid, 'SIGKILL')
  // The signal takes a moment; not one more line of the shop may run.
  for (;;);
}

function tell(message: FromServer): void {
  process.send!(message)
}

async function start(order: StartOrder): Promise<void> {
  const { databaseUrl, rpcUrls, port, leaseSeconds, drainSeconds = 0 } = order
  const loaded = loadConfig({
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    SUTLER_BASE_URL: PUBLIC_URL,
    SUTLER_DB_POOL: '6',
    SUTLER_DRAIN_SECONDS: String(drainSeconds),
    SUTLER_RATE_REPLAY: '1000000',
    SUTLER_RATE_UNPAID: '1000000',
    SUTLER_RATE_READ: '1000000',
    SUTLER_WEBHOOK_LOOPBACK: 'true',
    ...order.env,
  })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  const config = overHttp(sandboxConfig(loaded), rpcUrls)
  const { limits } = config
  const log = logOf(order)
  const { waitMsMax = limits.waitMsMax, rpcTimeoutMs = limits.rpcTimeoutMs } = order
  const patient = { ...limits, waitMsMax, rpcTimeoutMs, leaseSeconds, delivery: { ...limits.delivery, retryMs: 5 } }
  const service = await startService({ ...config, limits: patient }, { startsCold: !order.isWarm, waypoint, log })
  process.once('SIGTERM', () => void service.stop().then(() => process.exit()))
  tell({ listening: true, now: Date.now() })
}

function logOf({ verbose, logFile }: StartOrder): Log {
  const clock = systemClock
  if (verbose)
    return createLog({ level: 'debug', clock, write: (line) => process.stderr.write(`${process.pid} ${line}`) })
  return logFile === undefined
    ? silentLog
    : createLog({ level: 'info', clock, write: (line) => appendFileSync(logFile, line) })
}

function overHttp(config: Config, rpcUrls: StartOrder['rpcUrls']): Config {
  const at = (chain: ChainConfig): ChainConfig => ({ ...chain, rpcUrls: rpcUrls[chain.chainId]! })
  const { x402, mpp, game } = config
  return {
    ...config,
    x402: x402 && { ...x402, chain: at(x402.chain) },
    mpp: mpp && { ...mpp, chain: at(mpp.chain) },
    game: { ...game, chain: at(game.chain) },
  }
}

process.on('message', (message: ToServer) => {
  if ('start' in message) void start(message.start)
  else if ('record' in message) isRecording = true
  else {
    left = message.crash.crashAfter
    tell({ armed: true })
  }
})
process.on('disconnect', () => process.exit())
tell({ ready: true })
