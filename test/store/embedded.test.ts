import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { claimFolder, FolderFault } from '../../src/base/data-folder.ts'
import { type LogFields, silentLog } from '../../src/base/log.ts'
import { isProblem } from '../../src/base/problem.ts'
import { type Database, openDatabase } from '../../src/store/db.ts'
import { judgeFileSystem } from '../../src/store/embedded/disk.ts'
import { StoreFault, type StoreFaultCode } from '../../src/store/fault.ts'
import { claim, enqueueLeased, extend } from '../../src/store/jobs.ts'
import { unprivilegedAccount } from '../support/account.ts'
import { startChild } from '../support/child.ts'
import { quiet } from '../support/database.ts'
import { createDataDir, dataDirFor } from '../support/embedded.ts'
import { until } from '../support/until.ts'

const opener = join(import.meta.dirname, 'children/open.ts')
const fault = (name: string) => join(import.meta.dirname, 'faults', name)

/** Closes before the folder goes, also when the test fails: an open database keeps the process alive. */
async function openFor(t: TestContext): Promise<Database> {
  const dataDir = await createDataDir()
  const db = await openDatabase({ ...quiet, dataDir })
  t.after(async () => {
    await db.close()
    rmSync(dataDir, { recursive: true })
  })
  return db
}

async function refusalOf(dataDir: string): Promise<StoreFault | FolderFault> {
  const error = await openDatabase({ ...quiet, dataDir }).then(
    () => assert.fail('it opened'),
    (error: unknown) => error,
  )
  assert.ok(error instanceof StoreFault || error instanceof FolderFault, String(error))
  return error
}

test('a folder has one process at a time, and is free the moment that process is killed', async (t) => {
  const dataDir = await dataDirFor(t)
  const first = startChild(opener, [dataDir], { test: t })
  assert.equal(await first.line(), 'open')
  const { code, message } = await refusalOf(dataDir)
  assert.equal(code, 'data_dir_locked')
  assert.ok(message.includes(dataDir), message)
  await first.kill('SIGKILL')
  const db = await openDatabase({ ...quiet, dataDir })
  assert.equal((await refusalOf(dataDir)).code, 'data_dir_locked', 'a second opening in the same process')
  await db.ping()
  await db.close()
  const again = await openDatabase({ ...quiet, dataDir })
  await again.close()
})

test('C-01: what a killed process was working on is due for the next one at once, and not when its lease has run out', async (t) => {
  const dataDir = await dataDirFor(t)
  const work = { kind: 'order', key: 'ord_open', leaseSeconds: 3600 }
  const first = await openDatabase({ ...quiet, dataDir })
  const lease = await enqueueLeased(first, work)
  await first.close()
  const next = await openDatabase({ ...quiet, dataDir })
  t.after(() => next.close())
  const [job] = await claim(next, { kinds: [work.kind], limit: 1, leaseSeconds: 3600 })
  assert.equal(job?.key, work.key)
  assert.equal(await extend(next, lease!, 3600), false, 'what the first one was allowed is over')
})

test('a first start that is killed half way leaves nothing that hinders the next', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sutler-first-'))
  t.after(() => rmSync(dataDir, { recursive: true }))
  const draft = join(dataDir, 'pg.new')
  const first = startChild(opener, [dataDir], { test: t, preload: fault('first-start.ts') })
  assert.deepEqual(await first.rest(), [], 'it dies before it is open')
  assert.ok(existsSync(draft) && !existsSync(join(dataDir, 'pg')))
  const second = startChild(opener, [dataDir], { test: t })
  assert.equal(await second.line(), 'open')
  assert.equal(await second.end(), 0)
  assert.ok(!existsSync(draft))
  const files = globSync('pg/**/{PG_VERSION,pg_control,[0-9]*}', { cwd: dataDir })
  assert.ok(files.length > 100)
  const open = files.filter((file) => (statSync(join(dataDir, file)).mode & 0o077) !== 0)
  assert.deepEqual(open, [], 'C-10: files are their owner’s alone')
})

test('C-10: a folder that others can open is closed to them, or refused where that is not ours to do', async (t) => {
  const dataDir = await dataDirFor(t)
  chmodSync(dataDir, 0o777)
  await (await openDatabase({ ...quiet, dataDir })).close()
  assert.equal(statSync(dataDir).mode & 0o777, 0o700)

  const home = mkdtempSync(join(tmpdir(), 'sutler-home-'))
  t.after(() => rmSync(home, { recursive: true }))
  writeFileSync(join(home, 'letters'), '')
  chmodSync(home, 0o755)
  const { code, message } = await refusalOf(home)
  assert.equal(code, 'data_dir_unusable')
  assert.match(message, /other users .* run chmod 700 on it as its owner, or choose a new folder/)
  assert.ok(message.includes(home), message)
  assert.equal(statSync(home).mode & 0o777, 0o755, 'as it was')

  const empty = join(home, 'data')
  mkdirSync(empty)
  chmodSync(empty, 0o755)
  claimFolder(empty).release()
  assert.equal(statSync(empty).mode & 0o777, 0o700)
})

test('C-10: an empty folder of another user is refused while others can open it', {
  skip: process.getuid?.() !== 0 && 'only root can give a folder away',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-theirs-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const account = unprivilegedAccount()!
  chmodSync(folder, 0o777)
  chownSync(folder, account.uid, account.gid)
  assert.throws(() => claimFolder(folder), { code: 'data_dir_unusable', message: /other users/ })
})

test('it refuses to start when commits do not reach the disk', async (t) => {
  const child = startChild(opener, [await dataDirFor(t)], { test: t, preload: fault('hook-ignored.ts') })
  const { code } = JSON.parse((await child.line()) ?? '{}') as { code?: string }
  assert.equal(code, 'durability_missing')
  await child.end()
})

test('damaged or foreign folders are named, not crashed on', async (t) => {
  const cases: readonly [string, StoreFaultCode, RegExp, (folder: string) => void][] = [
    ['no version', 'data_dir_corrupt', /PG_VERSION is missing/, (pg) => rmSync(join(pg, 'PG_VERSION'))],
    ['garbage version', 'data_dir_corrupt', /not readable/, (pg) => writeFileSync(join(pg, 'PG_VERSION'), '\0\0')],
    ['another major', 'data_dir_version', /PostgreSQL 17/, (pg) => writeFileSync(join(pg, 'PG_VERSION'), '17\n')],
    ['no control file', 'data_dir_corrupt', /control/, (pg) => truncateSync(join(pg, 'global/pg_control'), 0)],
    ['no log', 'data_dir_corrupt', /WAL/, (pg) => rmSync(join(pg, 'pg_wal'), { recursive: true })],
  ]
  for (const [name, expected, pattern, damage] of cases) {
    const dataDir = await dataDirFor(t)
    damage(join(dataDir, 'pg'))
    const { code, message } = await refusalOf(dataDir)
    assert.equal(code, expected, name)
    assert.match(message, pattern, name)
    assert.ok(message.includes(dataDir), name)
  }
})

test('a folder that cannot be made is named', async () => {
  const { code, message } = await refusalOf('/dev/null/data')
  assert.equal(code, 'data_dir_unusable')
  assert.match(message, /\/dev\/null\/data/)
})

test('a folder on a network is refused, one in memory is warned of', () => {
  const warnings: unknown[] = []
  const log = { ...silentLog, warn: (_: string, fields?: LogFields) => void warnings.push(fields) }
  assert.throws(() => judgeFileSystem('/mnt/shop', 0x6969, log), {
    code: 'data_dir_network',
    message: /\/mnt\/shop lies on NFS/,
  })
  assert.throws(() => judgeFileSystem('/mnt/shop', 0xff534d42 | 0, log), { code: 'data_dir_network' })
  judgeFileSystem('/mnt/shop', 0xef53, log)
  assert.deepEqual(warnings, [])
  judgeFileSystem('/dev/shm', 0x01021994, log)
  assert.deepEqual(warnings, [{ dataDir: '/dev/shm', fileSystem: 'tmpfs' }])
})

test('when the engine dies, callers see a restart and nothing that was acknowledged is gone', async (t) => {
  const workers: Worker[] = []
  const remember = (worker: Worker) => void workers.push(worker)
  process.on('worker', remember)
  t.after(() => process.off('worker', remember))
  const db = await openFor(t)
  await db.query('create table notes (n integer primary key)')
  await db.query('insert into notes values (1)')

  const running = db.query('select count(*) from generate_series(1, 100000000)')
  await workers.at(-1)!.terminate()
  await assert.rejects(running, (error) => isProblem(error, 'store_unavailable'))

  let rounds = 0
  // On a busy machine the engine takes longer to come back than a purchase would wait for it.
  const patient = { statementMsMax: 300_000 }
  await db.transaction(async (tx) => {
    await tx.query('insert into notes values (2)')
    if (++rounds === 1) await workers.at(-1)!.terminate()
    await tx.query('insert into notes values (3)')
  }, patient)
  assert.equal(rounds, 2)
  assert.deepEqual((await db.query('select n from notes order by n')).rows, [{ n: 1 }, { n: 2 }, { n: 3 }])
})

test('it looks after itself: the log stays short, dead rows are swept away, and what has grown is counted', async (t) => {
  const db = await openFor(t)
  await db.query('create table grown as select generate_series(1, 2000) as n')
  await db.query('create table notes (n integer primary key, body text)')
  await db.query(
    `alter table notes alter body set storage external; insert into notes select generate_series(1, 2000), ''`,
  )
  // 60 MB of log, in which every row dies once.
  for (let i = 0; i < 60; i++) await db.query(`update notes set body = repeat('x', 30000) where n % 60 = $1`, [i])
  const standing = async () => {
    // The engine looks after itself between two statements, once in a thousand.
    for (let i = 0; i < 1000; i++) await db.ping()
    const { rows } = await db.query<{ wal_bytes: string; dead: string; is_vacuumed: boolean; counted: number }>(`
      select (pg_current_wal_lsn() - redo_lsn)::bigint as wal_bytes,
             n_dead_tup as dead,
             last_vacuum is not null as is_vacuumed,
             (select reltuples from pg_class where relname = 'grown') as counted
      from pg_control_checkpoint(), pg_stat_user_tables
      where relname = 'notes'`)
    return rows[0]!
  }
  const { wal_bytes } = await standing()
  assert.ok(Number(wal_bytes) < 20_000_000, `${wal_bytes} bytes of log since the last checkpoint`)
  // How many rows are dead is told by statistics, which come a little later than the rows.
  await until(async () => {
    const { dead, is_vacuumed, counted } = await standing()
    return is_vacuumed && dead === '0' && counted === 2_000
  })
})
