import type { Queryable } from './db.ts'
import { StoreFault } from './fault.ts'
import { statement } from './statement.ts'

/** Play money or real. */
type StoreMode = 'sandbox' | 'production'

const IS_THERE = statement<{ has_mode: boolean }>(`
  select to_regclass('store_state') is not null as has_mode`)

const READ = statement<{ mode: StoreMode }>(`
  select mode
  from store_state
  where mode is not null`)

/** Before anything is written, the schema included: play money and real never share a store, nor the people who may spend it. */
export async function refuseOtherMode(queryable: Queryable, mode: StoreMode): Promise<void> {
  if (!(await queryable.query(IS_THERE)).rows[0]!.has_mode) return
  const stamped = (await queryable.query(READ)).rows[0]
  if (stamped && stamped.mode !== mode) throw otherMode(stamped.mode)
}

const STAMP = statement(`
  insert into store_state (mode, lineage)
  values ($1, store_lineage())
  on conflict (id) do update
  set mode = coalesce(store_state.mode, excluded.mode)`)

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
