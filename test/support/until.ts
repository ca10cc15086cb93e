import { setTimeout } from 'node:timers/promises'

/** Waits for a condition, looking every few milliseconds. How long that may take is for the limit of the test to say. */
export async function until(condition: () => unknown): Promise<void> {
  while (!(await condition())) await setTimeout(5)
}
