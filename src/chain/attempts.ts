import { type Call, isDeliveryStep, type Send } from '../domain/journal.ts'
import type { Errand } from './lane/lane.ts'
import type { SendState } from './lane/state.ts'
import type { Sender } from './sender.ts'

const ATTEMPTS_MAX = 20

/** One try of a step that may need several: each has a name, and so a journal entry, of its own. */
export type Attempt = { readonly number: number; readonly step: string; readonly state: SendState }

export type Tries = {
  /** All that was ever tried for the step by this key, oldest first, and what became of it. */
  readonly attempts: readonly Attempt[]
  /** What other keys have signed for the step on this chain: while a key is rotated, replicas with the old one and with the new one are at work. */
  readonly others: readonly Send[]
  /** How many transactions of the order were on record, whatever the step and the key, beside settlement and refund. */
  readonly deliveries: number
}

export const NO_TRIES: Tries = { attempts: [], others: [], deliveries: 0 }

export function stepName(step: string, number: number): string {
  return number === 1 ? step : `${step}.${number}`
}

/** All tries of a step, by one look at the journal. */
export async function readSendTries(sender: Sender, orderId: string, step: string): Promise<Tries> {
  const sends = await sender.sendsOf(orderId)
  const attempts: Attempt[] = []
  for (let number = 1; number <= ATTEMPTS_MAX; number++) {
    const name = stepName(step, number)
    const send = sends.find((one) => one.step === name && sender.isOwn(one))
    if (send) attempts.push({ number, step: name, state: await sender.look(send) })
  }
  const isOfStep = (one: Send) => one.step === step || one.step.startsWith(`${step}.`)
  const others = sends.filter((one) => isOfStep(one) && one.chainId === sender.chainId && !sender.isOwn(one))
  return { attempts, others, deliveries: deliveriesAmong(sends) }
}

function deliveriesAmong(sends: readonly Send[]): number {
  return sends.filter(({ step }) => isDeliveryStep(step)).length
}

export function hasSucceeded({ state }: Attempt): boolean {
  return state.state === 'mined' && state.receipt.succeeded
}

/** The try that counts: the first that succeeded, whichever it was; else one that may still land; else the newest. */
export function decisiveOf({ attempts }: Tries): Attempt | null {
  const pending = attempts.find(({ state }) => state.state === 'pending')
  return attempts.find(hasSucceeded) ?? pending ?? attempts.at(-1) ?? null
}

/**
 * May the step still happen, or has it, by what another key of ours has signed? Only that key could cancel it. Without it the bytes are sent
 * once more, so that there is an end.
 */
export async function mayLandByAnother(sender: Sender, { others }: Tries): Promise<boolean> {
  for (const send of others) {
    const state = await sender.remind(send)
    if (state.state === 'pending' || (state.state === 'mined' && state.receipt.succeeded)) return true
    if (state.state === 'mined' && !(await sender.isBuried(state.receipt))) return true
  }
  return false
}

/** A further try, under the next name. Only for whoever has seen that every earlier one was reverted, or can no longer land. */
export async function sendNext(sender: Sender, errand: Errand, call: Call, { attempts }: Tries): Promise<Attempt> {
  const { lease, orderId, step } = errand
  const number = (attempts.at(-1)?.number ?? 0) + 1
  if (number > ATTEMPTS_MAX) throw new Error(`${step} of ${orderId} was tried ${ATTEMPTS_MAX} times`)
  const name = stepName(step, number)
  return { number, step: name, state: await sender.send({ lease, orderId, step: name }, call) }
}

/** The bytes are out there; wait for them, or send the same ones again. */
export async function followOn(sender: Sender, errand: Errand, { number, step }: Attempt): Promise<Attempt> {
  return { number, step, state: await sender.resume({ ...errand, step }) }
}

/**
 * Sends a call that the contract itself takes only once per order, so a further try is safe after the ones before were mined and reverted,
 * or can no longer land. Never while one is pending.
 */
export async function sendAgain(sender: Sender, errand: Errand, call: Call): Promise<Attempt> {
  const tries = await readSendTries(sender, errand.orderId, errand.step)
  const decisive = decisiveOf(tries)
  if (decisive && hasSucceeded(decisive)) return decisive
  if (decisive?.state.state === 'pending') return followOn(sender, errand, decisive)
  return sendNext(sender, errand, call, tries)
}
