import type { Admission } from '../api/operator/admission.ts'
import { approvalRows } from '../api/operator/approval-rows.ts'
import { auditRows } from '../api/operator/audit-rows.ts'
import { firstUrl, linkUrl, meRow, peopleRows } from '../api/operator/people-rows.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import { sessionRows } from '../api/operator/session-rows.ts'
import { tokenRows } from '../api/operator/token-rows.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import type { Config } from '../config/config.ts'
import type { Role } from '../domain/operator.ts'
import type { RailAccount } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import type { Doer } from '../store/deeds.ts'
import type { Approval } from '../store/people/approvals.ts'
import { countAdmins, listPeople } from '../store/people/operators.ts'
import { hasFoundingLink, insertToken, issueToken } from '../store/people/tokens.ts'
import { objectionTo } from './refund-guard.ts'

type PeopleParts = {
  readonly config: Config
  readonly accounts: readonly RailAccount[]
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
  readonly admission: Admission
  readonly approve: (doer: Doer, approval: Approval) => Promise<JsonObject>
}

/** The operator's routes about operators themselves: who they are, what they did, how they come in. `all` are those of every desk. */
export function peopleRoutes(parts: PeopleParts, all: () => readonly OperatorRoute[]): readonly OperatorRoute[] {
  const { config, accounts } = parts
  const networks = accounts.filter(({ isSelling }) => isSelling).map(({ network }) => network)
  return [
    ...peopleRows(parts),
    ...tokenRows(parts),
    meRow(parts, networks, all),
    ...auditRows(parts),
    ...approvalRows({ ...parts, objectionTo: (doer, approval) => objectionTo(parts.database, doer, approval) }),
    ...(config.operators.console ? sessionRows(parts) : []),
  ]
}

type FoundingParts = Omit<PeopleParts, 'accounts' | 'admission' | 'approve'>

/** While there is no admin: a link that makes whoever uses it the first. Null when there is one, or somebody holds a link already. */
export function firstLink({ config, database, clock, random }: FoundingParts): Promise<string | null> {
  if (!config.operators.console) return Promise.resolve(null)
  const at = clock.now()
  return database.transaction(async (tx) => {
    // One replica after the other: of those that start at once, one prints a link.
    if ((await countAdmins(tx)) > 0 || (await hasFoundingLink(tx, at))) return null
    const link = await insertToken(tx, { kind: 'link', operatorId: null, madeBy: 'start' }, { at, random })
    return firstUrl(link, config.http.baseUrl)
  })
}

/** Is there nobody yet who could let others in at the console? */
export async function isUnfounded({ config, database }: Pick<FoundingParts, 'config' | 'database'>): Promise<boolean> {
  return config.operators.console && (await database.transaction(countAdmins)) === 0
}

/** A link for whoever has the store itself in hand: for the first admin, or for one who cannot get in any more. Null: there is no such place. */
export function linkByStore(
  { config, database, clock, random }: FoundingParts,
  name: string | null,
): Promise<{ readonly url: string; readonly expiresAt: number; readonly role: Role } | null> {
  const at = clock.now()
  const who = { id: 'opr_store', name: 'store', role: 'admin', via: 'token', address: 'store' } as const
  return database.transaction(async (tx) => {
    const admins = await countAdmins(tx)
    const people = name === null ? [] : await listPeople(tx, at, at)
    const found = people.find((one) => one.name === name && one.state === 'active')
    const operatorId = found?.id ?? null
    if (name === null ? admins > 0 : operatorId === null) return null
    const link = await issueToken(tx, { who, by: who.name, at, random }, { kind: 'link', operatorId })
    const url = operatorId === null ? firstUrl : linkUrl
    return { url: url(link, config.http.baseUrl), expiresAt: link.expiresAt, role: found?.role ?? 'admin' }
  })
}
