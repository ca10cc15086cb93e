import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pollUntil } from './receipt.ts'

/** When somebody who begins at `begin` and finds nothing asks. */
async function timesOf(begin: number, waitMs: number): Promise<readonly number[]> {
  const times: number[] = []
  let now = begin
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      now += ms
    },
  }
  const found = await pollUntil(clock, waitMs, async () => {
    times.push(now)
    return null
  })
  assert.equal(found, null)
  return times
}

test('whoever waits asks at once, soon again, and then at the same beat as everybody else', async () => {
  const [early, late] = [await timesOf(10_000, 3_000), await timesOf(10_037, 3_000)]
  assert.deepEqual(early.slice(0, 2), [10_000, 10_005])
  const beats = (times: readonly number[]) => times.filter((at) => at > 11_000 && at < 13_000)
  assert.equal(beats(early).length, 13)
  assert.deepEqual(beats(early), beats(late))
  assert.ok(late.at(-1)! <= 13_037)
})

test(`M-27: a wait is no longer because the clock is put back meanwhile`, async () => {
  let now = 1_000_000
  let slept = 0
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      // A wait that is this much too long is as bad as one without an end.
      if (slept > 60_000) throw new Error('still waiting')
      slept += ms
      now += slept >= 1_000 && slept - ms < 1_000 ? ms - 600_000 : ms
    },
  }
  assert.equal(await pollUntil(clock, 3_000, async () => null), null)
  assert.ok(slept >= 2_000 && slept <= 4_500, String(slept))
})
