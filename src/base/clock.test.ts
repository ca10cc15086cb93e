import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Clock, isoTime, syncedClock, systemClock } from './clock.ts'

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
