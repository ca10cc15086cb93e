import type { Call } from '../domain/journal.ts'
import type { Sender, SendState } from './sender.ts'

const ATTEMPTS_MAX = 20

/** One try of a step that may need several: each has a name, and so a journal entry, of its own. */
export type Attempt = { readonly number: number; readonly step: string; readonly state: SendState }

export function stepName(step: string, number: number): string {
  return number === 1 ? step : `${step}.${number}`
}

/** The newest try of a step, or null when it was never sent. */
export async function lastAttempt(sender: Sender, orderId: string, step: string): Promise<Attempt | null> {
  let last: Attempt | null = null
  for (let number = 1; number <= ATTEMPTS_MAX; number++) {
    const name = stepName(step, number)
    const state = await sender.look(orderId, name)
    if (state === null) return last
    last = { number, step: name, state }
    if (state.state === 'pending') return last
  }
  return last
}

/**
 * Sends a call that the contract itself takes only once per order, so a further try is safe after one was mined and reverted, or
 * can no longer land. Never while one is pending.
 */
export async function sendAgain(sender: Sender, orderId: string, step: string, call: Call): Promise<Attempt> {
  const last = await lastAttempt(sender, orderId, step)
  const done =
    last && (last.state.state === 'pending' || (last.state.state === 'mined' && last.state.receipt.succeeded))
  const number = last === null ? 1 : done ? last.number : last.number + 1
  if (number > ATTEMPTS_MAX) throw new Error(`${step} of ${orderId} was tried ${ATTEMPTS_MAX} times`)
  const name = stepName(step, number)
  return { number, step: name, state: await sender.send(orderId, name, call) }
}
