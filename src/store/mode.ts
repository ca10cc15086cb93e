import type { Queryable } from './db.ts'
import { StoreFault } from './fault.ts'
import { statement } from './statement.ts'

/** Play money or real. */
type StoreMode = 'sandbox' | 'production'

type Wanted = {
  readonly mode: StoreMode
  /** Is this where a sandbox is paid? No production takes such an address. */
  readonly isPlayTill: (payTo: string) => boolean
}

const TABLES = statement<{ has_mode: boolean; has_terms: boolean }>(`
  select to_regclass('store_mode') is not null as has_mode,
         to_regclass('shop_terms') is not null as has_terms`)

const READ = statement<{ mode: StoreMode }>(`
  select mode
  from store_mode`)

/** Before anything is written, the schema included: play money and real never share a store, nor the people who may spend it. */
export async function refuseOtherMode(queryable: Queryable, wanted: Wanted): Promise<void> {
  const { has_mode, has_terms } = (await queryable.query(TABLES)).rows[0]!
  const stamped = has_mode ? (await queryable.query(READ)).rows[0]?.mode : undefined
  const known = stamped ?? (has_terms ? await modeByTerms(queryable, wanted.isPlayTill) : null)
  if (known !== null && known !== wanted.mode) throw otherMode(known)
}

// Of a store that is not up to date: nothing but what it always had.
const TILLS = statement<{ pay_to: string }>(`
  select distinct pay_to
  from shop_terms`)

/** Of a store that was never stamped: where it was paid tells. Null: it is new. */
async function modeByTerms(queryable: Queryable, isPlayTill: Wanted['isPlayTill']): Promise<StoreMode | null> {
  const { rows } = await queryable.query(TILLS)
  if (rows.length === 0) return null
  return rows.some(({ pay_to }) => isPlayTill(pay_to)) ? 'sandbox' : 'production'
}

const STAMP = statement(`
  insert into store_mode (mode)
  values ($1)
  on conflict (id) do nothing`)

/** Once the schema is there. Of two that start at once, one is first; the other is told. */
export async function stampMode(queryable: Queryable, mode: StoreMode): Promise<void> {
  let stamped = (await queryable.query(READ)).rows[0]
  if (!stamped) {
    await queryable.query(STAMP, [mode])
    stamped = (await queryable.query(READ)).rows[0]!
  }
  if (stamped.mode !== mode) throw otherMode(stamped.mode)
}

function otherMode(known: StoreMode): StoreFault {
  return new StoreFault(
    'other_mode',
    known === 'production'
      ? 'this store is of a production, with real money in its books, and this start is a sandbox; nothing was written. Set SUTLER_MODE=production, or give the sandbox a store of its own: another DATABASE_URL or SUTLER_DATA_DIR'
      : 'this store is of a sandbox: its orders are play, and anybody may have become its admin; nothing was written. Give production a store of its own: another DATABASE_URL or SUTLER_DATA_DIR',
  )
}
