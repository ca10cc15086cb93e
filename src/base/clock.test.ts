import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Clock, countdown, isoTime, msSince, syncedClock, systemClock } from './clock.ts'

const at = (ms: number): Clock => ({ now: () => ms, sleep: async () => {} })

test('M-27: a clock that is two minutes off is set right, in both directions', async () => {
  for (const skew of [-120_000, 120_000]) {
    const clock = syncedClock(at(1_000_000 + skew))
    assert.equal(await clock.sync(async () => 1_000_000), -skew)
    assert.equal(clock.now(), 1_000_000)
  }
})

test('the way there and back is not taken for an error of the clock', async () => {
  let now = 1_000_000
  const clock = syncedClock({ now: () => now, sleep: async () => {} })
  await clock.sync(async () => {
    now += 400
    return 1_000_200
  })
  assert.equal(clock.now(), now)
})

test('a clock that is set again does not jump for less than a second', async () => {
  const clock = syncedClock(at(0))
  await clock.sync(async () => 60_000)
  await clock.sync(async () => 60_900)
  assert.equal(clock.now(), 60_000)
  await clock.sync(async () => 61_000)
  assert.equal(clock.now(), 61_000)
})

/** A clock by which each question takes as long as the test says, and the answer is of the moment when it was asked for. */
function slowSource(trips: readonly number[], realMs: (now: number) => number) {
  let now = 1_000_000
  let asked = 0
  const clock = syncedClock({ now: () => now, sleep: async () => {} })
  const read = async () => {
    const there = realMs(now)
    now += trips[asked++] ?? 0
    return there
  }
  return { clock, sync: () => clock.sync(read), offsetMs: () => clock.now() - now, asked: () => asked }
}

test('M-27: an answer that is held back for a hundred seconds moves nothing', async () => {
  const { sync, offsetMs, asked } = slowSource([100_000], (now) => now)
  assert.equal(await sync(), 0)
  assert.deepEqual([offsetMs(), asked()], [0, 2])
})

test('M-27: where every answer is slow, nothing is learned and nothing changes', async () => {
  const { sync, offsetMs, asked } = slowSource([3_000, 3_000, 3_000, 3_000, 3_000], (now) => now + 600_000)
  assert.equal(await sync(), null)
  assert.deepEqual([offsetMs(), asked()], [0, 5])
})

test('M-27: one wrong answer moves nothing, two that agree do, and the quicker one counts', async () => {
  const lies = [500_000, 0]
  const once = slowSource([], (now) => now + (lies.shift() ?? 0))
  assert.equal(await once.sync(), 0)
  assert.equal(once.offsetMs(), 0)
  // Half of its way is taken for the way there: the slower the answer, the more is guessed.
  const { sync, offsetMs } = slowSource([1_000, 10], (now) => now - 600_000)
  assert.equal(await sync(), -600_005)
  assert.equal(offsetMs(), -600_005)
})

test('answers that contradict each other move nothing', async () => {
  let asked = 0
  const { sync, offsetMs } = slowSource([], (now) => now + 10_000 * ++asked)
  assert.equal(await sync(), null)
  assert.equal(offsetMs(), 0)
})

test('an answer during which this clock was put back says nothing', async () => {
  const { sync, offsetMs } = slowSource([-50_000], (now) => now)
  assert.equal(await sync(), 0)
  assert.equal(offsetMs(), 0)
})

test('a source that fails changes nothing', async () => {
  const clock = syncedClock(at(5))
  await assert.rejects(clock.sync(() => Promise.reject(new Error('store is down'))))
  assert.equal(clock.now(), 5)
})

test('a sleep ends when its signal says so, and leaves no timer', async () => {
  const stop = new AbortController()
  const slept = systemClock.sleep(60_000, stop.signal)
  stop.abort()
  await slept
  await systemClock.sleep(60_000, stop.signal)
})

test('times are printed in UTC', () => {
  assert.equal(isoTime(0), '1970-01-01T00:00:00.000Z')
})

test('a time is printed as Date prints it, whatever was printed before', () => {
  const near = fc.integer({ min: 1_700_000_000_000, max: 1_700_000_003_000 })
  const far = fc.integer({ min: 0, max: Date.parse('9999-12-31') })
  fc.assert(
    fc.property(fc.array(fc.oneof(near, far), { minLength: 2 }), (times) => {
      for (const ms of times) assert.equal(isoTime(ms), new Date(ms).toISOString())
    }),
  )
  // Half a millisecond, which a clock that was set by another may have, is cut off.
  assert.equal(isoTime(1_700_000_000_999.5), new Date(1_700_000_000_999.5).toISOString())
  assert.throws(() => isoTime(Number.NaN), RangeError)
})

test('M-27: what was noted before the clock was put back is as old as anything', () => {
  assert.equal(msSince(at(1_000), 400), 600)
  assert.equal(msSince(at(1_000), 1_000), 0)
  assert.equal(msSince(at(1_000), 1_001), Number.POSITIVE_INFINITY)
})

test('M-27: whoever counts down waits no longer than was said when the clock is put back meanwhile', () => {
  let now = 1_000_000
  const left = countdown({ now: () => now, sleep: async () => {} }, 60_000)
  now += 20_000
  assert.equal(left(), 40_000)
  now -= 600_000
  assert.equal(left(), 40_000)
  now += 39_999
  assert.equal(left(), 1)
  now += 1
  assert.equal(left(), 0)
  now -= 600_000
  assert.ok(left() <= 0)
})
