import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from './db.ts'
import {
  bury,
  claim,
  countJobs,
  deleteFinished,
  enqueue,
  enqueueLeased,
  extend,
  finish,
  type Job,
  leaseHeld,
  listDead,
  release,
  requeue,
  retry,
} from './jobs.ts'
import { statement } from './statement.ts'

export type JobsFixture = { readonly db: Database; replica(): Promise<Database> }

/** Each case has a kind of its own, so that none sees the jobs of another. Time passes by SQL, never by waiting. */
export function jobsCases(fixture: () => JobsFixture): void {
  let kinds = 0
  const newKind = () => `kind${++kinds}`
  const claimAll = (kind: string) => claim(fixture().db, { kinds: [kind], limit: 100, leaseSeconds: 60 })
  const claimOne = async (kind: string): Promise<Job> => {
    const [job] = await claimAll(kind)
    return job ?? assert.fail('nothing is due')
  }
  const makeDue = (kind: string) =>
    fixture().db.query(`update jobs set run_at = now() - interval '1 second' where kind = $1`, [kind])
  const read = async (kind: string) =>
    (
      await fixture().db.query<{ state: string; attempts: number; last_error: string | null; lease: string | null }>(
        'select state, attempts, last_error, lease from jobs where kind = $1 order by id',
        [kind],
      )
    ).rows

  test('the same work is queued once', async () => {
    const kind = newKind()
    assert.equal(await enqueue(fixture().db, { kind, key: 'a', payload: { n: 1 } }), true)
    assert.equal(await enqueue(fixture().db, { kind, key: 'a', payload: { n: 2 } }), false)
    assert.equal(await enqueue(fixture().db, { kind: newKind(), key: 'a' }), true)
    const job = await claimOne(kind)
    assert.deepEqual([job.kind, job.key, job.payload, job.attempts, job.maxAttempts], [kind, 'a', { n: 1 }, 1, 25])
  })

  test('a job belongs to the transaction that queued it', async () => {
    const kind = newKind()
    const change = fixture().db.transaction(async (tx) => {
      await enqueue(tx, { kind, key: 'a' })
      throw new RangeError('changed my mind')
    })
    await assert.rejects(change, RangeError)
    assert.deepEqual(await read(kind), [])
  })

  test('two hundred jobs go to sixteen hungry workers, each to one', async () => {
    const kind = newKind()
    const keys = Array.from({ length: 200 }, (_, n) => `job${n}`)
    await fixture().db.query('insert into jobs (kind, key) select $1, unnest($2::text[])', [kind, keys])
    const replicas = await Promise.all(Array.from({ length: 4 }, () => fixture().replica()))
    const claimed: string[] = []
    const work = async (replica: Database) => {
      for (;;) {
        const jobs = await claim(replica, { kinds: [kind], limit: 7, leaseSeconds: 60 })
        if (jobs.length === 0) return
        assert.ok(jobs.length <= 7)
        claimed.push(...jobs.map(({ key }) => key))
      }
    }
    await Promise.all(Array.from({ length: 16 }, (_, n) => work(replicas[n % replicas.length]!)))
    // Skipping locked rows, a worker may have gone home while another still held the last ones; nothing is left over though.
    assert.deepEqual(claimed.sort(), keys.sort())
  })

  test('what waited longest goes first, of each kind that is asked for and of no other', async () => {
    const [kind, second, other] = [newKind(), newKind(), newKind()]
    const enqueueAged = async (kind: string, key: string, minutes: number) => {
      await enqueue(fixture().db, { kind, key })
      await fixture().db.query(
        'update jobs set run_at = now() - make_interval(mins => $3) where kind = $1 and key = $2',
        [kind, key, minutes],
      )
    }
    await enqueueAged(kind, 'young', 1)
    await enqueueAged(kind, 'old', 3)
    await enqueueAged(kind, 'middle', 2)
    await enqueueAged(second, 'lone', 1)
    await enqueueAged(other, 'oldest', 9)
    const claimKeys = async (kinds: readonly string[]) => {
      const jobs = await claim(fixture().db, { kinds, limit: 2, leaseSeconds: 60 })
      return jobs.map(({ key }) => key).sort()
    }
    assert.deepEqual(await claimKeys([kind]), ['middle', 'old'])
    assert.deepEqual(await claimKeys([kind, second]), ['lone', 'young'])
    assert.deepEqual(await claimKeys([kind, second]), [])
  })

  test('a job is left alone until its time', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a', delaySeconds: 3600 })
    assert.deepEqual(await claimAll(kind), [])
    await makeDue(kind)
    assert.equal((await claimAll(kind)).length, 1)
  })

  test('a lease keeps others off, and when it has run out the next worker takes over', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    const zombie = await claimOne(kind)
    assert.deepEqual(await claimAll(kind), [])
    await makeDue(kind)
    const heir = await claimOne(kind)
    assert.equal(heir.attempts, 2)
    assert.notEqual(heir.lease, zombie.lease)
    for (const change of [
      extend(fixture().db, zombie, 60),
      finish(fixture().db, zombie),
      retry(fixture().db, zombie, { error: 'late' }),
      release(fixture().db, zombie, 0),
      bury(fixture().db, zombie, 'late'),
    ]) {
      assert.equal(await change, false)
    }
    assert.equal(await finish(fixture().db, heir), true)
    assert.deepEqual(await read(kind), [{ state: 'done', attempts: 2, last_error: null, lease: null }])
    assert.equal(await finish(fixture().db, heir), false)
  })

  test('a late worker may still finish what nobody else has claimed', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    const job = await claimOne(kind)
    await makeDue(kind)
    assert.equal(await finish(fixture().db, job), true)
  })

  test('a lease can be prolonged', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    const job = await claimOne(kind)
    await makeDue(kind)
    assert.equal(await extend(fixture().db, job, 60), true)
    assert.deepEqual(await claimAll(kind), [])
  })

  test('whoever queues a job may hold it from the start', async () => {
    const kind = newKind()
    const job = await enqueueLeased(fixture().db, { kind, key: 'a', payload: { n: 1 }, leaseSeconds: 60 })
    assert.deepEqual([job?.kind, job?.key, job?.payload, job?.attempts], [kind, 'a', { n: 1 }, 1])
    assert.deepEqual(await claimAll(kind), [])
    assert.equal(await enqueueLeased(fixture().db, { kind, key: 'a', leaseSeconds: 60 }), null)
    assert.equal(await finish(fixture().db, job!), true)
  })

  test('a statement can demand that the lease is still held', async () => {
    await fixture().db.query('create table if not exists deeds (key text)')
    const deed = statement(`
      insert into deeds (key)
      select $2
      where ${leaseHeld({ kind: '$1', key: '$2', lease: '$3' })}`)
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    const zombie = await claimOne(kind)
    assert.equal((await fixture().db.query(deed, [kind, 'a', zombie.lease])).rowCount, 1)
    await makeDue(kind)
    const heir = await claimOne(kind)
    assert.equal((await fixture().db.query(deed, [kind, 'a', zombie.lease])).rowCount, 0)
    assert.equal((await fixture().db.query(deed, [kind, 'a', heir.lease])).rowCount, 1)
    await finish(fixture().db, heir)
    assert.equal((await fixture().db.query(deed, [kind, 'a', heir.lease])).rowCount, 0)
  })

  for (const [attempts, seconds] of [
    [1, 0.2],
    [5, 3.2],
    [13, 819.2],
    [30, 3600],
    [2000, 3600],
  ] as const) {
    test(`try number ${attempts} is followed by a break of about ${seconds} s`, async () => {
      const kind = newKind()
      await enqueue(fixture().db, { kind, key: 'a', maxAttempts: 9999 })
      await fixture().db.query('update jobs set attempts = $2 where kind = $1', [kind, attempts - 1])
      const job = await claimOne(kind)
      const waits = await fixture().db.transaction(async (tx) => {
        assert.equal(await retry(tx, job, { error: 'busy' }), true)
        return tx.query<{ wait: number }>(
          'select extract(epoch from run_at - now())::float8 as wait from jobs where kind = $1',
          [kind],
        )
      })
      const { wait } = waits.rows[0]!
      // now() is the start of the transaction, so the wait seen here may be a little too long, never too short.
      assert.ok(wait >= seconds * 0.5 && wait <= seconds * 1.5 + 60, `${wait}`)
    })
  }

  test('the caller may choose the break', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    await retry(fixture().db, await claimOne(kind), { error: 'busy', delaySeconds: 0 })
    assert.equal((await claimOne(kind)).attempts, 2)
  })

  test('after the last try a job is buried with its error, and an operator may revive it', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a', maxAttempts: 2 })
    assert.equal(await requeue(fixture().db, { kind, key: 'a' }), false)
    await retry(fixture().db, await claimOne(kind), { error: 'first', delaySeconds: 0 })
    await retry(fixture().db, await claimOne(kind), { error: `second ${'!'.repeat(1000)}`, delaySeconds: 0 })
    assert.deepEqual(await claimAll(kind), [])
    const dead = (await listDead(fixture().db, 100)).filter((job) => job.kind === kind)
    assert.equal(dead.length, 1)
    assert.deepEqual([dead[0]!.key, dead[0]!.attempts, dead[0]!.lastError?.length], ['a', 2, 500])
    assert.equal(await requeue(fixture().db, { kind, key: 'a' }), true)
    assert.equal((await claimOne(kind)).attempts, 1)
  })

  test('a job that kills its worker each time is buried, not tried for ever', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a', maxAttempts: 2 })
    await claimOne(kind)
    await makeDue(kind)
    const last = await claimOne(kind)
    await makeDue(kind)
    assert.deepEqual(await claimAll(kind), [])
    assert.equal(await finish(fixture().db, last), false)
    const [job] = await read(kind)
    assert.deepEqual([job!.state, job!.attempts, job!.last_error], ['dead', 2, 'the lease of the last try ran out'])
  })

  test('hopeless work can be buried at once', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    assert.equal(await bury(fixture().db, await claimOne(kind), 'no such order'), true)
    assert.deepEqual(await read(kind), [{ state: 'dead', attempts: 1, last_error: 'no such order', lease: null }])
  })

  test('a job that is given back has lost no try', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    assert.equal(await release(fixture().db, await claimOne(kind), 0), true)
    assert.equal((await claimOne(kind)).attempts, 1)
  })

  test('the counts show what is due, how long, and what is dead', async () => {
    const kind = newKind()
    for (const key of ['due', 'later', 'dead', 'done']) await enqueue(fixture().db, { kind, key })
    await fixture().db.query(
      `update jobs
       set run_at = now() + case key when 'due' then interval '-90 seconds' else interval '1 hour' end,
           state = case when key in ('dead', 'done') then key else 'waiting' end,
           finished_at = case when key = 'done' then now() end
       where kind = $1`,
      [kind],
    )
    const counts = (await countJobs(fixture().db)).find((row) => row.kind === kind)!
    assert.deepEqual([counts.due, counts.later, counts.dead], [1, 1, 1])
    assert.ok(counts.oldestDueSeconds >= 90)
  })

  test('finished jobs are forgotten after a while, a few at a time', async () => {
    const kind = newKind()
    for (const key of ['a', 'b', 'c', 'd']) await enqueue(fixture().db, { kind, key })
    for (const job of (await claimAll(kind)).filter(({ key }) => key !== 'd')) await finish(fixture().db, job)
    assert.equal(await deleteFinished(fixture().db, { olderThanSeconds: 3600, limit: 10 }), 0)
    await fixture().db.query(
      `update jobs set finished_at = now() - interval '2 hours' where kind = $1 and key <> 'd'`,
      [kind],
    )
    assert.equal(await deleteFinished(fixture().db, { olderThanSeconds: 3600, limit: 2 }), 2)
    assert.equal(await deleteFinished(fixture().db, { olderThanSeconds: 3600, limit: 2 }), 1)
    assert.equal((await read(kind)).length, 1)
    assert.equal(await enqueue(fixture().db, { kind, key: 'a' }), true)
  })
}
