import { raised, Unsupported } from './raised.ts'
import type { Json, Value } from './value.ts'

// Documents as `jsonb` keeps them: keys by length and then by their bytes, nothing twice.

type Members = Readonly<Record<string, unknown>>

/** Where there may be a number that is written otherwise than this program would write it; or a word that looks like one. */
const UNUSUAL = /(?:^|[:,[])\s*-?\d+(?:\.\d*[eE]|[eE]|\.\d*0\s*(?:[,}\]]|$))/

/** A number that the server would print as this program does. */
const PLAIN = /^-?(0|[1-9]\d*)(\.\d*[1-9])?$/

export function parseJson(text: string): Json {
  return wrapped(parsed(text, true))
}

/** Text that was checked, and stays what it is. */
export function checkedJson(text: string): string {
  parsed(text, false)
  return text
}

function parsed(text: string, isKept: boolean): unknown {
  if (text.includes('\\u0000')) throw raised('22P05', 'unsupported Unicode escape sequence')
  try {
    return isKept && UNUSUAL.test(text) ? JSON.parse(text, plainNumbers as never) : JSON.parse(text)
  } catch (error) {
    if (error instanceof Unsupported) throw error
    throw raised('22P02', 'invalid input syntax for type json')
  }
}

/** Called with the source of each number, as Node 24 does. */
function plainNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined || PLAIN.test(context.source)) return value
  throw new Unsupported('numbers in documents that are written so', context.source)
}

/** For what is a document already: sorts its keys and freezes it, for it is handed out to many. */
export function wrapped(json: unknown): Json {
  return { json: kept(json) }
}

function kept(json: unknown): unknown {
  if (json === null || typeof json !== 'object') {
    if (typeof json === 'number' && Number.isInteger(json) && !Number.isSafeInteger(json))
      throw new Unsupported('whole numbers of this size in documents', json)
    return json
  }
  if (Object.isFrozen(json)) return json
  if (Array.isArray(json)) return Object.freeze(json.map(kept))
  const members: Record<string, unknown> = {}
  for (const key of inOrder(Object.keys(json))) members[key] = kept((json as Members)[key])
  return Object.freeze(members)
}

/** Most are in their order already. */
function inOrder(keys: string[]): readonly string[] {
  for (let place = 1; place < keys.length; place++)
    if (byLength(keys[place - 1]!, keys[place]!) > 0) return keys.sort(byLength)
  return keys
}

const WIDE = /[\u0080-\uffff]/

function byLength(a: string, b: string): number {
  if (!WIDE.test(a) && !WIDE.test(b)) return a.length - b.length || (a < b ? -1 : 1)
  const [left, right] = [Buffer.byteLength(a), Buffer.byteLength(b)]
  return left === right ? Buffer.compare(Buffer.from(a), Buffer.from(b)) : left - right
}

const isMembers = (json: unknown): json is Members => json !== null && typeof json === 'object' && !Array.isArray(json)

export function printJson(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(printJson).join(', ')}]`
  if (!isMembers(json)) return JSON.stringify(json)
  const keys = Object.keys(json).sort(byLength)
  return `{${keys.map((key) => `${JSON.stringify(key)}: ${printJson(json[key])}`).join(', ')}}`
}

/** As `->>` shows it. */
export function textIn(json: unknown): string | null {
  if (json === null) return null
  return typeof json === 'string' ? json : printJson(json)
}

export function memberOf(json: unknown, at: string | number): unknown {
  if (typeof at === 'number') return Array.isArray(json) ? json.at(at) : undefined
  return isMembers(json) && Object.hasOwn(json, at) ? json[at] : undefined
}

export function memberAt(json: unknown, path: readonly string[]): unknown {
  let found = json
  for (const step of path)
    found = Array.isArray(found) && /^-?\d+$/.test(step) ? found.at(Number(step)) : memberOf(found, step)
  return found
}

export function joined(a: unknown, b: unknown): unknown {
  if (isMembers(a) && isMembers(b)) return { ...a, ...b }
  if (isMembers(a) && !Array.isArray(b)) throw raised('22023', 'invalid concatenation of jsonb objects')
  return [...(Array.isArray(a) ? a : [a]), ...(Array.isArray(b) ? b : [b])]
}

export function without(json: unknown, at: string | number): unknown {
  if (Array.isArray(json) && typeof at === 'number') {
    const index = at < 0 ? json.length + at : at
    return json.filter((_, place) => place !== index)
  }
  if (Array.isArray(json)) return json.filter((one) => one !== at)
  if (isMembers(json) && typeof at === 'string') {
    const { [at]: _gone, ...rest } = json
    return rest
  }
  throw raised('22023', 'cannot delete from scalar')
}

/** `jsonb_set` with a path of one step, where there is something already. */
export function replacedAt(json: unknown, path: readonly Value[], value: unknown): unknown {
  const [step] = path
  if (path.length !== 1 || !Array.isArray(json)) throw new Unsupported('jsonb_set but for one element of a list', path)
  const index = Number(step) < 0 ? json.length + Number(step) : Number(step)
  if (index < 0 || index >= json.length) throw new Unsupported('jsonb_set where there is nothing', path)
  return json.with(index, value)
}

export function contains(whole: unknown, part: unknown): boolean {
  if (isMembers(whole) && isMembers(part))
    return Object.entries(part).every(([key, value]) => Object.hasOwn(whole, key) && contains(whole[key], value))
  if (Array.isArray(whole) && Array.isArray(part))
    return part.every((one) => whole.some((other) => contains(other, one)))
  if (Array.isArray(whole)) return whole.some((one) => contains(one, part))
  return whole === part
}

export const isSameJson = (a: unknown, b: unknown) => printJson(a) === printJson(b)

export function elementsOf(json: unknown): readonly unknown[] {
  if (!Array.isArray(json)) throw raised('22023', 'cannot extract elements from something that is no array')
  return json
}
