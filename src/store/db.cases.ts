import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProblem } from '../base/problem.ts'
import type { Database, Transaction } from './db.ts'
import { isCheckViolation, isForeignKeyViolation, isUniqueViolation } from './fault.ts'
import { plannedAnew, type Statement, statement } from './statement.ts'

type DatabaseFixture = { readonly db: Database }

const INSERT = statement('insert into cells (id) values ($1)')
const COUNT = statement<{ count: number }>('select count(*)::int as count from cells where id = any ($1)')

const PLANS = 'select (generic_plans + custom_plans)::int as plans from pg_prepared_statements where name = $1'
const plansOf = <Row>(tx: Transaction, { name }: Statement<Row>) => tx.query<{ plans: number }>(PLANS, [name])

/** What every engine promises. The fixture's clock must not really sleep. */
export function databaseCases(fixture: () => DatabaseFixture): void {
  let cells = 0
  const newCell = () => ++cells
  const prepare = () =>
    fixture().db.query(`
      create table if not exists cells (
        id integer primary key,
        parent integer constraint cells_parent references cells,
        height integer constraint cells_height check (height > 0)
      )`)
  const isThere = async (...ids: number[]) => (await fixture().db.query(COUNT, [ids])).rows[0]!.count === ids.length

  test('numbers, times, documents and bytes come back as they went in', async () => {
    const { rows } = await fixture().db.query(
      `select $1::numeric(78, 0) as uint256, $2::bigint as int8, $3::timestamptz as time, $4::jsonb as document,
              $5::bytea as bytes, $6::text as text, $7::text[] as list, $8::text as nothing`,
      [
        2n ** 256n - 1n,
        '9007199254740993',
        new Date('2026-02-28T23:59:59.999Z'),
        { deep: [{ amount: '1', none: null }] },
        Buffer.from([0, 255, 92]),
        `a 'quote', a \\ and a 🗡`,
        ['a', 'b,"c"', ''],
        null,
      ],
    )
    assert.deepEqual(rows, [
      {
        uint256: '115792089237316195423570985008687907853269984665640564039457584007913129639935',
        int8: '9007199254740993',
        time: new Date('2026-02-28T23:59:59.999Z'),
        document: { deep: [{ amount: '1', none: null }] },
        bytes: Buffer.from([0, 255, 92]),
        text: `a 'quote', a \\ and a 🗡`,
        list: ['a', 'b,"c"', ''],
        nothing: null,
      },
    ])
  })

  test('values of several megabytes travel both ways', async () => {
    const { rows } = await fixture().db.query<{ sent: string; made: string }>(
      `select $1::text as sent, repeat('x', 3000000) as made`,
      ['y'.repeat(2_000_000)],
    )
    assert.equal(rows[0]!.sent.length, 2_000_000)
    assert.equal(rows[0]!.made.length, 3_000_000)
  })

  test('a statement is planned once per connection, under its name', async () => {
    const twice = statement<{ n: number }>('select $1::int * 2 as n')
    const uses = await fixture().db.transaction(async (tx) => {
      assert.deepEqual((await tx.query(twice, [4])).rows, [{ n: 8 }])
      assert.deepEqual((await tx.query(twice, [5])).rows, [{ n: 10 }])
      return plansOf(tx, twice)
    })
    assert.deepEqual(uses.rows, [{ plans: 2 }])
  })

  test('E38: a long list, and what is planned anew, are planned for themselves', async () => {
    const text = 'select count(*)::int as n from unnest($1::int[]) as n where n > 0'
    const uses = await fixture().db.transaction(async (tx) => {
      const list = (length: number) => Array.from({ length }, () => 1)
      for (const [sql, length] of [
        [statement<{ n: number }>(text), 100],
        [statement<{ n: number }>(text), 101],
        [plannedAnew<{ n: number }>(text), 1],
      ] as const)
        assert.deepEqual((await tx.query(sql, [list(length)])).rows, [{ n: length }])
      return plansOf(tx, statement(text))
    })
    assert.deepEqual(uses.rows, [{ plans: 1 }])
  })

  test('a transaction is all there, or not at all', async () => {
    await prepare()
    const [kept, alsoKept, dropped] = [newCell(), newCell(), newCell()]
    await fixture().db.transaction(async (tx) => {
      await tx.query(INSERT, [kept])
      await tx.query(INSERT, [alsoKept])
    })
    const refusal = fixture().db.transaction(async (tx) => {
      await tx.query(INSERT, [dropped])
      throw new RangeError('changed my mind')
    })
    await assert.rejects(refusal, RangeError)
    assert.equal(await isThere(kept, alsoKept), true)
    assert.equal(await isThere(dropped), false)
  })

  test('forty writers of one row all get their turn', async () => {
    await fixture().db.query('create table if not exists tally (n integer); insert into tally values (0)')
    const add = async (tx: Transaction) => {
      const { rows } = await tx.query<{ n: number }>('select n from tally for update')
      await tx.query('update tally set n = $1', [rows[0]!.n + 1])
    }
    await Promise.all(Array.from({ length: 40 }, () => fixture().db.transaction(add)))
    assert.deepEqual((await fixture().db.query('select n from tally')).rows, [{ n: 40 }])
  })

  for (const [code, name] of [
    ['40001', 'a serialization failure'],
    ['40P01', 'a deadlock'],
    ['57P01', 'a server that shuts down'],
    ['08006', 'a broken connection'],
  ] as const) {
    test(`the whole transaction runs again after ${name}`, async () => {
      await prepare()
      const [first, last] = [newCell(), newCell()]
      let round = 0
      await fixture().db.transaction(async (tx) => {
        round++
        await tx.query(INSERT, [round === 3 ? last : first])
        if (round < 3) await tx.query(raise(code))
      })
      assert.equal(round, 3)
      assert.equal(await isThere(last), true)
      assert.equal(await isThere(first), false)
    })
  }

  test('after five conflicts the caller is told to come back', async () => {
    let rounds = 0
    const conflict = fixture().db.transaction(async (tx) => {
      rounds++
      await tx.query(raise('40001'))
    })
    await assert.rejects(conflict, (error: Error) => {
      assert.equal((error.cause as { code?: string }).code, '40001')
      return isProblem(error, 'store_unavailable')
    })
    assert.equal(rounds, 5)
  })

  test('a broken rule is not tried again, keeps its name and does not cost the connection', async () => {
    await prepare()
    const cell = newCell()
    await fixture().db.query(INSERT, [cell])
    const before = fixture().db.status().connections
    let rounds = 0
    const twice = fixture().db.transaction(async (tx) => {
      rounds++
      await tx.query(INSERT, [cell])
    })
    await assert.rejects(twice, (error) => isUniqueViolation(error) && isUniqueViolation(error, 'cells_pkey'))
    assert.equal(rounds, 1)
    await assert.rejects(fixture().db.query(INSERT, [cell]), (error) => !isUniqueViolation(error, 'cells_other'))
    await assert.rejects(fixture().db.query('insert into cells (id, height) values (-1, 0)'), (error) =>
      isCheckViolation(error, 'cells_height'),
    )
    await assert.rejects(fixture().db.query('insert into cells (id, parent) values (-1, -2)'), (error) =>
      isForeignKeyViolation(error, 'cells_parent'),
    )
    assert.equal(fixture().db.status().connections, before)
  })

  test('a full disk is a problem of its own', async () => {
    await assert.rejects(fixture().db.query(raise('53100')), (error) => isProblem(error, 'store_full'))
    const inside = fixture().db.transaction((tx) => tx.query(raise('53100')))
    await assert.rejects(inside, (error) => isProblem(error, 'store_full'))
  })

  test('inside a transaction the pool refuses at once instead of waiting for ever', async () => {
    const { db } = fixture()
    await assert.rejects(
      db.transaction(() => db.query('select 1')),
      /inside a transaction/,
    )
    await assert.rejects(
      db.transaction(() => db.transaction(async () => {})),
      /inside a transaction/,
    )
  })

  test('what a transaction leaves running may use the pool once it has ended', async () => {
    const { db } = fixture()
    const gate = Promise.withResolvers<void>()
    const later = await db.transaction(async () => ({ query: gate.promise.then(() => db.query('select 1')) }))
    gate.resolve()
    assert.equal((await later.query).rowCount, 1)
  })

  test('a transaction cannot be used after its end', async () => {
    const stolen = await fixture().db.transaction(async (tx) => tx)
    await assert.rejects(stolen.query('select 1'), /has ended/)
  })

  test('work that never ends is rolled back, and the next caller gets its turn', async () => {
    await prepare()
    const cell = newCell()
    const stuck = fixture().db.transaction(
      async (tx) => {
        await tx.query(INSERT, [cell])
        await new Promise(() => {})
      },
      { workMsMax: 20 },
    )
    await assert.rejects(stuck, /rolled back after 20 ms/)
    assert.equal(await isThere(cell), false)
  })

  test('a long statement does not keep its transaction from being given up', async () => {
    const slow = fixture().db.transaction((tx) => tx.query('select count(*) from generate_series(1, 1000000)'), {
      workMsMax: 20,
    })
    await assert.rejects(slow, /rolled back after 20 ms/)
    await fixture().db.ping()
  })

  test('an error that was swallowed does not pass for a commit', async () => {
    await prepare()
    const cell = newCell()
    const swallowed = fixture().db.transaction(async (tx) => {
      await tx.query(INSERT, [cell])
      await tx.query(INSERT, [cell]).catch(() => {})
    })
    await assert.rejects(swallowed, /swallowed/)
    assert.equal(await isThere(cell), false)
  })

  test('a read-only transaction cannot write', async () => {
    await prepare()
    const write = fixture().db.transaction((tx) => tx.query(INSERT, [newCell()]), { readOnly: true })
    await assert.rejects(write, (error: Error) => (error.cause as { code?: string }).code === '25006')
  })

  test('a repeatable read transaction is what it says', async () => {
    const level = await fixture().db.transaction((tx) => tx.query('show transaction isolation level'), {
      isolation: 'repeatable read',
    })
    assert.deepEqual(level.rows, [{ transaction_isolation: 'repeatable read' }])
  })

  test('it answers a ping and tells its state', async () => {
    const { db } = fixture()
    await db.ping()
    const { connections, idle, waiting } = db.status()
    assert.ok(connections >= 1 && idle >= 1)
    assert.equal(waiting, 0)
    assert.match(db.description, /^PostgreSQL \d+/)
  })
}

function raise(code: string): string {
  return `do $$ begin raise exception 'on purpose' using errcode = '${code}'; end $$`
}
