import { setTimeout } from 'node:timers/promises'

const PAUSE_MS_MIN = 5
/** Most conditions ask a shop something: to look for two seconds every 5 ms cost more than what was waited for. */
const PAUSE_MS_MAX = 50

/** Waits for a condition, looking ever less often. How long that may take is for the limit of the test to say. */
export async function until(condition: () => unknown): Promise<void> {
  for (let pauseMs = PAUSE_MS_MIN; !(await condition()); pauseMs = Math.min(1.25 * pauseMs, PAUSE_MS_MAX))
    await setTimeout(pauseMs)
}

/** Asks until something is answered, in the same way: whoever asks without a pause takes the time from those whom it waits for. */
export async function untilAnswered<Answer>(ask: () => Promise<Answer | null>): Promise<Answer> {
  let answer: Answer | null = null
  await until(async () => {
    answer = await ask()
    return answer !== null
  })
  return answer!
}
