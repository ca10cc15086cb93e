import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isProblem } from '../base/problem.ts'
import { createStrikes } from './strikes.ts'

const PAYER = `0x${'ab'.repeat(20)}` as const
const MINUTE = 60_000

function strikesAt() {
  const time = { now: 0 }
  return { time, strikes: createStrikes({ now: () => time.now, sleep: async () => {} }) }
}

test('M-24: after three failed payments a payer waits ten minutes, and is told how long', () => {
  const { time, strikes } = strikesAt()
  for (let strike = 0; strike < 3; strike++) {
    strikes.assertWelcome(PAYER)
    strikes.count(PAYER)
  }
  time.now = 4 * MINUTE
  assert.throws(
    () => strikes.assertWelcome(PAYER.toUpperCase().replace('0X', '0x') as typeof PAYER),
    (error) => isProblem(error, 'payer_throttled') && error.extra.afterSeconds === 360,
  )
  strikes.assertWelcome(`0x${'cd'.repeat(20)}`)
  time.now = 10 * MINUTE
  strikes.assertWelcome(PAYER)
})

test('strikes that are far apart do not add up', () => {
  const { time, strikes } = strikesAt()
  for (let strike = 0; strike < 9; strike++) {
    strikes.count(PAYER)
    time.now += 11 * MINUTE
  }
  strikes.assertWelcome(PAYER)
})

test('M-24: the memory of strikes is bounded, and forgets the oldest first', () => {
  const { strikes } = strikesAt()
  const payer = (number: number) => `0x${number.toString(16).padStart(40, '0')}` as const
  for (let strike = 0; strike < 3; strike++) strikes.count(payer(0))
  for (let number = 1; number <= 10_000; number++) strikes.count(payer(number))
  strikes.assertWelcome(payer(0))
})
