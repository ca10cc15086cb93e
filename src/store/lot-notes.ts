import type { Address } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import { stringify } from '../base/json.ts'
import type { Database, Queryable } from './db.ts'
import { type Doer, recordDeeds } from './deeds.ts'
import { statement } from './statement.ts'
import { assertVersion } from './version.ts'

/** What the shop says of a lot beside the chain. Null: what the chain says. */
export type LotNote = {
  readonly name: string | null
  readonly description: string | null
  readonly picture: string | null
  readonly hidden: boolean
}

export type LotNoteChange = { readonly saleId: number } & {
  readonly [Field in keyof LotNote]?: LotNote[Field] | undefined
}

export const NO_NOTE: LotNote = { name: null, description: null, picture: null, hidden: false }

type Row = LotNote & { sale_id: string }

const ALL = statement<Row>(`
  select sale_id, name, description, picture, hidden
  from lot_notes
  where contract = $1`)

const HIDDEN = statement<{ hidden: boolean }>(`
  select hidden
  from lot_notes
  where contract = $1
    and sale_id = $2`)

const PREPARE = statement(`
  insert into lot_notes (contract, sale_id)
  select $1, sale_id
  from unnest($2::bigint[]) as n (sale_id)
  order by sale_id
  on conflict do nothing`)

const LOCK = statement<Row>(`
  select sale_id, name, description, picture, hidden
  from lot_notes
  where contract = $1
    and sale_id = any ($2::bigint[])
  order by sale_id
  for update`)

const WRITE = statement(`
  update lot_notes n
  set name = s.name,
      description = s.description,
      picture = s.picture,
      hidden = s.hidden
  from jsonb_to_recordset($2::jsonb) as s ("saleId" bigint, name text, description text, picture text, hidden boolean)
  where n.contract = $1
    and n.sale_id = s."saleId"`)

/** Lots of another contract have notes of their own, even under the same number. */
export async function readLotNotes(queryable: Queryable, contract: Address): Promise<ReadonlyMap<number, LotNote>> {
  const { rows } = await queryable.query(ALL, [contract.toLowerCase()])
  return new Map(rows.map(({ sale_id, ...note }) => [Number(sale_id), note]))
}

export async function isLotHidden(queryable: Queryable, contract: Address, saleId: number): Promise<boolean> {
  const { rows } = await queryable.query(HIDDEN, [contract.toLowerCase(), saleId])
  return rows[0]?.hidden ?? false
}

/** All or none, each with its deed. Returns the lots of which something else is said now. */
export async function changeLotNotes(
  db: Database,
  doer: Doer,
  { contract, ifMatch }: { readonly contract: Address; readonly ifMatch?: string | undefined },
  changes: readonly LotNoteChange[],
): Promise<readonly number[]> {
  const place = contract.toLowerCase()
  const ids = changes.map(({ saleId }) => saleId)
  return db.transaction(async (tx) => {
    await tx.query(PREPARE, [place, ids])
    const { rows } = await tx.query(LOCK, [place, ids])
    const before = new Map(rows.map(({ sale_id, ...note }) => [Number(sale_id), note]))
    const [only] = before.values()
    if (only) assertVersion(ifMatch, { ...only })
    const moved = changes
      .map(({ saleId, ...change }) => ({ saleId, from: before.get(saleId)!, to: noted(before.get(saleId)!, change) }))
      .filter(({ from, to }) => stringify(from) !== stringify(to))
    await tx.query(WRITE, [place, stringify(moved.map(({ saleId, to }) => ({ saleId, ...to })))])
    await recordDeeds(
      tx,
      doer,
      moved.map(({ saleId, from, to }) => ({
        deed: from.hidden === to.hidden ? 'lot.described' : to.hidden ? 'lot.hidden' : 'lot.shown',
        about: { kind: 'lot', id: String(saleId) },
        before: { ...from } satisfies JsonObject,
        after: { ...to } satisfies JsonObject,
      })),
    )
    return moved.map(({ saleId }) => saleId)
  })
}

function noted(
  { name, description, picture, hidden }: LotNote,
  change: Partial<Omit<LotNoteChange, 'saleId'>>,
): LotNote {
  const said = <Value>(value: Value | undefined, otherwise: Value) => (value === undefined ? otherwise : value)
  return {
    name: said(change.name, name),
    description: said(change.description, description),
    picture: said(change.picture, picture),
    hidden: said(change.hidden, hidden),
  }
}
