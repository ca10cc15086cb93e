import assert from 'node:assert/strict'
import { systemClock } from '../../src/base/clock.ts'
import { createLog, type Log, type LogFields } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'

/** Reads along with everything that a shop logs, at the finest level, and remembers the lines in which it saw a secret. */
export type LeakWatch = {
  /** Logs as the test wants it, or nowhere; the watch sees it either way. */
  readonly log: Log
  /** Every secret in a configuration is looked for from now on, however deep it lies. */
  guard(config: object): void
  assertNothingLeaked(): void
}

/** Shorter ones are words that may stand anywhere. */
const SECRET_LENGTH_MIN = 20
/** What pays: an encoded credential or receipt, a signature, the secret of a webhook. */
const POWERFUL = /Payment\s+[\w+/=-]{24,}|eyJ[\w+/=-]{40,}|0x[0-9a-f]{120,}|whsec_[\w+/=]{20,}/i

export function watchLeaks(wanted?: Log): LeakWatch {
  const secrets = new Set<string>()
  const leaks: string[] = []
  const watched = createLog({
    level: 'debug',
    clock: systemClock,
    write(line) {
      const text = line.toLowerCase()
      if (POWERFUL.test(line) || [...secrets].some((secret) => text.includes(secret))) leaks.push(line)
    },
  })
  return {
    log: wanted ? both(wanted, watched) : watched,
    guard(config) {
      for (const secret of secretsIn(config)) secrets.add(secret.toLowerCase().replace(/^0x/, ''))
    },
    assertNothingLeaked: () => assert.deepEqual(leaks, [], 'a secret or a credential was logged'),
  }
}

function* secretsIn(value: unknown): Generator<string> {
  if (value instanceof Secret) {
    if (value.reveal().length >= SECRET_LENGTH_MIN) yield value.reveal()
  } else if (typeof value === 'object' && value !== null) {
    for (const inner of Object.values(value)) yield* secretsIn(inner)
  }
}

function both(one: Log, other: Log): Log {
  const to = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: LogFields) => {
    one[level](message, fields)
    other[level](message, fields)
  }
  return {
    debug: to('debug'),
    info: to('info'),
    warn: to('warn'),
    error: to('error'),
    with: (fields) => both(one.with(fields), other.with(fields)),
  }
}
