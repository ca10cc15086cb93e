import * as z from 'zod'
import { type Clock, isoTime } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Config } from '../config/config.ts'
import { enterUrl, type Role, roles } from '../domain/operator.ts'
import { free, type Route } from '../domain/route.ts'
import type { Database, Transaction } from '../store/db.ts'
import { addPerson, findByName, type Person } from '../store/people/operators.ts'
import { SANDBOX } from '../store/people/sign-in.ts'
import { insertToken } from '../store/people/tokens.ts'
import { forOwnPages } from './routes.ts'

type ConsoleParts = {
  readonly config: Config
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
}

const NAMES: Readonly<Record<Role, string>> = {
  admin: 'Sandbox admin',
  support: 'Sandbox support',
  viewer: 'Sandbox viewer',
}

/** Lets anybody in who asks, in whatever role they want to try: here everybody has every key already. */
export function consoleRoutes({ config, database, clock, random }: ConsoleParts): readonly Route[] {
  if (!config.operators.console) return []
  const routes = [
    free('POST /sandbox/console', {
      host: 'both',
      summary: "A link that signs you in to the operator's console",
      body: z.strictObject({ role: z.enum(roles).default('admin') }),
      handle: async ({ body: { role } }) => {
        const sources = { at: clock.now(), random }
        const { secret, expiresAt } = await database.transaction(async (tx) => {
          const { id } = await personOf(tx, role, sources)
          return insertToken(tx, { kind: 'link', operatorId: id, madeBy: SANDBOX }, sources)
        })
        const token = secret.reveal()
        return { body: { url: enterUrl(config.http.baseUrl, token), token, role, expiresAt: isoTime(expiresAt) } }
      },
    }),
  ]
  return routes.map((route) => forOwnPages(route, config.http))
}

async function personOf(tx: Transaction, role: Role, sources: { at: number; random: Random }): Promise<Person> {
  const name = NAMES[role]
  const who = { id: 'opr_sandbox', name: SANDBOX, role: 'admin', via: SANDBOX, address: SANDBOX } as const
  const known = (await findByName(tx, name)) ?? (await addPerson(tx, { who, by: SANDBOX, ...sources }, { name, role }))
  if (!known) throw new TypeError(`${name} is neither there nor can be added`)
  return known
}
