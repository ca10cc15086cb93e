import { isoTime } from '../../base/clock.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import { formatUsd, type Usd } from '../../base/money.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'
import { assertVersion } from '../version.ts'
import { fromRow, type Row } from './items.ts'

/** An item as whoever runs the shop sees it. */
export type ShelfItem = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly picture: string | null
  readonly price: Usd
  /** All that there ever were of it: what was delivered, and what is left. Sales do not change it. Null: there is no end to it. */
  readonly supply: number | null
  readonly delivered: number
  /** What paid and unpaid orders have set aside of what is left. */
  readonly promised: number
  readonly limitPerPlayer: number | null
  readonly levelMin: number
  readonly opensAt: number | null
  readonly closesAt: number | null
  readonly hidden: boolean
}

type Settable = Omit<ShelfItem, 'id' | 'delivered' | 'promised'>

/** What is to be different. `stock` is another way to say `supply`: so many shall be left. */
export type ItemChange = { readonly id: string } & {
  readonly [Field in keyof Settable]?: Settable[Field] | undefined
} & {
  readonly stock?: number | null | undefined
}

/** `put` adds what is new and changes what is known, as an import does. */
export type ShelfMode = 'add' | 'change' | 'put'

type ShelfFault = { readonly index: number; readonly field: keyof ItemChange; readonly detail: string }

export type ShelfOutcome = { readonly item: ShelfItem; readonly did: 'added' | 'changed' | 'nothing' }

export type ShelfChange =
  | { readonly kind: 'done'; readonly outcomes: readonly ShelfOutcome[] }
  /** Nothing was written. */
  | { readonly kind: 'refused'; readonly faults: readonly ShelfFault[] }

type FullRow = Row & { hidden: boolean; held: string | null }

const ALL = statement<FullRow>(`
  select i.*, t.held
  from items i
  left join hold_totals t on t.resource = 'stock:' || i.id
  order by i.position, i.id`)

// One change of the shelf at a time: two that add the same item would both find it missing.
const QUEUE = statement(`
  select pg_advisory_xact_lock(hashtext('shelf'))`)

const LOCK = statement<FullRow>(`
  select i.*, (select t.held from hold_totals t where t.resource = 'stock:' || i.id) as held
  from items i
  where i.id = any ($1::text[])
  order by i.id
  for update`)

// What is new goes to the end of the shelf, in the order it came in.
const WRITE = statement(`
  insert into items (id, name, description, picture, price, stock, limit_per_player, level_min, opens_at, closes_at, hidden, position)
  select s.id, s.name, s.description, s.picture, s.price, s.supply, s."limitPerPlayer", s."levelMin", s."opensAt", s."closesAt",
         s.hidden, coalesce((select max(position) from items), 0) + s.rank
  from jsonb_to_recordset($1::jsonb) as s (
    id text, name text, description text, picture text, price numeric, supply bigint, "limitPerPlayer" integer, "levelMin" integer,
    "opensAt" timestamptz, "closesAt" timestamptz, hidden boolean, rank integer)
  on conflict (id) do update
  set name = excluded.name,
      description = excluded.description,
      picture = excluded.picture,
      price = excluded.price,
      stock = excluded.stock - items.delivered,
      limit_per_player = excluded.limit_per_player,
      level_min = excluded.level_min,
      opens_at = excluded.opens_at,
      closes_at = excluded.closes_at,
      hidden = excluded.hidden`)

export async function listShelf(queryable: Queryable): Promise<readonly ShelfItem[]> {
  const { rows } = await queryable.query(ALL)
  return rows.map(shelfItem)
}

type ShelfManner = {
  readonly mode: ShelfMode
  readonly isTrial?: boolean
  /** What whoever changes one item has seen of it. */
  readonly ifMatch?: string | undefined
}

/** All of it or nothing, each change with its deed. What would change nothing leaves no trace. */
export async function changeShelf(
  db: Database,
  doer: Doer,
  changes: readonly ItemChange[],
  { mode, isTrial = false, ifMatch }: ShelfManner,
): Promise<ShelfChange> {
  return db.transaction(async (tx) => {
    await tx.query(QUEUE)
    const { rows } = await tx.query(LOCK, [changes.map(({ id }) => id)])
    const known = new Map(rows.map((row) => [row.id, shelfItem(row)]))
    const [only] = known.values()
    if (only) assertVersion(ifMatch, presentTerms(only))
    const faults = changes.flatMap((change, index) =>
      faultsOf(known.get(change.id), change, mode).map((fault) => ({ index, ...fault })),
    )
    if (faults.length > 0) return { kind: 'refused', faults }
    const outcomes = changes.map((change) => outcomeOf(known.get(change.id), change))
    if (!isTrial) await write(tx, doer, known, outcomes)
    return { kind: 'done', outcomes }
  })
}

async function write(
  tx: Transaction,
  doer: Doer,
  known: ReadonlyMap<string, ShelfItem>,
  outcomes: readonly ShelfOutcome[],
): Promise<void> {
  const moved = outcomes.filter(({ did }) => did !== 'nothing').map(({ item }) => item)
  if (moved.length === 0) return
  const rows = moved.map(({ opensAt, closesAt, ...item }, index) => ({
    ...item,
    opensAt: opensAt === null ? null : isoTime(opensAt),
    closesAt: closesAt === null ? null : isoTime(closesAt),
    rank: index + 1,
  }))
  await tx.query(WRITE, [stringify(rows)])
  const deeds = moved.map((item) => {
    const before = known.get(item.id) ?? null
    return {
      deed: deedOf(before, item),
      about: { kind: 'item', id: item.id },
      before: before && presentTerms(before),
      after: presentTerms(item),
    }
  })
  await recordDeeds(tx, doer, deeds)
}

function deedOf(before: ShelfItem | null, after: ShelfItem): string {
  if (before === null) return 'item.added'
  if (before.hidden === after.hidden) return 'item.changed'
  return after.hidden ? 'item.hidden' : 'item.shown'
}

type Fault = Omit<ShelfFault, 'index'>

function faultsOf(known: ShelfItem | undefined, change: ItemChange, mode: ShelfMode): readonly Fault[] {
  const faults: Fault[] = []
  if (known && mode === 'add') faults.push({ field: 'id', detail: `${change.id} exists already; change it instead` })
  if (!known && mode === 'change') return [{ field: 'id', detail: `there is no item ${change.id}; add it first` }]
  if (!known)
    for (const field of ['name', 'price'] as const)
      if (change[field] === undefined) faults.push({ field, detail: `${change.id} is new and needs a ${field}` })
  const { opensAt = known?.opensAt, closesAt = known?.closesAt } = change
  if (opensAt != null && closesAt != null && closesAt <= opensAt)
    faults.push({ field: 'closesAt', detail: `${isoTime(closesAt)} is not after it opens, ${isoTime(opensAt)}` })
  return [...faults, ...stockFaults(known, change)]
}

/** What was paid for is owed: a supply cannot be smaller than what was delivered and what is set aside for open orders. */
function stockFaults(known: ShelfItem | undefined, change: ItemChange): readonly Fault[] {
  const { delivered = 0, promised = 0, supply: before = null } = known ?? {}
  const supply = supplyOf(known, change)
  if (supply === null || supply === before || supply >= delivered + promised) return []
  const spoken = `${delivered} were delivered and ${promised} are set aside for open orders`
  if (change.stock != null)
    return [{ field: 'stock', detail: `${spoken}; the smallest stock is ${promised}. To stop selling, hide it` }]
  return [
    { field: 'supply', detail: `${spoken}; the smallest supply is ${delivered + promised}. To stop selling, hide it` },
  ]
}

function supplyOf(known: ShelfItem | undefined, { supply, stock }: ItemChange): number | null {
  if (stock !== undefined) return stock === null ? null : stock + (known?.delivered ?? 0)
  return supply === undefined ? (known?.supply ?? null) : supply
}

const NEW: Omit<ShelfItem, 'id' | 'name' | 'price'> = {
  description: '',
  picture: null,
  supply: null,
  delivered: 0,
  promised: 0,
  limitPerPlayer: null,
  levelMin: 1,
  opensAt: null,
  closesAt: null,
  hidden: false,
}

function outcomeOf(known: ShelfItem | undefined, change: ItemChange): ShelfOutcome {
  const { stock: _stock, supply: _supply, ...rest } = change
  const said = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
  const item = { ...(known ?? NEW), ...said, supply: supplyOf(known, change) } as ShelfItem
  if (!known) return { item, did: 'added' }
  return { item, did: stringify(presentTerms(known)) === stringify(presentTerms(item)) ? 'nothing' : 'changed' }
}

/** What an operator decides of an item, as routes and deeds tell it. */
export function presentTerms(item: ShelfItem): JsonObject {
  const { name, description, picture, price, supply, limitPerPlayer, levelMin, opensAt, closesAt, hidden } = item
  return {
    name,
    description,
    picture,
    price: formatUsd(price),
    supply,
    limitPerPlayer,
    levelMin,
    opensAt: opensAt === null ? null : isoTime(opensAt),
    closesAt: closesAt === null ? null : isoTime(closesAt),
    hidden,
  }
}

function shelfItem(row: FullRow): ShelfItem {
  const { stock, ...item } = fromRow(row)
  const delivered = Number(row.delivered)
  return {
    ...item,
    supply: stock === null ? null : stock.left + delivered,
    delivered,
    promised: Math.max(0, Number(row.held ?? 0) - delivered),
    hidden: row.hidden,
  }
}
