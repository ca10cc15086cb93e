import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forgetStrikes, strikeValues, struckBy } from '../../../src/store/orders/strikes.ts'
import { statement } from '../../../src/store/statement.ts'
import { openStore } from '../../support/database.ts'
import { until } from '../../support/until.ts'

// Two replicas meet at two strikes that are long over: one of them deletes what is old, and the other one counts on the same two.

const COUNT = statement(`
  with changed as (
    select
  ), kept_promise as (
    select
  )
  ${struckBy('$1')}`)

test('a strike that is counted while another replica deletes old ones is neither lost, nor do the two wait for each other', async (t) => {
  const store = await openStore('postgres', { poolSize: 6 })
  t.after(() => store.drop())
  const { db } = store
  // In the other order than that in which they are counted: so a deletion that takes them as they lie takes the last first.
  for (const subject of ['payer:b', 'payer:a'])
    await db.query(`insert into strikes (subject, points, until) values ($1, 2, now() - interval '1 hour')`, [subject])
  let isHeld = false
  let release = () => {}
  const go = new Promise<void>((resolve) => {
    release = resolve
  })
  const holding = db.transaction(async (tx) => {
    await tx.query(`select from strikes where subject = 'payer:b' for update`)
    isHeld = true
    await go
  })
  await until(() => isHeld)
  const waiting = async () => {
    const { rows } = await db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length
  }
  let isDone = false
  const forgetting = forgetStrikes(db).then(() => {
    isDone = true
  })
  await until(async () => isDone || (await waiting()) === 1)
  const before = await waiting()
  const strikes = ['payer:a', 'payer:b'].map((subject) => ({ subject, points: 1, seconds: 600 }))
  const counting = db.query(COUNT, [strikeValues(strikes)])
  await until(async () => (await waiting()) === before + 1)
  release()
  const ends = await Promise.allSettled([holding, forgetting, counting])
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'fulfilled'],
  )
  const { rows } = await db.query('select subject, points, until > now() as counts from strikes order by subject')
  assert.deepEqual(
    rows,
    ['payer:a', 'payer:b'].map((subject) => ({ subject, points: 1, counts: true })),
  )
})
