import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '../../../src/base/problem.ts'
import { type Database, openDatabase } from '../../../src/store/db.ts'
import { quiet } from '../../support/database.ts'

// Runs a shop on a disk that fills up and prints what it saw as one line of JSON. The disk is a small real one that this
// process fills with a file, or, where none can be mounted, a fault that faults/disk.ts switches on for as long as a file exists.

export type Voyage = {
  /** What `ensureRoom` said: with room, with the disk full, and with room again. */
  readonly gate: readonly string[]
  /** How the first write failed that did not fit any more. */
  readonly refusal: string
  /** Entries acknowledged, and entries found in the end, after there was room again and after a new start. */
  readonly acknowledged: number
  readonly found: readonly number[]
}

const [dataDir, faultFile] = process.argv.slice(2) as [string, string | undefined]
const roomBytesMin = 8 << 20
const filler = faultFile ?? join(dataDir, '..', 'filler')
const open = () => openDatabase({ ...quiet, dataDir, roomBytesMin })

function fillDisk(): void {
  const { bavail, bsize } = statfsSync(dataDir)
  writeFileSync(filler, faultFile ? '' : Buffer.alloc(bavail * bsize - bsize * 4))
}

async function outcome(work: () => unknown): Promise<string> {
  try {
    await work()
    return 'ok'
  } catch (error) {
    return error instanceof Problem ? error.code : String(error)
  }
}

async function count(db: Database): Promise<number> {
  const { rows } = await db.query<{ count: number }>('select count(*)::int as count from entries')
  return rows[0]!.count
}

let db = await open()
let acknowledged = 0
const write = async () => {
  await db.query('insert into entries (body) values ($1)', ['x'.repeat(100_000)])
  acknowledged++
}
// Wide rows that are not compressed: each needs new space at once.
await db.query(
  'create table entries (id bigint generated always as identity, body text); alter table entries alter body set storage external',
)
for (let i = 0; i < 10; i++) await write()
const gate = [await outcome(db.ensureRoom)]

fillDisk()
gate.push(faultFile ? 'store_full' : await outcome(db.ensureRoom))
let refusal = 'ok'
while (refusal === 'ok') refusal = await outcome(write)

rmSync(filler)
gate.push(await outcome(db.ensureRoom))
await write()
const found = [await count(db)]
await db.close()
db = await open()
found.push(await count(db))
await db.close()
console.log(JSON.stringify({ gate, refusal, acknowledged, found } satisfies Voyage))
