import type { Queryable } from './db.ts'
import { pauseOf, type SalesPause } from './sales-pauses.ts'
import { statement } from './statement.ts'

/** Everything that is not sold because somebody said so, for a process that is asked thousands of times a second. */
type Rules = {
  readonly pauses: readonly SalesPause[]
  /** In lower case. */
  readonly blocked: ReadonlySet<string>
  /** How many are blocked, and who, mixed into one number: by clocks of several replicas somebody can go and another come at one moment. */
  readonly state: string
}

export const NO_RULES: Rules = { pauses: [], blocked: new Set(), state: '0 0' }

type PauseJson = { rail: string; reason: string; author: string; since: string; until_at: string | null }

// One question for both.
const READ = statement<{ pauses: PauseJson[]; count: number; mixed: string }>(`
  select (select coalesce(jsonb_agg(p), '[]') from sales_pauses p where p.until_at is null or p.until_at > now()) as pauses,
         b.count, b.mixed
  from (
    select count(*)::int as count, coalesce(bit_xor(hashtextextended(address, 0)), 0)::text as mixed
    from blocked_payers
  ) b`)

const BLOCKED = statement<{ address: string }>(`
  select address
  from blocked_payers`)

/** The list of the blocked is read only when somebody was added or taken out. */
export async function readRules(queryable: Queryable, known: Rules): Promise<Rules> {
  const { pauses, count, mixed } = (await queryable.query(READ)).rows[0]!
  const state = `${count} ${mixed}`
  const blocked =
    state === known.state ? known.blocked : new Set((await queryable.query(BLOCKED)).rows.map(({ address }) => address))
  const open = pauses.map(({ since, until_at, ...row }) =>
    pauseOf({ ...row, since: new Date(since), until_at: until_at === null ? null : new Date(until_at) }),
  )
  return { pauses: open, blocked, state }
}
