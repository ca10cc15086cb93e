import type { Json } from '../base/json.ts'

/** What a command came to, twice: for programs and for people. */
export type Output = {
  readonly json: Json
  readonly text: string
  /** False when it was carried out and the answer is no: exit code 1. */
  readonly isGood?: boolean
}
