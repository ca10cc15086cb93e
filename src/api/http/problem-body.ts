import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { once } from '../../base/once.ts'
import { Problem, type ProblemCode, problems } from '../../base/problem.ts'

const DETAIL_CHARS_MAX = 200

/** The error body of every route: RFC 9457 members and ours (D8.1). More members may stand beside these. */
export const problemSchema = once(() =>
  z
    .looseObject({
      type: z
        .string()
        .describe('Where this kind of problem is explained; a 402 may name the type of its protocol instead'),
      title: z.string(),
      status: z.int(),
      detail: z.string().max(DETAIL_CHARS_MAX).describe('What is wrong here, and what to do'),
      code: z.enum(Object.keys(problems) as [ProblemCode, ...ProblemCode[]]).describe('Stable; branch on this'),
      requestId: z.string().describe('Name this when you report the problem'),
      payment: z.looseObject({
        taken: z.union([z.boolean(), z.literal('unknown')]).describe('Did this request move money?'),
      }),
      retry: z.object({
        action: z.enum(['none', 'fix_request', 'fix_state', 'wait_same_credential', 'poll', 'new_payment']),
        afterSeconds: z.number().nullable(),
        statusUrl: z.string().nullable(),
      }),
      errors: z.array(z.object({ pointer: z.string(), code: z.string(), detail: z.string() })),
      refund: z.looseObject({}).nullable(),
    })
    .meta({ id: 'Problem', description: 'What went wrong, whether money moved, and what to do next' }),
)

/** Anything that was thrown, as a problem that may be shown. What is not a Problem is a fault of ours: the log has it, the client has an id. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(
        'internal_error',
        'Something went wrong here; nothing was taken. Try once more, and report the requestId if it stays.',
      )
}

/** Where this kind of problem is explained. */
export function typeOf({ code }: Pick<Problem, 'code'>, errorsUrl: string): string {
  return `${errorsUrl}#${code}`
}

const AFTER_SECONDS = 5

export function problemBody(
  { code, kind, status, extra, message }: Problem,
  { requestId, errorsUrl }: { readonly requestId: string; readonly errorsUrl: string },
): JsonObject {
  const afterSeconds = extra.afterSeconds ?? (status === 429 || status === 503 ? AFTER_SECONDS : null)
  const statusUrl = extra.statusUrl ?? null
  const action = extra.action ?? kind.action
  const { payment, ...members } = (extra.members ?? {}) as JsonObject
  return {
    type: typeOf({ code }, errorsUrl),
    title: kind.title,
    status,
    detail: message.length > DETAIL_CHARS_MAX ? `${message.slice(0, DETAIL_CHARS_MAX - 1)}…` : message,
    code,
    requestId,
    payment: { taken: extra.taken ?? kind.taken, ...(payment as JsonObject | undefined) },
    // Nobody is told to ask again without an address to ask at.
    retry: { action: action === 'poll' && statusUrl === null ? 'none' : action, afterSeconds, statusUrl },
    errors: (extra.errors ?? []) as unknown as JsonObject,
    refund: null,
    ...members,
  }
}
