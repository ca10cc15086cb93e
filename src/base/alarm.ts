import { type Clock, msSince } from './clock.ts'
import type { Log, LogFields } from './log.ts'

/** Says what a person must mend: at once when it is new, and now and then while it lasts. */
export type Alarm = (what: string, message: string, fields?: LogFields) => void

const ALARM_MS = 300_000
const ALARMS_MAX = 1_000

export function createAlarm(log: Log, clock: Clock): Alarm {
  const raised = new Map<string, number>()
  return (what, message, fields) => {
    const last = raised.get(what)
    if (last !== undefined && msSince(clock, last) < ALARM_MS) return
    if (raised.size >= ALARMS_MAX) raised.clear()
    raised.set(what, clock.now())
    log.error(message, fields)
  }
}
