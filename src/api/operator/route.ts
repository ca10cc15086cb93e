import * as z from 'zod'
import { type Clock, countdown } from '../../base/clock.ts'
import type { Random } from '../../base/id.ts'
import { type JsonObject, parseStrictJson, stringify } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { Limits } from '../../config/limits.ts'
import { FIRST_ADMIN, mayAct, type Operator, type Role } from '../../domain/operator.ts'
import type { Deed, Doer } from '../../store/deeds.ts'
import { readBody } from '../http/body.ts'
import { parseWith } from '../http/parse.ts'
import type { Handler, Headers, Reply } from '../http/reply.ts'
import { type HttpRequest, queryOf } from '../http/request.ts'
import type { Admission, Admitted } from './admission.ts'
import type { OpenSession } from './just-signed-in.ts'

// Routes for the people who run the shop. They are a table of their own: what is not in the public table is in no public document.

type OperatorMethod = 'GET' | 'POST' | 'DELETE'

type OperatorCall<Params, Query, Body> = {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly who: Operator
  /** The same, with the name that is told and the time: for whatever records a deed. */
  readonly doer: Doer
  /** The session of a browser; null for whoever holds a token. */
  readonly session: OpenSession | null
  /** By its lower-case name. */
  header(name: string): string | undefined
}

type OperatorAnswer = {
  readonly status?: number
  readonly body: JsonObject | string | AsyncIterable<string>
  readonly contentType?: string
  readonly headers?: Headers
}

/** The version that a caller has seen, however it is quoted. */
export function versionIn(header: (name: string) => string | undefined): string | undefined {
  return header('if-match')?.replace(/^(W\/)?"(.*)"$/, '$2')
}

/** Somebody at the door, whom nobody knows yet. */
type EntranceCall<Body> = { readonly body: Body; readonly request: HttpRequest }

export type OperatorRoute = {
  readonly method: OperatorMethod
  readonly path: string
  /** The least that may call it; null: whoever wants in. */
  readonly role: Role | null
  readonly summary: string
  readonly params: z.ZodType | null
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  /** Set where the usual bound on bodies is too small. */
  readonly bodyBytesMax: number | null
  /** May the shop's own token call it all the same? The handler sees to it that there is no admin yet. */
  readonly isFounding: boolean
  handle(call: OperatorCall<unknown, unknown, unknown> & EntranceCall<unknown>): Promise<OperatorAnswer>
}

type OperatorRow<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = {
  readonly role: Role
  readonly summary: string
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly bodyBytesMax?: number
  readonly isFounding?: boolean
  readonly handle: (call: OperatorCall<z.output<Params>, z.output<Query>, z.output<Body>>) => Promise<OperatorAnswer>
}

export function operator<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  key: `${OperatorMethod} /${string}`,
  row: OperatorRow<Params, Query, Body>,
): OperatorRoute {
  const [method, path] = key.split(' ') as [OperatorMethod, string]
  const { role, summary, params = null, query = null, body = null, bodyBytesMax = null } = row
  const { isFounding = false } = row
  return {
    method,
    path,
    role,
    summary,
    params,
    query,
    body,
    bodyBytesMax,
    isFounding,
    handle: row.handle as OperatorRoute['handle'],
  }
}

/** A way in: nobody is known yet, and only our own page may ask. */
export function entrance<Body extends z.ZodType>(
  key: `POST /${string}`,
  row: {
    readonly summary: string
    readonly body: Body
    readonly handle: (call: EntranceCall<z.output<Body>>) => Promise<OperatorAnswer>
  },
): OperatorRoute {
  const { summary, body } = row
  const none = { params: null, query: null, bodyBytesMax: null, isFounding: false }
  const path = key.slice('POST '.length)
  return { method: 'POST', path, role: null, summary, body, ...none, handle: row.handle as OperatorRoute['handle'] }
}

type OperatorOptions = {
  readonly routes: readonly OperatorRoute[]
  readonly admission: Admission
  readonly limits: Limits
  readonly clock: Clock
  readonly random: Random
  /** For what leaves no deed of its own. */
  readonly record: (doer: Doer, deed: Deed) => Promise<void>
}

/** The operator's routes, by path. Who asks is found out inside each handler, never on a path pattern beside it. */
export function operatorHandlers(options: OperatorOptions): ReadonlyMap<string, Handler> {
  const { routes, admission, limits } = options

  async function enter(request: HttpRequest, route: OperatorRoute): Promise<Reply> {
    admission.approach(request)
    const body = parseWith(route.body!, await bodyOf(request, route, limits))
    return replyOf(await route.handle({ body, request } as Parameters<OperatorRoute['handle']>[0]))
  }

  async function serve(request: HttpRequest, onPath: readonly OperatorRoute[], params: object): Promise<Reply> {
    const route = onPath.find(({ method }) => method === request.method)
    if (route && route.role === null) return enter(request, route)
    const admitted = await admission.admit(request)
    if (!route || route.role === null) throw notHere(onPath)
    const { who } = admitted
    if (!mayAct(who.role, route.role) && !(route.isFounding && who.id === FIRST_ADMIN.id))
      throw roleTooLow(route.role, who)
    const given = withName(route, who, await bodyOf(request, route, limits))
    const body = route.body ? parseWith(route.body, given) : {}
    const { doer, isRecorded } = doing(options, who, body)
    const answer = await route.handle({
      params: route.params ? parseWith(route.params, params) : {},
      query: route.query ? parseWith(route.query, queryOf(request)) : {},
      body,
      who,
      doer,
      session: admitted.session,
      header: request.header,
      request,
    })
    const isDeed = route.method !== 'GET' || answer.contentType?.startsWith('text/csv')
    if (isDeed && !isRecorded())
      await options.record(doer, {
        deed: 'route.called',
        about: { kind: 'route', id: `${route.method} ${request.path}` },
        before: null,
        after: null,
      })
    return replyOf(answer, (stream) => whileIn(stream, admitted, route.role ?? 'admin', options.clock))
  }

  const paths = Map.groupBy(routes, ({ path }) => path)
  return new Map([...paths].map(([path, onPath]) => [path, (request, params) => serve(request, onPath, params)]))
}

async function bodyOf(request: HttpRequest, route: OperatorRoute, limits: Limits): Promise<unknown> {
  const bytes = await readBody(request, route.bodyBytesMax ?? limits.bodyBytesMax)
  if (route.body === null || bytes.length === 0) return {}
  return parseStrictJson(bytes, limits.jsonDepthMax)
}

/** Where a body names who did it, that is whoever is there. Only the shop's own token has no name, and whoever holds it may say theirs. */
function withName({ body }: OperatorRoute, who: Operator, given: unknown): unknown {
  const asks = body instanceof z.ZodObject && 'by' in body.shape
  if (!asks || who.id === FIRST_ADMIN.id || typeof given !== 'object' || given === null) return given
  const { by = who.name } = given as { by?: unknown }
  if (by !== who.name)
    throw new Problem('invalid_request', `/by: you are ${who.name}; leave it out. Nothing was done.`, {
      errors: [{ pointer: '/by', code: 'invalid_request', detail: 'is not who is signed in' }],
    })
  return { ...given, by }
}

function doing({ clock, random }: OperatorOptions, who: Operator, body: unknown) {
  let isRecorded = false
  const { by = who.name } = body as { by?: string }
  const onRecorded = () => {
    isRecorded = true
  }
  const doer: Doer = { who, by, at: clock.now(), random, onRecorded }
  return { doer, isRecorded: () => isRecorded }
}

function notHere(onPath: readonly OperatorRoute[]): Problem {
  const methods = onPath.map(({ method }) => method)
  return new Problem('method_not_allowed', `Use ${methods.join(' or ')} here.`, {
    headers: { Allow: methods.join(', ') },
  })
}

type Stream = AsyncIterable<string>

function replyOf(answer: OperatorAnswer, watched: (stream: Stream) => Stream = (stream) => stream): Reply {
  const { status = 200, body, contentType = 'application/json' } = answer
  const headers = { 'Content-Type': contentType, 'Cache-Control': 'no-store', ...answer.headers }
  if (typeof body === 'string') return { status, headers, body }
  return { status, headers, body: isStream(body) ? watched(body) : stringify(body) }
}

function isStream(body: JsonObject | Stream): body is Stream {
  return Symbol.asyncIterator in body
}

const CHECK_MS = 15_000

/** Ends when its listener was signed out, revoked or given a lesser role: looked at with every heartbeat. */
async function* whileIn(stream: Stream, { isStill }: Admitted, role: Role, clock: Clock): Stream {
  let left = countdown(clock, CHECK_MS)
  for await (const chunk of stream) {
    if (left() <= 0) {
      if (!(await isStill(role).catch(() => false))) return
      left = countdown(clock, CHECK_MS)
    }
    yield chunk
  }
}

function roleTooLow(needed: Role, { id, role }: Operator): Problem {
  const isShop = id === FIRST_ADMIN.id
  const whose = isShop ? "the shop's own token only reads and lets the first admin in" : `yours is ${role}`
  const way = isShop ? ' Send a personal token: sutler operators add <name> --role admin --with-token.' : ''
  return new Problem('role_too_low', `This needs the role ${needed}; ${whose}. Nothing was done.${way}`)
}
