import type { RetentionConfig } from './config.ts'
import type { OptionReader } from './options.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Webhooks are tried for three days, payments are looked for further back than that after a standstill: nothing goes before. */
const DAYS_MIN = 7
const DAYS_MAX = 36_500

/** 0 means for ever. */
export function readRetention(read: OptionReader): RetentionConfig {
  const days = (what: string, fallback: number): number | null => {
    const option = `SUTLER_KEEP_${what}_DAYS`
    const value = read.integer(option, fallback, { min: 0, max: DAYS_MAX })
    if (value > 0 && value < DAYS_MIN)
      read.fault(option, `must be at least ${DAYS_MIN}, or 0 to keep them for ever`, null)
    return value === 0 ? null : value * DAY_MS
  }
  return {
    keep: {
      unpaid: read.integer('SUTLER_KEEP_UNPAID_HOURS', 6, { min: 1, max: 24 * DAYS_MAX }) * HOUR_MS,
      bodies: days('BODIES', 400),
      events: days('EVENTS', 90),
      deliveries: days('DELIVERIES', 30),
      sends: days('SENDS', 90),
      arrivals: days('ARRIVALS', 400),
    },
    onlyExported: read.flag('SUTLER_KEEP_UNTIL_EXPORTED', false),
  }
}
