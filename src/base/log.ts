import { type Clock, isoTime, systemClock } from './clock.ts'
import { stringify } from './json.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

/** One JSON object per line: time, level, message, then the fields. Bind ids once with `with()`. */
export type Log = {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
  with(fields: LogFields): Log
}

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

export function createLog(options: { level: LogLevel; clock: Clock; write: (line: string) => void }): Log {
  const { level, clock, write } = options
  const least = ORDER.indexOf(level)
  const bound = (base: LogFields): Log => {
    const at = (level: LogLevel) => (message: string, fields?: LogFields) => {
      if (ORDER.indexOf(level) < least) return
      write(`${redact(stringify({ time: isoTime(clock.now()), level, message, ...base, ...plain(fields) }))}\n`)
    }
    return {
      debug: at('debug'),
      info: at('info'),
      warn: at('warn'),
      error: at('error'),
      with: (fields) => bound({ ...base, ...fields }),
    }
  }
  return bound({})
}

/** Where supervisors and terminals look for it. */
export function stderrLog(level: LogLevel, clock: Clock = systemClock): Log {
  return createLog({ level, clock, write: (line) => process.stderr.write(line) })
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => silentLog }

/** Errors do not survive JSON: keep the name, the message, the code and the cause. */
function plain(fields: LogFields = {}): LogFields {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key, value instanceof Error ? describeError(value) : value]),
  )
}

const CAUSES_MAX = 8

export function describeError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error).slice(0, 500) }
  const { code } = error as { code?: unknown }
  return {
    name: error.name,
    message: error.message.slice(0, 500),
    ...(code === undefined ? {} : { code }),
    ...(error.cause === undefined || depth >= CAUSES_MAX ? {} : { cause: describeError(error.cause, depth + 1) }),
    ...(error.stack
      ? {
          stack: error.stack
            .split('\n')
            .slice(1, 6)
            .map((line) => line.trim()),
        }
      : {}),
  }
}

// The last net, behind types that mask themselves: payment credentials and anything that looks like a signed payload.
// Hashes (0x and 64 digits) stay readable: operators need them. Keys have the same shape, so keys are always `Secret`.
const CREDENTIAL = /(Payment\s+)[A-Za-z0-9_\-+/=]{24,}/g
const LONG_HEX = /0x[0-9a-fA-F]{120,}/g
const LONG_BASE64 = /eyJ[A-Za-z0-9_\-+/=]{40,}/g

export function redact(line: string): string {
  return line.replace(CREDENTIAL, '$1[redacted]').replace(LONG_HEX, '[redacted]').replace(LONG_BASE64, '[redacted]')
}
