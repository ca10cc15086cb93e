import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { Problem } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import { isToken, tokenDigest } from '../../base/token.ts'
import type { HttpConfig } from '../../config/config.ts'
import { FIRST_ADMIN, mayAct, type Operator, type Role } from '../../domain/operator.ts'
import type { Database } from '../../store/db.ts'
import { touchToken } from '../../store/people/personal-tokens.ts'
import { findSession, SESSION_MS, touchSession } from '../../store/people/sessions.ts'
import { findToken } from '../../store/people/tokens.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import type { HttpRequest } from '../http/request.ts'
import type { OpenSession } from './just-signed-in.ts'

/** Somebody who was let in. */
export type Admitted = {
  readonly who: Operator
  /** Of a browser; null for whoever holds a token. */
  readonly session: OpenSession | null
  /** May they still? Asked again and again by what goes on for long. */
  isStill(role: Role): Promise<boolean>
}

export type Admission = {
  /** Who asks; throws where nobody is to be let in. */
  admit(request: HttpRequest): Promise<Admitted>
  /** For whoever is not known yet: throws unless our own page asks. */
  approach(request: HttpRequest): void
  /** Counts against an allowance of the address; throws 429 when that is used up. */
  readonly take: RateLimiter['take']
  readonly addressOf: (request: HttpRequest) => string
  /** What the browser holds, whether it is any good or not. */
  heldBy(request: HttpRequest): string | null
  /** For the browser to hold; null: nothing any more. */
  cookie(value: Secret | null): string
}

type AdmissionParts = {
  /** Of the shop itself: whoever holds it lets the first admin in. */
  readonly token: Secret | null
  readonly tokenRole: Role
  /** Are there pages and sessions? */
  readonly console: boolean
  readonly http: HttpConfig
  readonly database: Database
  readonly limiter: RateLimiter
  readonly clock: Clock
  /** Where a request came from. */
  readonly addressOf: (request: HttpRequest) => string
}

/** Two ways in: a token that is sent by itself, and a cookie that a browser sends along, whoever asked it to. Never both. */
export function createAdmission(parts: AdmissionParts): Admission {
  const { token, tokenRole, http, limiter, addressOf } = parts
  const { origin, protocol } = new URL(http.baseUrl)
  const isSecure = protocol === 'https:'
  // A `__Host-` cookie cannot be set by another host of the same site; browsers take it over https only.
  const name = isSecure ? '__Host-sutler' : 'sutler'
  const isOfShop = bearerCheck(token)
  const assertOwnPage = ownPageCheck(origin)

  function heldBy(request: HttpRequest): string | null {
    return parts.console ? cookieOf(request.header('cookie'), name) : null
  }

  async function find(request: HttpRequest, held: string | null): Promise<Admitted | null> {
    const bearer = /^Bearer\s+(\S+)\s*$/i.exec(request.header('authorization') ?? '')?.[1]
    const address = addressOf(request)
    if (bearer === undefined) return held === null ? null : bySession(parts, request, held)
    if (!isOfShop(bearer)) return byPersonalToken(parts, bearer, address)
    const who = { ...FIRST_ADMIN, role: tokenRole, via: 'token', address } as const
    return { who, session: null, isStill: async (role) => mayAct(tokenRole, role) }
  }

  return {
    async admit(request) {
      const held = heldBy(request)
      if (request.header('authorization') !== undefined && held !== null)
        throw new Problem('not_from_console', 'Nothing was done: send either a token or the session of the console.')
      if (held !== null && request.method !== 'GET') assertOwnPage(request)
      const admitted = await find(request, held)
      if (admitted) return admitted
      // Only what is wrong uses up an allowance: whoever guesses is slowed down, and the operator is not.
      limiter.take('read', request)
      throw strange(parts.console)
    },
    approach: assertOwnPage,
    take: limiter.take,
    addressOf,
    heldBy,
    cookie: (value) =>
      [
        `${name}=${value?.reveal() ?? ''}`,
        'Path=/',
        'HttpOnly',
        'SameSite=Strict',
        `Max-Age=${value === null ? 0 : SESSION_MS / 1000}`,
        ...(isSecure ? ['Secure'] : []),
      ].join('; '),
  }
}

async function byPersonalToken(
  { database, clock }: AdmissionParts,
  bearer: string,
  address: string,
): Promise<Admitted | null> {
  if (!isToken('personal', bearer)) return null
  const find = async () => {
    const held = await findToken(database, tokenDigest(bearer), clock.now())
    return held?.isGood && held.kind === 'personal' ? held : null
  }
  const held = await find()
  if (!held?.operator) return null
  // Nobody waits for it, and nobody is sent away because it failed.
  if (held.isStale) touchToken(database, held.id, clock.now()).catch(() => {})
  return {
    who: { ...held.operator, via: 'token', address },
    session: null,
    isStill: async (role) => mayAct((await find())?.operator?.role ?? null, role),
  }
}

async function bySession(
  { database, clock, addressOf }: AdmissionParts,
  request: HttpRequest,
  value: string,
): Promise<Admitted | null> {
  if (!isToken('session', value)) return null
  const find = () => findSession(database, value, clock.now())
  const session = await find()
  if (!session) return null
  // What the page asks by itself, without anybody at it, keeps nobody signed in.
  const isBackground = request.header('x-sutler') === BACKGROUND
  // Nobody waits for it, and nobody is sent away because it failed.
  if (session.isStale && !isBackground) touchSession(database, session.id, clock.now()).catch(() => {})
  return {
    who: { ...session.operator, via: session.via, address: addressOf(request) },
    session: { id: session.id, beganAt: session.beganAt, beganWith: session.beganWith },
    isStill: async (role) => mayAct((await find())?.operator.role ?? null, role),
  }
}

/** No form and no page of another site can send all of this. */
function ownPageCheck(origin: string): (request: HttpRequest) => void {
  return (request) => {
    const site = request.header('sec-fetch-site')
    const isOurs = site === undefined ? request.header('origin') === origin : site === 'same-origin'
    const isJson = /^application\/json\s*(;|$)/i.test(request.header('content-type') ?? '')
    if (isOurs && isJson && request.header('x-sutler') === PAGE) return
    throw new Problem(
      'not_from_console',
      `Nothing was done: this does not come from the console at ${origin}. A program sends Authorization: Bearer with a token, and no cookie.`,
    )
  }
}

/** What our pages send in `X-Sutler`: because somebody did something, or of their own accord. */
const PAGE = 'console'
const BACKGROUND = 'background'

function strange(hasConsole: boolean): Problem {
  const way = 'Send Authorization: Bearer with the operator token'
  return new Problem('operator_only', hasConsole ? `${way}, or sign in at /operator/enter.` : `${way}.`, {
    headers: { 'WWW-Authenticate': 'Bearer realm="operator"' },
  })
}

/** Null also when there are two of them: somebody else has put one there. */
function cookieOf(header: string | undefined, name: string): string | null {
  const values = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  return values.length === 1 && values[0] !== '' ? values[0]! : null
}

/** Digests are compared, so that neither the length nor the first wrong letter can be timed. */
function bearerCheck(token: Secret | null): (bearer: string) => boolean {
  if (token === null) return () => false
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token.reveal())
  return (bearer) => timingSafeEqual(digest(bearer), expected)
}
