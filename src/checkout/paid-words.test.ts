import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '../base/problem.ts'
import { paidError, paidWords, reasonOf } from './paid-words.ts'

test('of a paid order nobody says that nothing was taken, and the rest stays', () => {
  const cases = [
    ['Lot 392 is sold out; nothing was taken.', 'Lot 392 is sold out.'],
    [
      'The shop cannot pay for gas right now, so nothing was taken; try again later.',
      'The shop cannot pay for gas right now; try again later.',
    ],
    ['The game does not answer; nothing was taken. Try again.', 'The game does not answer. Try again.'],
    ['This payer is not served here; nothing was taken.', 'This payer is not served here.'],
    ['Too much at once. This payment was not taken.', 'Too much at once.'],
    ['Nothing was taken.', ''],
    ['It came to nothing.', 'It came to nothing.'],
  ]
  for (const [said, kept] of cases) assert.equal(paidWords(said!), kept)
})

test('errors keep their code and their causes', () => {
  const cause = new Problem('chain_unavailable', 'Silent; nothing was taken.', { cause: new Error('ECONNREFUSED') })
  const error = paidError(new Problem('store_full', 'Full; nothing was taken.', { cause })) as Problem
  assert.deepEqual([error.code, error.message, (error.cause as Problem).message], ['store_full', 'Full.', 'Silent.'])
  assert.equal(reasonOf(error), 'store_full: Full. (chain_unavailable: Silent. (ECONNREFUSED))')
  assert.equal(reasonOf('odd'), 'odd')
})
