import { writeSync } from 'node:fs'
import type { Database } from '../../../src/store/db.ts'
import { openDatabase } from '../../../src/store/db.ts'
import { enqueue } from '../../../src/store/jobs.ts'
import { migrate } from '../../../src/store/migrate.ts'
import { statement } from '../../../src/store/statement.ts'
import { quiet } from '../../support/database.ts'

// Writes until it is killed. Prints what it found at the start, then the number of each entry after its commit was answered.

/** What the log of entries looks like; every entry is one row, one job and one step of the total, in one transaction. */
export type Found = {
  readonly last: number
  readonly rows: number
  readonly scanned: number
  readonly jobs: number
  readonly total: number
}

const ADD = statement('insert into entries (n, body) values ($1, $2)')
const COUNT = statement('update totals set n = n + 1')

async function look(db: Database): Promise<Found> {
  await db.query(`
    create table if not exists entries (n integer primary key, body text not null);
    create table if not exists totals (n integer not null);
    insert into totals select 0 where not exists (select from totals)`)
  const { rows } = await db.transaction(async (tx) => {
    await tx.query(
      'set local enable_indexscan = off; set local enable_indexonlyscan = off; set local enable_bitmapscan = off',
    )
    const heap = await tx.query<{ scanned: number }>('select count(*)::int as scanned from entries where n > 0')
    await tx.query(
      'set local enable_indexscan = on; set local enable_indexonlyscan = on; set local enable_seqscan = off',
    )
    return tx.query<Found>(
      `select coalesce(max(n), 0) as last,
              count(*)::int as rows,
              $1::int as scanned,
              (select count(*)::int from jobs where kind = 'entry') as jobs,
              (select n from totals) as total
       from entries
       where n > 0`,
      [heap.rows[0]!.scanned],
    )
  })
  return rows[0]!
}

const [dataDir, mode] = process.argv.slice(2)
const db = await openDatabase({ ...quiet, dataDir: dataDir! })
await migrate(db)
const found = await look(db)
writeSync(1, `${JSON.stringify(found)}\n`)
if (mode === 'look') {
  await db.close()
} else {
  for (let n = found.last + 1; ; n++) {
    await db.transaction(async (tx) => {
      await tx.query(ADD, [n, 'x'.repeat(200)])
      await tx.query(COUNT)
      await enqueue(tx, { kind: 'entry', key: `${n}` })
    })
    writeSync(1, `${n}\n`)
    // Now and then what a busy shop does: data files reach the disk in another order than the log.
    if (n % 97 === 0) await db.query('checkpoint')
    if (n % 61 === 0) await db.query('vacuum entries')
  }
}
