import type { OutgoingAnswer, OutgoingRequest } from '../../../src/base/outgoing.ts'

/** How somebody outside behaves at this moment; null: as they should. */
export type Manner = () => string | null

/** What somebody outside did with a request, and what comes back of it. */
export type Reaction = {
  /** Null: nothing comes back. */
  readonly answer: OutgoingAnswer | null
  readonly delayMs: number
  /** Nobody was there to take it. */
  readonly neverSent: boolean
}

export type Partner = (request: OutgoingRequest) => Promise<Reaction>

export const nobody: Reaction = { answer: null, delayMs: 0, neverSent: true }
export const silence: Reaction = { answer: null, delayMs: 0, neverSent: false }

export function answered(status: number, content: unknown, headers: Readonly<Record<string, string>> = {}): Reaction {
  return { answer: { status, headers, text: JSON.stringify(content) }, delayMs: 0, neverSent: false }
}
