import type { JsonObject } from '../base/json.ts'
import { Problem } from '../base/problem.ts'

/** Anything that was thrown, as a problem that may be shown. What is not a Problem is a fault of ours: the log has it, the client has an id. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem
    ? error
    : new Problem(
        'internal_error',
        'Something went wrong here. Nothing was taken; try once more, and report the requestId if it stays.',
      )
}

/** RFC 9457 members and ours (CONTRACT §7). */
export function problemBody(
  problem: Problem,
  context: { readonly requestId: string; readonly errorsUrl: string; readonly isPaidRoute: boolean },
): JsonObject {
  const { code, kind, extra, message } = problem
  const { errors, statusUrl = null, members = {} } = extra
  const afterSeconds = extra.afterSeconds ?? (problem.status === 429 || problem.status === 503 ? 5 : null)
  return {
    type: `${context.errorsUrl}#${code}`,
    title: kind.title,
    status: problem.status,
    detail: message.slice(0, 300),
    code,
    requestId: context.requestId,
    ...(context.isPaidRoute ? { payment: { taken: extra.taken ?? kind.taken } } : {}),
    retry: { action: extra.action ?? kind.action, afterSeconds, statusUrl },
    ...(errors ? { errors: errors as unknown as JsonObject } : {}),
    ...(members as JsonObject),
  }
}
