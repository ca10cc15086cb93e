import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isFinal, type OrderStatus, statusCodeOf, statuses, transitions } from './order.ts'

test('every status can be reached from the first one', () => {
  const reached = new Set<OrderStatus>(['settling'])
  for (const status of reached) for (const next of transitions[status]) reached.add(next)
  assert.deepEqual([...reached].sort(), [...statuses].sort())
})

test('what has ended goes nowhere by itself; only an operator takes a confirmed order up again', () => {
  assert.deepEqual(
    statuses.filter((status) => transitions[status].length === 0),
    ['refunded', 'expired'],
  )
  assert.deepEqual(transitions.confirmed, ['refunding'])
})

test('money that was taken never ends in "expired", and every way that fails leads back to the payer', () => {
  const paid: readonly OrderStatus[] = ['settled', 'submitted', 'failed', 'refunding', 'confirmed', 'refunded']
  for (const status of paid) assert.ok(!transitions[status].includes('expired'))
  assert.deepEqual(transitions.failed, ['refunding'])
  assert.deepEqual(transitions.refunding, ['refunded'])
})

test('a status route answers 200 exactly for what has ended', () => {
  for (const status of statuses) assert.equal(statusCodeOf(status), isFinal(status) ? 200 : 202)
  assert.deepEqual(statuses.filter(isFinal), ['confirmed', 'refunded', 'expired'])
})
