import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { isToken } from '../../base/token.ts'
import type { Operator } from '../../domain/operator.ts'
import { endSession, type ListedSession, listSessions } from '../../store/people/sessions.ts'
import { type Caller, lookAtToken, type SignIn, signInByToken } from '../../store/people/sign-in.ts'
import type { HttpRequest } from '../http/request.ts'
import { operatorNameField, type PeopleDesk } from './people-rows.ts'
import { entrance, type OperatorRoute, operator } from './route.ts'

const DEVICE_MAX = 200
const tokenField = z.string().min(1).max(200)

function isOne(token: string): boolean {
  return isToken('link', token) || isToken('personal', token)
}

/** How a browser comes in, and out again. */
export function sessionRows(desk: PeopleDesk): readonly OperatorRoute[] {
  const { database, clock, admission } = desk
  return [
    entrance('POST /operator/session', {
      summary: 'Sign in with a link or a personal token; the answer sets the cookie of the session',
      body: z.strictObject({
        token: tokenField,
        name: operatorNameField.optional().describe('Only of the first admin, who is made by signing in'),
      }),
      handle: async ({ body, request }) => {
        const { token, name } = body
        // Whatever else it is fails like any other.
        const outcome = await signInByToken(database, callerOf(desk, request), isOne(token) ? token : '', name)
        return answerTo(desk, request, outcome)
      },
    }),
    entrance('POST /operator/session/look', {
      summary: 'Whom a link or a personal token would let in; nobody is let in by asking, and nothing is used up',
      body: z.strictObject({ token: tokenField }),
      handle: async ({ body: { token }, request }) => {
        const look = await lookAtToken(database, callerOf(desk, request), isOne(token) ? token : '')
        if (look.kind !== 'good') throw notIn(desk, request)
        const { operator, expiresAt, held } = look
        const whom = operator && { name: operator.name, role: operator.role }
        return { body: { operator: whom, expiresAt: isoTime(expiresAt), signedInAs: held } }
      },
    }),
    operator('DELETE /operator/session', {
      role: 'viewer',
      summary: 'Sign out',
      handle: async ({ doer, session }) => {
        const isSignedOut = session !== null && (await endSession(database, doer, session.id))
        return { body: { signedOut: isSignedOut }, headers: { 'Set-Cookie': admission.cookie(null) } }
      },
    }),
    operator('GET /operator/sessions', {
      role: 'admin',
      summary: 'Who is signed in, from where, and when they were last seen',
      handle: async ({ session }) => {
        const now = clock.now()
        const sessions = (await listSessions(database, now)).map((one) => presentSession(one, session?.id ?? null))
        return { body: { sessions, next: null, asOf: isoTime(now) } }
      },
    }),
    operator('DELETE /operator/sessions/{id}', {
      role: 'admin',
      summary: 'End the session of somebody: their next call is refused',
      params: z.strictObject({ id: z.string().min(1).max(64) }),
      handle: async ({ params, doer }) => {
        if (!(await endSession(database, doer, params.id)))
          throw new Problem('operator_not_found', `There is no session ${params.id} that goes on.`)
        return { body: { ended: params.id } }
      },
    }),
  ]
}

/** Who stands at the door, as far as that can be seen. */
function callerOf({ admission, clock, random }: PeopleDesk, request: HttpRequest): Caller {
  return {
    address: admission.addressOf(request),
    device: (request.header('user-agent') ?? '').replaceAll(/[^\x20-\x7e]/g, '').slice(0, DEVICE_MAX),
    held: admission.heldBy(request),
    at: clock.now(),
    random,
  }
}

function answerTo(desk: PeopleDesk, request: HttpRequest, outcome: SignIn) {
  if (outcome.kind !== 'in') throw notIn(desk, request)
  const { operator, id, value } = outcome.session
  return {
    body: { operator: presentOperator(operator), session: id },
    headers: { 'Set-Cookie': desk.admission.cookie(value) },
  }
}

/** Says nothing about what was wrong: a name, a link that was used, a key that is not known. */
function notIn({ admission }: PeopleDesk, request: HttpRequest): Problem {
  // As in `admit`: only what is wrong uses up an allowance, and what a neighbour tries shuts nobody out.
  admission.take('read', request)
  return new Problem(
    'sign_in_refused',
    'This link or key does not let you in. Links work once, for 15 minutes: ask an admin for another one.',
  )
}

function presentOperator({ id, name, role, via }: Omit<Operator, 'address'>): JsonObject {
  return { id, name, role, via }
}

function presentSession({ beganAt, seenAt, expiresAt, ...rest }: ListedSession, own: string | null): JsonObject {
  const times = { beganAt: isoTime(beganAt), seenAt: isoTime(seenAt), expiresAt: isoTime(expiresAt) }
  return { ...rest, ...times, isThis: rest.id === own }
}
