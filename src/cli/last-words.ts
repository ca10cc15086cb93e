import { writeSync } from 'node:fs'
import { systemClock } from '../base/clock.ts'
import { createLog, type LogLevel } from '../base/log.ts'

const STDERR = 2

/**
 * Whatever Node would print by itself becomes a line of the log: warnings, and what nobody caught. After that the process ends as it would
 * have, at once: everything it was at is written down, and goes on elsewhere.
 */
export function logLastWords(level: LogLevel): void {
  // Written before anything else happens: a stream may not get to it any more.
  const log = createLog({ level, clock: systemClock, write: (line) => void writeSync(STDERR, line) })
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn('Node.js warning', { error: warning }))
  process.on('uncaughtException', (error, origin) => {
    log.error('uncaught exception, exiting', { origin, error })
    process.exit(1)
  })
}
