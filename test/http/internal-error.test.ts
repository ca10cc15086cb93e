import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asProblem, problemBody } from '../../src/api/http/problem-body.ts'
import { verifies } from '../support/verifies.ts'

test('what goes wrong inside is an internal error that tells nothing of itself but an id', () => {
  verifies('D8.5')
  const cause = new Error('column "secret" of relation "orders" does not exist')
  const body = problemBody(asProblem(cause), { requestId: 'req_1', errorsUrl: 'https://shop.test/errors' })
  assert.deepEqual([body['status'], body['code'], body['requestId']], [500, 'internal_error', 'req_1'])
  assert.doesNotMatch(JSON.stringify(body), /secret|orders|column|stack/)
})
