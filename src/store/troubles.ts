import { isoTime } from '../base/clock.ts'
import { newId, type Random } from '../base/id.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import { type Trouble, type TroubleKind, troubleEvents } from '../domain/trouble.ts'
import type { Database, Queryable, Transaction } from './db.ts'
import { statement } from './statement.ts'

type TroubleRow = {
  id: string
  kind: TroubleKind
  about: string
  detail: string
  began_at: Date
  ended_at: Date | null
}

const SEEN = statement(`
  update troubles t
  set seen_at = greatest(t.seen_at, $2)
  from jsonb_to_recordset($1::jsonb) as s (kind text, about text)
  where t.kind = s.kind
    and t.about = s.about
    and t.ended_at is null`)

const BEGIN = statement<TroubleRow>(`
  insert into troubles (id, kind, about, detail, began_at, seen_at)
  select id, kind, about, detail, $2, $2
  from jsonb_to_recordset($1::jsonb) as s (id text, kind text, about text, detail text)
  order by kind, about
  on conflict (kind, about) where ended_at is null do nothing
  returning id, kind, about, detail, began_at, ended_at`)

const END = statement<TroubleRow>(`
  update troubles
  set ended_at = $1
  where ended_at is null
    and seen_at < $2
    and kind = any ($3::text[])
  returning id, kind, about, detail, began_at, ended_at`)

const LOG = statement(`
  insert into events (subject, sequence, type, data)
  select e.subject, e.sequence, e.type, e.data
  from jsonb_to_recordset($1::jsonb) as e (subject text, sequence int, type text, data jsonb)`)

type Look = {
  readonly at: number
  /** What is wrong, as this replica sees it. */
  readonly troubles: readonly Trouble[]
  /** Of which kinds it could see all there is. What could not be looked at is not over. */
  readonly seen: readonly TroubleKind[]
  /** For so long nobody must have seen a trouble before it is over: replicas see different sides of the same world. */
  readonly quietMs: number
}

/**
 * Writes down what one replica sees. A trouble begins once for the whole shop and ends once, each with its event in the same transaction.
 * Returns how many events that made.
 */
export function recordLook(db: Database, look: Look, random: Random): Promise<number> {
  const { at, troubles, seen, quietMs } = look
  const told = troubles.map((trouble) => ({ id: newId('trb', random), ...trouble }))
  return db.transaction(async (tx) => {
    if (told.length > 0) await tx.query(SEEN, [stringify(told), new Date(at)])
    const begun = told.length === 0 ? [] : (await tx.query(BEGIN, [stringify(told), new Date(at)])).rows
    const { rows: ended } = await tx.query(END, [new Date(at), new Date(at - quietMs), seen])
    await log(tx, [...begun, ...ended])
    return begun.length + ended.length
  })
}

async function log(tx: Transaction, rows: readonly TroubleRow[]): Promise<void> {
  if (rows.length === 0) return
  const events = rows.map((row) => {
    const [begin, end] = troubleEvents[row.kind]
    const isOver = row.ended_at !== null
    return { subject: row.id, sequence: isOver ? 2 : 1, type: isOver ? end : begin, data: present(row) }
  })
  await tx.query(LOG, [stringify(events)])
}

function present({ id, kind, about, detail, began_at, ended_at }: TroubleRow): JsonObject {
  return {
    troubleId: id,
    kind,
    about,
    detail,
    since: isoTime(began_at.getTime()),
    until: ended_at === null ? null : isoTime(ended_at.getTime()),
  }
}

const COUNT = statement<{ kind: TroubleKind; count: number }>(`
  select kind, count(*)::int as count
  from troubles
  where ended_at is null
  group by kind`)

export async function countTroubles(
  queryable: Queryable,
): Promise<readonly { readonly kind: TroubleKind; readonly count: number }[]> {
  return (await queryable.query(COUNT)).rows
}
