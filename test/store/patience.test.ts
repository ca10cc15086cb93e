import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import { isProblem, Problem } from '../../src/base/problem.ts'
import { StoreFault } from '../../src/store/fault.ts'
import { patiently } from '../../src/store/patience.ts'
import { handClock } from '../support/hand-clock.ts'

const log = silentLog
const away = () => new Problem('store_unavailable', 'The store cannot be reached or is too busy.')

test('a store that stays away is told after half a minute', async () => {
  const clock = handClock(0)
  let tries = 0
  const asked = patiently(
    async () => {
      tries++
      throw away()
    },
    { clock, log },
  )
  const told = assert.rejects(asked, (error) => isProblem(error, 'store_unavailable') && clock.now() === 30_000)
  await clock.pass(60_000)
  await told
  assert.equal(tries, 31)
})

test('a store that would refuse again is not asked twice', async () => {
  let tries = 0
  const asked = patiently(
    async () => {
      tries++
      throw new StoreFault('other_mode', 'this store is of a sandbox')
    },
    { clock: handClock(0), log },
  )
  await assert.rejects(asked, { code: 'other_mode' })
  assert.equal(tries, 1)
})

test('a process that was stopped for a minute between question and answer asks again', async () => {
  const clock = handClock(0)
  const late = { ...clock, now: () => clock.now() + stoppedMs }
  let stoppedMs = 0
  const asked = patiently(
    async () => {
      if (stoppedMs > 0) return 'answered'
      stoppedMs = 60_000
      throw away()
    },
    { clock: late, log },
  )
  await clock.pass(1_000)
  assert.equal(await asked, 'answered')
})

test('a start waits no longer for a store because the clock is put back meanwhile', async () => {
  const clock = handClock(0)
  let tries = 0
  const putBack = { ...clock, now: () => clock.now() - (tries > 5 ? 600_000 : 0) }
  const asked = patiently(
    async () => {
      tries++
      throw away()
    },
    { clock: putBack, log },
  )
  let isTold = false
  const told = assert
    .rejects(asked, (error) => isProblem(error, 'store_unavailable'))
    .then(() => {
      isTold = true
    })
  await clock.pass(32_000)
  assert.equal(isTold, true)
  await told
})
