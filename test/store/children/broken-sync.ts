import { rmSync, writeFileSync } from 'node:fs'
import { isProblem } from '../../../src/base/problem.ts'
import { openDatabase } from '../../../src/store/db.ts'
import { quiet } from '../../support/database.ts'

// Writes while the disk refuses to sync, then when it works again, and prints what it saw.

const [dataDir, faultFile] = process.argv.slice(2) as [string, string]
const db = await openDatabase({ ...quiet, dataDir })
await db.query('create table entries (n integer primary key)')
await db.query('insert into entries values (1)')
writeFileSync(faultFile, '')
const answer = await db.query('insert into entries values (2)').then(
  () => 'acknowledged',
  (error) => (isProblem(error) ? error.code : String(error)),
)
rmSync(faultFile)
await db.query('insert into entries values (3)')
const { rows } = await db.query<{ n: number }>('select n from entries where n <> 2 order by n')
console.log(JSON.stringify({ answer, entries: rows.map(({ n }) => n) }))
await db.close()
