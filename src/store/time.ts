import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

const NOW = statement<{ now: Date }>('select clock_timestamp() as now')

/** The store's own time, in milliseconds: the one that all replicas share. */
export async function storeTime(queryable: Queryable): Promise<number> {
  const { rows } = await queryable.query(NOW)
  return rows[0]!.now.getTime()
}
