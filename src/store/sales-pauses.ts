import { isoTime } from '../base/clock.ts'
import type { RailName } from '../domain/rail.ts'
import type { Database, Queryable } from './db.ts'
import { type Doer, recordDeeds } from './deeds.ts'
import { statement } from './statement.ts'

/** Nothing is sold on this rail because somebody who runs the shop said so. */
export type SalesPause = {
  readonly rail: RailName
  readonly reason: string
  readonly by: string
  readonly since: number
  /** Null: until somebody says otherwise. */
  readonly until: number | null
}

type PauseRow = { rail: RailName; reason: string; author: string; since: Date; until_at: Date | null }

/** A condition for somebody else's statement, on a parameter that is a rail: it is paused. */
export function isPausedRail(rail: string): string {
  return `exists (
        select
        from sales_pauses
        where rail = ${rail}
          and (until_at is null or until_at > now()))`
}

const OPEN = statement<PauseRow>(`
  select rail, reason, author, since, until_at
  from sales_pauses
  where until_at is null
     or until_at > now()
  order by rail`)

export async function readPauses(queryable: Queryable): Promise<readonly SalesPause[]> {
  return (await queryable.query(OPEN)).rows.map(pauseOf)
}

const LOCK = statement<PauseRow>(`
  select rail, reason, author, since, until_at
  from sales_pauses
  where rail = $1
  for update`)

const PAUSE = statement(`
  insert into sales_pauses (rail, reason, author, since, until_at)
  values ($1, $2, $3, $4, $5)
  on conflict (rail) do update
  set reason = excluded.reason,
      author = excluded.author,
      since = excluded.since,
      until_at = excluded.until_at`)

const RESUME = statement(`
  delete from sales_pauses
  where rail = $1`)

type Wish = Pick<SalesPause, 'rail' | 'reason' | 'until'>

/** From the moment that this is through, no replica opens an order on the rail. */
export function pauseSales(db: Database, doer: Doer, { rail, reason, until }: Wish): Promise<SalesPause> {
  const pause = { rail, reason, by: doer.by, since: doer.at, until }
  return db.transaction(async (tx) => {
    const [known] = (await tx.query(LOCK, [rail])).rows
    await tx.query(PAUSE, [rail, reason, doer.by, new Date(doer.at), until === null ? null : new Date(until)])
    const before = known ? told(pauseOf(known)) : null
    const about = { kind: 'rail', id: rail }
    await recordDeeds(tx, doer, [{ deed: 'sales.paused', about, before, after: told(pause), reason }])
    return pause
  })
}

/** False: they were not paused. */
export function resumeSales(db: Database, doer: Doer, rail: RailName): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [known] = (await tx.query(LOCK, [rail])).rows
    if (!known) return false
    await tx.query(RESUME, [rail])
    const about = { kind: 'rail', id: rail }
    await recordDeeds(tx, doer, [{ deed: 'sales.resumed', about, before: told(pauseOf(known)), after: null }])
    return true
  })
}

export function pauseOf({ rail, reason, author, since, until_at }: PauseRow): SalesPause {
  return { rail, reason, by: author, since: since.getTime(), until: until_at?.getTime() ?? null }
}

function told({ reason, until }: SalesPause) {
  return { reason, until: until === null ? null : isoTime(until) }
}
