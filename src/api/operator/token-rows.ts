import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { FIRST_ADMIN, mayAct, type Operator } from '../../domain/operator.ts'
import { nameField } from '../../domain/shelf-fields.ts'
import {
  type ListedToken,
  listPersonalTokens,
  makePersonalToken,
  revokePersonalToken,
} from '../../store/people/personal-tokens.ts'
import { assertJustSignedIn } from './just-signed-in.ts'
import { type PeopleDesk, tokenDaysField } from './people-rows.ts'
import { type OperatorRoute, operator } from './route.ts'

const EVERYBODY = 'all'

/** Personal tokens, for the command line: whose they are, what they are called and when they end, and never what they are. */
export function tokenRows({ database, clock }: PeopleDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/tokens', {
      role: 'viewer',
      summary: 'Your personal tokens that work, the newest first; an admin may ask for those of somebody, or of all',
      query: z.strictObject({
        of: z.string().min(1).max(64).optional().describe('The id of an operator, or `all`; your own unless told'),
      }),
      handle: async ({ query: { of }, who }) => {
        const now = clock.now()
        const tokens = await listPersonalTokens(database, now, ownerIn(of, who))
        return { body: { tokens: tokens.map(presentToken), next: null, asOf: isoTime(now) } }
      },
    }),
    operator('POST /operator/tokens', {
      role: 'viewer',
      summary:
        'A personal token for the command line; the answer holds it, once. Only at the console, just after signing in',
      body: z.strictObject({ name: nameField.default('Token'), days: tokenDaysField }),
      handle: async ({ body, who, doer, session }) => {
        if (who.id === FIRST_ADMIN.id)
          throw new Problem('invalid_request', "The shop's own token has no person; add one with sutler operators add.")
        assertJustSignedIn(session, clock.now(), 'A token is made')
        const wish = { operatorId: who.id, ...body }
        const given = await database.transaction((tx) => makePersonalToken(tx, doer, wish))
        if (!given) throw new Problem('invalid_request', 'You have 50 tokens; revoke one first. Nothing was done.')
        const { id, secret, expiresAt } = given
        return { status: 201, body: { id, name: body.name, token: secret.reveal(), expiresAt: isoTime(expiresAt) } }
      },
    }),
    operator('DELETE /operator/tokens/{id}', {
      role: 'viewer',
      summary: 'Revoke a token of yours, with the sessions that it let in; an admin may revoke any',
      params: z.strictObject({ id: z.string().min(1).max(64) }),
      handle: async ({ params, who, doer }) => {
        const owner = mayAct(who.role, 'admin') ? null : who.id
        if (!(await revokePersonalToken(database, doer, params.id, owner)))
          throw new Problem('operator_not_found', `There is no token ${params.id} of yours that works.`)
        return { body: { revoked: params.id } }
      },
    }),
  ]
}

/** Null: everybody's. */
function ownerIn(of: string | undefined, who: Operator): string | null {
  if (of === undefined || of === who.id) return who.id
  if (!mayAct(who.role, 'admin'))
    throw new Problem('role_too_low', `Tokens of others are for an admin to see; you are ${who.role}.`)
  return of === EVERYBODY ? null : of
}

function presentToken({ operatorName, madeAt, usedAt, expiresAt, ...token }: ListedToken): JsonObject {
  const used = usedAt === null ? null : isoTime(usedAt)
  return { ...token, operator: operatorName, madeAt: isoTime(madeAt), usedAt: used, expiresAt: isoTime(expiresAt) }
}
