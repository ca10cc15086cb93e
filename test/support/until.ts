import { setTimeout } from 'node:timers/promises'

const PAUSE_MS_MIN = 5
/** Most conditions ask a shop something: to look for two seconds every 5 ms cost more than what was waited for. */
const PAUSE_MS_MAX = 50

/** Waits for a condition, looking ever less often. How long that may take is for the limit of the test to say. */
export async function until(condition: () => unknown): Promise<void> {
  for (let pauseMs = PAUSE_MS_MIN; !(await condition()); pauseMs = Math.min(1.25 * pauseMs, PAUSE_MS_MAX))
    await setTimeout(pauseMs)
}
