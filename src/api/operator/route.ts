import { createHash, timingSafeEqual } from 'node:crypto'
import type * as z from 'zod'
import { type JsonObject, parseStrictJson, stringify } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import type { Limits } from '../../config/limits.ts'
import { FIRST_ADMIN, mayAct, type Operator, type Role } from '../../domain/operator.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { readBody } from '../http/body.ts'
import { parseWith } from '../http/parse.ts'
import type { Handler, Reply } from '../http/reply.ts'
import { type HttpRequest, queryOf } from '../http/request.ts'

// Routes for the people who run the shop. They are a table of their own: what is not in the public table is in no public document.

type OperatorMethod = 'GET' | 'POST' | 'DELETE'

type OperatorCall<Params, Query, Body> = {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly who: Operator
  /** By its lower-case name. */
  header(name: string): string | undefined
}

type OperatorAnswer = {
  readonly status?: number
  readonly body: JsonObject | string | AsyncIterable<string>
  readonly contentType?: string
}

export type OperatorRoute = {
  readonly method: OperatorMethod
  readonly path: string
  /** The least that may call it. */
  readonly role: Role
  readonly summary: string
  readonly params: z.ZodType | null
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  /** Set where the usual bound on bodies is too small. */
  readonly bodyBytesMax: number | null
  handle(call: OperatorCall<unknown, unknown, unknown>): Promise<OperatorAnswer>
}

type OperatorRow<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = {
  readonly role: Role
  readonly summary: string
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly bodyBytesMax?: number
  readonly handle: (call: OperatorCall<z.output<Params>, z.output<Query>, z.output<Body>>) => Promise<OperatorAnswer>
}

export function operator<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  key: `${OperatorMethod} /${string}`,
  row: OperatorRow<Params, Query, Body>,
): OperatorRoute {
  const [method, path] = key.split(' ') as [OperatorMethod, string]
  const { role, summary, params = null, query = null, body = null, bodyBytesMax = null } = row
  return {
    method,
    path,
    role,
    summary,
    params,
    query,
    body,
    bodyBytesMax,
    handle: row.handle as OperatorRoute['handle'],
  }
}

type OperatorOptions = {
  readonly routes: readonly OperatorRoute[]
  /** Null switches the operator's routes off: nobody can tell that there are any. */
  readonly token: Secret | null
  readonly limits: Limits
  readonly limiter: RateLimiter
  /** Where a request came from. */
  readonly addressOf: (request: HttpRequest) => string
}

/** The operator's routes, by path. The token is asked for inside each handler, never on a path pattern beside it. */
export function operatorHandlers({
  routes,
  token,
  limits,
  limiter,
  addressOf,
}: OperatorOptions): ReadonlyMap<string, Handler> {
  if (token === null) return new Map()
  const isOperator = bearerCheck(token)

  function admit(request: HttpRequest): Operator {
    if (isOperator(request.header('authorization')))
      return { ...FIRST_ADMIN, via: 'token', address: addressOf(request) }
    // Only wrong tokens use up an allowance: whoever guesses is slowed down, and the operator is not.
    limiter.take('read', request)
    throw new Problem('operator_only', 'Send Authorization: Bearer with the operator token.', {
      headers: { 'WWW-Authenticate': 'Bearer realm="operator"' },
    })
  }

  async function serve(request: HttpRequest, onPath: readonly OperatorRoute[], params: object): Promise<Reply> {
    const who = admit(request)
    const route = onPath.find(({ method }) => method === request.method)
    const methods = onPath.map(({ method }) => method)
    if (!route)
      throw new Problem('method_not_allowed', `Use ${methods.join(' or ')} here.`, {
        headers: { Allow: methods.join(', ') },
      })
    if (!mayAct(who.role, route.role))
      throw new Problem('role_too_low', `This needs the role ${route.role}; yours is ${who.role}. Nothing was done.`)
    const bytes = await readBody(request, route.bodyBytesMax ?? limits.bodyBytesMax)
    const answer = await route.handle({
      params: route.params ? parseWith(route.params, params) : {},
      query: route.query ? parseWith(route.query, queryOf(request)) : {},
      body: route.body
        ? parseWith(route.body, bytes.length === 0 ? {} : parseStrictJson(bytes, limits.jsonDepthMax))
        : {},
      who,
      header: request.header,
    })
    const { status = 200, body, contentType = 'application/json' } = answer
    const headers = { 'Content-Type': contentType, 'Cache-Control': 'no-store' }
    return { status, headers, body: typeof body === 'string' || isStream(body) ? body : stringify(body) }
  }

  const paths = Map.groupBy(routes, ({ path }) => path)
  return new Map([...paths].map(([path, onPath]) => [path, (request, params) => serve(request, onPath, params)]))
}

function isStream(body: JsonObject | AsyncIterable<string>): body is AsyncIterable<string> {
  return Symbol.asyncIterator in body
}

/** Digests are compared, so that neither the length nor the first wrong letter can be timed. */
function bearerCheck(token: Secret): (header: string | undefined) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token.reveal())
  return (header) => {
    const given = /^Bearer\s+(\S+)\s*$/i.exec(header ?? '')?.[1]
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}
