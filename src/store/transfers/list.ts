import type { Place } from '../../base/cursor.ts'
import type { BookedTransfer, TransferState } from '../../domain/booked-transfer.ts'
import type { RailName } from '../../domain/rail.ts'
import type { Queryable } from '../db.ts'
import { statement } from '../statement.ts'
import { accountIdOfRow } from './account-id.ts'
import { fromTransferRow, TRANSFER_COLUMNS, type TransferRow } from './transfers.ts'

/** A transfer with its rail and currency, as far as the store alone knows them: null for an account of no configuration on record. */
export type FoundTransfer = {
  readonly transfer: BookedTransfer
  readonly rail: RailName | null
  readonly currency: string | null
  readonly place: Place
}

export type TransferFilter = {
  readonly states: readonly TransferState[]
  readonly rail?: string | undefined
  readonly after?: Place | undefined
  readonly limit: number
}

type FoundRow = TransferRow & { rail: RailName | null; currency: string | null; micros: string }

const COLUMNS = `${TRANSFER_COLUMNS}, s.rail, s.currency, (extract(epoch from t.found_at) * 1000000)::bigint::text as micros`
const BESIDE = `
  left join refunds r on r.transfer_id = t.id
  left join lateral (
    select rail, currency
    from shop_terms
    where ${accountIdOfRow('shop_terms')} = t.account
    order by last_used desc
    limit 1
  ) as s on true`

/** As many of each state as could be needed, by the index of that state; then the newest of all. */
const list = (only: string) => `
  select ${COLUMNS}
  from (
    select each.*
    from unnest($1::text[]) as wanted (state)
    cross join lateral (
      select *
      from transfers
      where state = wanted.state
        and (found_at, id) < (timestamptz 'epoch' + $2::bigint * interval '1 microsecond', $3::text)${only}
      order by found_at desc, id desc
      limit $4
    ) as each
  ) as t
  ${BESIDE}
  order by t.found_at desc, t.id desc
  limit $4`

const LIST = statement<FoundRow>(list(''))
const LIST_OF_RAIL = statement<FoundRow>(
  list(`
        and account in (select ${accountIdOfRow('shop_terms')} from shop_terms where rail = $5)`),
)

/** After every moment there is, and still a number that a timestamp can be made of. */
const END: Place = { micros: '9000000000000000', id: '' }

export async function listTransfers(queryable: Queryable, filter: TransferFilter): Promise<readonly FoundTransfer[]> {
  const { states, rail, after = END, limit } = filter
  const values = [states, after.micros, after.id, limit]
  const { rows } =
    rail === undefined ? await queryable.query(LIST, values) : await queryable.query(LIST_OF_RAIL, [...values, rail])
  return rows.map(found)
}

const BY_REFERENCE = statement<FoundRow>(`
  with named as (
    select id from transfers where id = $1
    union
    select id from transfers where transaction = lower($1)
    union
    select transfer_id from refunds where transaction = lower($1) and transfer_id is not null
    union
    select id from transfers where order_id = $1 and order_id is not null and state <> 'matched'
    union
    select transfer_id from payment_identities where handle in ($1, lower($1)) and transfer_id is not null
  )
  select ${COLUMNS}
  from named n
  join transfers t on t.id = n.id
  ${BESIDE}
  order by t.found_at desc, t.id desc
  limit 20`)

/**
 * By anything that names a transfer: its id, its transaction, the transaction that sent it back, the order that had given it up, and, once its
 * name is claimed, the nonce or challenge that it was paid under.
 */
export async function transfersBy(queryable: Queryable, reference: string): Promise<readonly FoundTransfer[]> {
  return (await queryable.query(BY_REFERENCE, [reference])).rows.map(found)
}

const BY_SENDER = statement<FoundRow>(`
  select ${COLUMNS}
  from (
    select *
    from transfers
    where lower(sender) = lower($1)
      and state <> 'matched'
    order by found_at desc
    limit $2
  ) as t
  ${BESIDE}
  order by t.found_at desc, t.id desc`)

export async function transfersFrom(
  queryable: Queryable,
  sender: string,
  limit: number,
): Promise<readonly FoundTransfer[]> {
  return (await queryable.query(BY_SENDER, [sender, limit])).rows.map(found)
}

/** The payment that a payer may be looking for: it reached a receiving account, and no order has it. */
export async function unmatchedPayment(queryable: Queryable, reference: string): Promise<BookedTransfer | null> {
  const all = await transfersBy(queryable, reference)
  return all.find(({ transfer }) => transfer.state !== 'matched')?.transfer ?? null
}

function found({ rail, currency, micros, ...row }: FoundRow): FoundTransfer {
  return { transfer: fromTransferRow(row), rail, currency, place: { micros, id: row.id } }
}
