import { isoTime } from '../base/clock.ts'
import type { Place } from '../base/cursor.ts'
import type { Database, Queryable } from './db.ts'
import { type Doer, recordDeeds } from './deeds.ts'
import { statement } from './statement.ts'

/** Somebody whom nothing is sold to. */
export type BlockedPayer = {
  /** In lower case: however they spell it, it is they. */
  readonly address: string
  readonly reason: string
  readonly by: string
  readonly at: number
}

type Row = { address: string; reason: string; author: string; at: Date }

/** A condition for somebody else's statement, on a parameter that is an address: it is blocked. */
export function isBlockedAddress(payer: string): string {
  return `exists (select from blocked_payers where address = lower(${payer}))`
}

const IS_BLOCKED = statement<{ is_blocked: boolean }>(`
  select ${isBlockedAddress('$1')} as is_blocked`)

export async function isPayerBlocked(queryable: Queryable, payer: string): Promise<boolean> {
  return (await queryable.query(IS_BLOCKED, [payer])).rows[0]!.is_blocked
}

const LIST = statement<Row & { micros: string }>(`
  select address, reason, author, at, (extract(epoch from at) * 1000000)::bigint::text as micros
  from blocked_payers
  where (at, address) < (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text)
  order by at desc, address desc
  limit $3`)

const END: Place = { micros: '9000000000000000', id: '' }

/** The newest first. */
export async function listBlocked(
  queryable: Queryable,
  after: Place | null,
  limit: number,
): Promise<readonly { readonly blocked: BlockedPayer; readonly place: Place }[]> {
  const { micros, id } = after ?? END
  const { rows } = await queryable.query(LIST, [micros, id, limit])
  return rows.map(({ micros, ...row }) => ({ blocked: blockedOf(row), place: { micros, id: row.address } }))
}

const BLOCK = statement<Row>(`
  insert into blocked_payers (address, reason, author, at)
  values (lower($1), $2, $3, $4)
  on conflict (address) do nothing
  returning address, reason, author, at`)

const FIND = statement<Row>(`
  select address, reason, author, at
  from blocked_payers
  where address = lower($1)`)

/** From the moment that this is through, no replica opens an order of theirs. `isNew` is false for who was blocked before. */
export function blockPayer(
  db: Database,
  doer: Doer,
  { address, reason }: Pick<BlockedPayer, 'address' | 'reason'>,
): Promise<{ readonly blocked: BlockedPayer; readonly isNew: boolean }> {
  return db.transaction(async (tx) => {
    const [added] = (await tx.query(BLOCK, [address, reason, doer.by, new Date(doer.at)])).rows
    const [row] = added ? [added] : (await tx.query(FIND, [address])).rows
    const blocked = blockedOf(row!)
    const about = { kind: 'payer', id: blocked.address }
    if (added) await recordDeeds(tx, doer, [{ deed: 'payer.blocked', about, before: null, after: { reason }, reason }])
    return { blocked, isNew: added !== undefined }
  })
}

const UNBLOCK = statement<Row>(`
  delete from blocked_payers
  where address = lower($1)
  returning address, reason, author, at`)

/** False: they were not blocked here. */
export function unblockPayer(db: Database, doer: Doer, address: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [row] = (await tx.query(UNBLOCK, [address])).rows
    if (!row) return false
    const { reason, author: by, at } = row
    const before = { reason, by, at: isoTime(at.getTime()) }
    const about = { kind: 'payer', id: row.address }
    await recordDeeds(tx, doer, [{ deed: 'payer.unblocked', about, before, after: null }])
    return true
  })
}

function blockedOf({ address, reason, author, at }: Row): BlockedPayer {
  return { address, reason, by: author, at: at.getTime() }
}
