import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { systemClock } from '../../src/base/clock.ts'
import { databaseCases } from '../../src/store/db.cases.ts'
import type { Database } from '../../src/store/db.ts'
import { jobsCases } from '../../src/store/jobs.cases.ts'
import { migrate } from '../../src/store/migrate.ts'
import { parserLoaded } from './model/ast.ts'
import type { Session } from './model/session.ts'
import { openModel } from './model/store.ts'

// The model of the store is held against what it is a model of: by the cases of every engine, and by universes that run on both.

const MAIN = join(import.meta.dirname, 'main.ts')
const uuid = () => crypto.randomUUID()
/** A clock that never makes a test wait. */
const clock = { ...systemClock, sleep: async () => {} }

describe('the model of the store', () => {
  let db: Database
  let session: Session
  before(async () => {
    await parserLoaded()
    ;({ db, session } = openModel({ now: Date.now, uuid, clock, isRemote: true }))
    await migrate(db)
  })

  describe('database', () => databaseCases(() => ({ db })))
  describe('jobs', () => jobsCases(() => ({ db, replica: async () => db })))

  test('a query without columns has rows all the same, and whoever writes and returns nothing has none', () => {
    const [asked, written] = session.ask(
      `select from (values (1), (2)) as v; insert into jobs (kind, key) values ('a', 'b')`,
    )
    assert.deepEqual([asked!.rows, asked!.rowCount], [[{}, {}], 2])
    assert.deepEqual([written!.rows, written!.rowCount], [[], 1])
  })

  test('what is unknown is neither true nor false', () => {
    const [answer] = session.ask(
      `select b is true as a, b is not true as b, b is false as c, b is not false as d, b is unknown as e, b is not unknown as f
       from (values (true), (false), (null::boolean)) as v (b)`,
    )
    const [yes, no] = [true, false]
    assert.deepEqual(
      answer!.rows.map((row) => Object.values(row)),
      [
        [yes, no, no, yes, no, yes],
        [no, yes, yes, no, no, yes],
        [no, yes, no, yes, yes, no],
      ],
    )
  })

  test('what it does not know it refuses, at once and by name', () => {
    for (const text of [
      'select ntile(4) over (order by id) from jobs',
      'select * from jobs full join orders on true',
      `create function keep_audit() returns trigger language plpgsql as $$ begin return new; end $$`,
      'select key ~ $1 from jobs',
    ])
      assert.throws(() => session.ask(text, ['', '']), /the model of the store does not know/)
  })
})

test('universes go the same way on the engine and on the model of it, statement by statement', async () => {
  const seeds = '--seeds=7,1111,95083,300001'
  const { stdout } = await promisify(execFile)(process.execPath, ['--liftoff-only', MAIN, seeds, '--depth=twin'], {
    maxBuffer: 1 << 28,
  }).catch((error: { stdout: string; stderr: string }) => assert.fail(error.stdout || error.stderr))
  assert.match(stdout, /^4 universes, 0 with violations/m)
})
