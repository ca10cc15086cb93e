import { Problem } from './problem.ts'

/** Where a page of a list ended: a moment to the microsecond, and a name, because many things share a moment. */
export type Place = { readonly micros: string; readonly id: string }

/** What it holds is nobody's business but ours; it may change. */
export function cursorOf({ micros, id }: Place): string {
  return Buffer.from(`${micros}.${id}`).toString('base64url')
}

export function placeOf(cursor: string): Place {
  const [, micros, id] = /^(\d{1,16})\.(\w{1,64})$/.exec(Buffer.from(cursor, 'base64url').toString('utf8')) ?? []
  if (micros !== undefined && id !== undefined) return { micros, id }
  throw new Problem('invalid_request', 'This cursor is none of ours; begin without one.')
}
