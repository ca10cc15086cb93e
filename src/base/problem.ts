import type { ProblemKind, RetryAction, Taken } from './problem-kind.ts'
import { commonProblems } from './problems.ts'

/** Of one problem, whatever its kind says: nobody may be asked to pay again. */
export const MAY_HAVE_MOVED = { status: 409, taken: 'unknown', action: 'fix_request' } as const

/** Grows with what is declared elsewhere: `declare module` beside each `declareProblems`. */
export interface DeclaredProblems extends Record<keyof typeof commonProblems, ProblemKind> {}

export type ProblemCode = keyof DeclaredProblems

// One for the process, and no argument: what is thrown anywhere, in a store or on a chain, knows its own kind, and the compiler knows all codes.
const table: Record<string, ProblemKind> = { ...commonProblems }

/**
 * Every error a client may see, once. The router, the OpenAPI documents, `/errors` and the tests read this table;
 * a code that is not here cannot be thrown.
 */
export const problems = table as Readonly<Record<ProblemCode, ProblemKind>>

/** A code means one thing, wherever it is declared. */
export function declareProblems<Table extends Record<string, ProblemKind>>(declared: Table): Table {
  for (const [code, kind] of Object.entries(declared)) {
    if (table[code] !== undefined) throw new TypeError(`the problem ${code} is declared twice`)
    table[code] = kind
  }
  return declared
}

export type FieldError = { readonly pointer: string; readonly code: string; readonly detail: string }

type ProblemExtra = {
  readonly cause?: unknown
  readonly errors?: readonly FieldError[]
  readonly taken?: Taken
  readonly status?: number
  readonly action?: RetryAction
  readonly afterSeconds?: number
  readonly statusUrl?: string
  /** Response headers that belong to this answer, such as `RateLimit`. */
  readonly headers?: Readonly<Record<string, string>>
  /** More members for the body: `refund`, `existing`, `limit` … */
  readonly members?: Readonly<Record<string, unknown>>
}

/** An error that a client may see: a code of the table and one sentence that says what is wrong here and what to do. */
export class Problem extends Error {
  readonly code: ProblemCode
  readonly extra: ProblemExtra
  constructor(code: ProblemCode, detail: string, extra: ProblemExtra = {}) {
    // It is an answer, not an accident: a 402 that notes where in our code it was made costs a third more.
    const limit = Error.stackTraceLimit
    Error.stackTraceLimit = 0
    super(detail, extra.cause === undefined ? undefined : { cause: extra.cause })
    Error.stackTraceLimit = limit
    this.name = 'Problem'
    this.code = code
    this.extra = extra
  }
  get kind(): ProblemKind {
    return problems[this.code]
  }
  get status(): number {
    return this.extra.status ?? this.kind.status
  }
}

export function isProblem(error: unknown, code?: ProblemCode): error is Problem {
  return error instanceof Problem && (code === undefined || error.code === code)
}

/** What is said of all problems of a kind is wrong of one whose payer has sent the money already, or may have. */
export function adviceOf(kind: ProblemKind, taken: ProblemExtra['taken'] = kind.taken): string {
  if (kind.taken !== false || taken === false) return kind.advice
  return taken === true ? 'The money has moved. Do not pay again.' : 'The money may have moved. Do not pay again.'
}
