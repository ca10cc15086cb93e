import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from './db.ts'
import {
  claim,
  enqueue,
  enqueueLeased,
  extend,
  forget,
  type Job,
  leaseHeld,
  oldestDueSeconds,
  release,
} from './jobs.ts'
import { statement } from './statement.ts'

type JobsFixture = { readonly db: Database; replica(): Promise<Database> }

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
  const keysOf = async (kind: string) =>
    (await fixture().db.query<{ key: string }>('select key from jobs where kind = $1 order by id', [kind])).rows.map(
      ({ key }) => key,
    )

  test('the same work is queued once', async () => {
    const kind = newKind()
    assert.equal(await enqueue(fixture().db, { kind, key: 'a' }), true)
    assert.equal(await enqueue(fixture().db, { kind, key: 'a' }), false)
    assert.equal(await enqueue(fixture().db, { kind: newKind(), key: 'a' }), true)
    const { lease, ...job } = await claimOne(kind)
    assert.deepEqual(job, { kind, key: 'a', payload: {} })
    assert.match(lease, /^[0-9a-f-]{36}$/)
  })

  test('a job belongs to the transaction that queued it', async () => {
    const kind = newKind()
    const change = fixture().db.transaction(async (tx) => {
      await enqueue(tx, { kind, key: 'a' })
      throw new RangeError('changed my mind')
    })
    await assert.rejects(change, RangeError)
    assert.deepEqual(await keysOf(kind), [])
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
      return jobs.map(({ key }) => key)
    }
    assert.deepEqual(await claimKeys([kind]), ['old', 'middle'])
    assert.deepEqual((await claimKeys([kind, second])).toSorted(), ['lone', 'young'])
    assert.deepEqual(await claimKeys([kind, second]), [])
  })

  test('a job is left alone until its time', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    assert.equal(await release(fixture().db, await claimOne(kind), 3600), true)
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
    assert.notEqual(heir.lease, zombie.lease)
    for (const change of [
      extend(fixture().db, zombie, 60),
      release(fixture().db, zombie, 0),
      forget(fixture().db, zombie),
    ]) {
      assert.equal(await change, false)
    }
    assert.equal(await forget(fixture().db, heir), true)
    assert.deepEqual(await keysOf(kind), [])
    assert.equal(await forget(fixture().db, heir), false)
  })

  test('a late worker may still finish what nobody else has claimed', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    const job = await claimOne(kind)
    await makeDue(kind)
    assert.equal(await forget(fixture().db, job), true)
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
    const lease = await enqueueLeased(fixture().db, { kind, key: 'a', leaseSeconds: 60 })
    assert.deepEqual([lease?.kind, lease?.key], [kind, 'a'])
    assert.deepEqual(await claimAll(kind), [])
    assert.equal(await enqueueLeased(fixture().db, { kind, key: 'a', leaseSeconds: 60 }), null)
    assert.equal(await forget(fixture().db, lease!), true)
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
    await forget(fixture().db, heir)
    assert.equal((await fixture().db.query(deed, [kind, 'a', heir.lease])).rowCount, 0)
  })

  test('a job that kills its worker each time is tried again and again', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    for (let round = 0; round < 30; round++) {
      assert.equal((await claimOne(kind)).key, 'a')
      await makeDue(kind)
    }
  })

  test('a job that is given back is anybody’s again, and what is urgent goes first', async () => {
    const kind = newKind()
    for (const key of ['a', 'b']) await enqueue(fixture().db, { kind, key })
    const [first, second] = await claimAll(kind)
    await release(fixture().db, first!, 0)
    await release(fixture().db, second!, 0, 'urgent')
    const [next] = await claim(fixture().db, { kinds: [kind], limit: 1, leaseSeconds: 60 })
    assert.equal(next?.key, second!.key)
    assert.equal((await claimOne(kind)).key, first!.key)
  })

  test('work that is done may be queued again', async () => {
    const kind = newKind()
    await enqueue(fixture().db, { kind, key: 'a' })
    await forget(fixture().db, await claimOne(kind))
    assert.equal(await enqueue(fixture().db, { kind, key: 'a' }), true)
  })

  test('the lag is that of the oldest due job', async () => {
    const kind = newKind()
    assert.equal(await oldestDueSeconds(fixture().db, kind), 0)
    for (const key of ['due', 'later']) await enqueue(fixture().db, { kind, key })
    await fixture().db.query(
      `update jobs
       set run_at = now() + case key when 'due' then interval '-90 seconds' else interval '1 hour' end
       where kind = $1`,
      [kind],
    )
    assert.ok((await oldestDueSeconds(fixture().db, kind)) >= 90)
    await forget(fixture().db, await claimOne(kind))
    assert.equal(await oldestDueSeconds(fixture().db, kind), 0)
  })
}
