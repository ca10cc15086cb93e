import * as z from 'zod'
import { type Clock, isoTime } from '../../base/clock.ts'
import type { Random } from '../../base/id.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { Config } from '../../config/config.ts'
import { enterUrl, FIRST_ADMIN, mayAct, roles } from '../../domain/operator.ts'
import { AUTOMATIC } from '../../domain/order.ts'
import { nameField } from '../../domain/shelf-fields.ts'
import type { Database, Transaction } from '../../store/db.ts'
import type { Doer } from '../../store/deeds.ts'
import {
  addPerson,
  changePerson,
  countAdmins,
  findPerson,
  type ListedPerson,
  listPeople,
  type Person,
  type PersonOutcome,
} from '../../store/people/operators.ts'
import { IDLE_MS } from '../../store/people/sessions.ts'
import { spentToday } from '../../store/people/spending.ts'
import { type GivenToken, issueToken, PERSONAL_DAYS, PERSONAL_DAYS_MAX } from '../../store/people/tokens.ts'
import type { Admission } from './admission.ts'
import { type OperatorRoute, operator } from './route.ts'

/** What the routes about people work with. */
export type PeopleDesk = {
  readonly config: Config
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
  readonly admission: Admission
}

/** Names that mean something else where they are read. */
const TAKEN = new Set([AUTOMATIC, 'sandbox', FIRST_ADMIN.name])

export const operatorNameField = nameField
  .transform((name) => name.normalize('NFC'))
  .refine((name) => name !== '' && !TAKEN.has(name.toLowerCase()), { message: 'is taken; choose another name' })

const FOUNDED =
  "The shop's own token makes the first admin and nobody else. Nothing was done; an admin adds people with their personal token."

const id = z.strictObject({ id: z.string().min(1).max(64) })
const role = z.enum(roles)

export const tokenDaysField = z.int().min(1).max(PERSONAL_DAYS_MAX).default(PERSONAL_DAYS)

export function peopleRows(desk: PeopleDesk): readonly OperatorRoute[] {
  const { database, clock, config } = desk
  return [
    operator('GET /operator/operators', {
      role: 'viewer',
      summary: 'Who runs the shop, and in which role',
      handle: async () => {
        const now = clock.now()
        const people = await listPeople(database, now, now - IDLE_MS)
        return { body: { operators: people.map(presentListed), next: null, asOf: isoTime(now) } }
      },
    }),
    operator('POST /operator/operators', {
      role: 'admin',
      isFounding: true,
      summary:
        'Add somebody; the answer holds the link that lets them in, once, and a personal token if it was asked for',
      body: z.strictObject({
        name: operatorNameField,
        role,
        token: z.boolean().default(false).describe('Also a token for the command line'),
        tokenDays: tokenDaysField.describe('How many days it is good for'),
      }),
      handle: async ({ body, doer }) => ({
        status: 201,
        body: await database.transaction(async (tx) => {
          // The shop's own token is nobody: it lets one person in, who lets in the others.
          if (!mayAct(doer.who.role, 'admin') && (body.role !== 'admin' || (await countAdmins(tx)) > 0))
            throw new Problem('role_too_low', FOUNDED)
          const person = await addPerson(tx, doer, body)
          if (!person)
            throw new Problem('invalid_request', `There is an operator ${body.name} already; choose another name.`)
          return {
            ...presentPerson(person),
            ...(await keysFor(tx, doer, config, { ...person, wantsToken: body.token, days: body.tokenDays })),
          }
        }),
      }),
    }),
    ...(config.operators.console ? [firstRow(desk)] : []),
    operator('POST /operator/operators/{id}/link', {
      role: 'admin',
      summary: 'Another link that lets somebody in, once',
      params: id,
      handle: async ({ params, doer }) => ({
        status: 201,
        body: await database.transaction(async (tx) => {
          const person = await findPerson(tx, params.id)
          if (!person || person.state === 'revoked') throw unknown(params.id)
          return { ...presentPerson(person), ...(await keysFor(tx, doer, config, { ...person, wantsToken: false })) }
        }),
      }),
    }),
    operator('POST /operator/operators/{id}/role', {
      role: 'admin',
      summary: 'Give somebody another role; their sessions end',
      params: id,
      body: z.strictObject({ role }),
      handle: async ({ params, body, doer }) => ({
        body: presentPerson(changed(params.id, await changePerson(database, doer, params.id, body))),
      }),
    }),
    operator('POST /operator/operators/{id}/revoke', {
      role: 'admin',
      summary: 'Remove an operator: sessions and tokens end',
      params: id,
      handle: async ({ params, doer }) => ({
        body: presentPerson(changed(params.id, await changePerson(database, doer, params.id, { state: 'revoked' }))),
      }),
    }),
  ]
}

function firstRow({ database, config }: PeopleDesk): OperatorRoute {
  return operator('POST /operator/operators/first', {
    role: 'admin',
    isFounding: true,
    summary: 'While there is no admin: a link that makes whoever uses it the first, once',
    handle: async ({ doer }) => {
      const link = await database.transaction(async (tx) => {
        if ((await countAdmins(tx)) > 0)
          throw new Problem('invalid_request', 'There is an admin already; name whom the link is for.')
        return issueToken(tx, doer, { kind: 'link', operatorId: null })
      })
      const url = firstUrl(link, config.http.baseUrl)
      return { status: 201, body: { name: null, role: 'admin', link: { url, expiresAt: isoTime(link.expiresAt) } } }
    },
  })
}

/** Who asks, what they may do, and what the shop is. `routes` are all there are. */
export function meRow(
  { config, database, clock }: PeopleDesk,
  networks: readonly string[],
  routes: () => readonly OperatorRoute[],
): OperatorRoute {
  const { supportRefundsPerDay, secondPersonFrom } = config.operators
  return operator('GET /operator/me', {
    role: 'viewer',
    summary: 'Who you are here, and what you may do',
    handle: async ({ who, session }) => {
      const may = routes().map(
        ({ method, path, role }) => [`${method} ${path}`, role === null || mayAct(who.role, role)] as const,
      )
      const spent = who.role === 'support' ? await spentToday(database, who.id, clock.now()) : 0n
      const budget = who.role === 'support' ? formatUsd(supportRefundsPerDay) : null
      return {
        body: {
          operator: { id: who.id, name: who.name, role: who.role, via: who.via },
          session: session?.id ?? null,
          shop: { name: config.service.name, mode: config.mode, networks: [...networks] },
          may: Object.fromEntries(may),
          refunds: {
            perDay: budget,
            spentToday: formatUsd(usd(spent)),
            secondPersonFrom: secondPersonFrom === null ? null : formatUsd(secondPersonFrom),
          },
        },
      }
    },
  })
}

async function keysFor(
  tx: Transaction,
  doer: Doer,
  { operators, http }: Config,
  { id: operatorId, wantsToken, days = PERSONAL_DAYS }: { id: string; wantsToken: boolean; days?: number },
): Promise<JsonObject> {
  const link = operators.console ? await issueToken(tx, doer, { kind: 'link', operatorId }) : null
  const token =
    wantsToken || !link ? await issueToken(tx, doer, { kind: 'personal', operatorId, days, name: 'First token' }) : null
  return {
    link: link && presentLink(link, http.baseUrl),
    token: token && { token: token.secret.reveal(), expiresAt: isoTime(token.expiresAt) },
  }
}

function presentLink(link: GivenToken, baseUrl: string): JsonObject {
  return { url: linkUrl(link, baseUrl), expiresAt: isoTime(link.expiresAt) }
}

export function linkUrl({ secret }: GivenToken, baseUrl: string): string {
  return enterUrl(baseUrl, secret.reveal())
}

/** The page asks whoever comes by this one for their name. */
export function firstUrl({ secret }: GivenToken, baseUrl: string): string {
  return `${enterUrl(baseUrl, secret.reveal())}&first`
}

function changed(id: string, outcome: PersonOutcome): Person {
  if (outcome === 'unknown') throw unknown(id)
  if (outcome === 'last_admin')
    throw new Problem('invalid_request', 'This is the last admin; make somebody else an admin first. Nothing was done.')
  return outcome
}

function unknown(id: string): Problem {
  return new Problem('operator_not_found', `There is no operator ${id}.`)
}

function presentPerson({ id, name, role, state, createdAt }: Person) {
  return { id, name, role, state, createdAt: isoTime(createdAt) }
}

function presentListed({ sessions, tokens, seenAt, ...person }: ListedPerson): JsonObject {
  const seen = seenAt === null ? null : isoTime(seenAt)
  return { ...presentPerson(person), sessions, tokens, seenAt: seen }
}
