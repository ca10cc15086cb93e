import type * as z from 'zod'
import { type FieldError, Problem, type ProblemCode, problems } from '../../base/problem.ts'

/** Checks a value against a schema, and says what is wrong with it in the words of the problem table, field by field. */
export function parseWith<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) {
    if (hasNull(value)) throw nullIn(value)
    return parsed.data
  }
  const errors = parsed.error.issues.flatMap(fieldErrors)
  const [first, ...rest] = errors
  const code =
    first && first.code in problems && rest.every((error) => error.code === first.code)
      ? (first.code as ProblemCode)
      : 'invalid_request'
  const detail = first
    ? `${first.pointer === '' ? 'The body' : first.pointer}: ${first.detail}`
    : 'The request does not match the schema.'
  throw new Problem(code, detail.slice(0, 200), { errors })
}

/** PostgreSQL holds no text with a null character, and cannot even be asked for one. No field of ours has a use for it. */
function hasNull(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0')
  if (typeof value !== 'object' || value === null) return false
  // How deep this goes was bounded when the JSON was read.
  for (const key in value) if (hasNull((value as Record<string, unknown>)[key])) return true
  return false
}

function nullIn(value: unknown): Problem {
  const path: string[] = []
  for (let at = value; typeof at === 'object' && at !== null; ) {
    const [key, inner]: [string, unknown] = Object.entries(at).find(([, inner]) => hasNull(inner))!
    path.push(key)
    at = inner
  }
  const error = { pointer: pointerOf(path), code: 'invalid_request', detail: 'no text may hold a null character' }
  return new Problem('invalid_request', `${error.pointer}: ${error.detail}`, { errors: [error] })
}

const ERRORS_MAX = 20

function fieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  const pointer = pointerOf(issue.path)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.slice(0, ERRORS_MAX).map((key) => ({
      pointer: pointerOf([...issue.path, key]),
      code: 'unknown_property',
      detail: 'is not a property of this request',
    }))
  }
  // A union without inner errors found no variant to try: the discriminator itself is wrong, and the issue points at it.
  if (issue.code === 'invalid_union' && issue.errors.length > 0) {
    const [closest] = issue.errors.toSorted((a, b) => a.length - b.length)
    return (closest ?? []).flatMap((inner) =>
      fieldErrors({ ...inner, path: [...issue.path, ...inner.path] } as z.core.$ZodIssue),
    )
  }
  const own = issue.code === 'custom' ? (issue.params as { code?: unknown } | undefined)?.code : undefined
  return [{ pointer, code: typeof own === 'string' ? own : 'invalid_request', detail: issue.message.slice(0, 200) }]
}

/** RFC 6901. */
function pointerOf(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
