import type { Good } from './goods.ts'
import type { Heard } from './request.ts'
import type { Way } from './wallet.ts'
import type { Payer } from './world.ts'

/** What somebody was told about one payment. */
export type Told = {
  readonly at: number
  readonly status: number
  readonly code: string | null
  readonly taken: boolean | 'unknown' | null
  readonly text: string
}

/** A payment that was made, and every answer it got. */
export type Credential = {
  readonly value: string
  readonly answers: Told[]
  isUnderWay: number
  /** Known when all is over: there is nothing more to wait for. */
  hasEnd: boolean
}

export type Habit = 'honest' | 'careless' | 'enemy'

/** One payer's purchase: each payer has one, so the chain's word on a payer is its word on a purchase. */
export type Purchase = {
  readonly index: number
  readonly payer: Payer
  readonly good: Good
  readonly way: Way
  readonly habit: Habit
  /** How its requests travel. */
  readonly carrier: 'http' | 'mcp'
  readonly startMs: number
  readonly credentials: Credential[]
  /** Transfers to the till that were never shown to anybody. */
  strays: number
  /** How often its payer had paid when the chain took blocks back and the good was given already. */
  paidWhenGiven: number
  /** False: what is shown can never land on the chain, so nothing may be kept for it. */
  readonly canLand?: boolean
  /** When all is over it is shown once more, and there must be an end. */
  isShownAgain: boolean
}

export function toldOf({ status, text }: Heard, at: number): Told {
  const body = parsed(text)
  const taken = (body['payment'] as { taken?: Told['taken'] } | undefined)?.taken ?? null
  return { at, status, code: (body['code'] as string | undefined) ?? null, taken, text }
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return {}
  }
}
