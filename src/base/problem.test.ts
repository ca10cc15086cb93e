import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { adviceOf, isProblem, Problem, type ProblemCode, problems } from './problem.ts'
import type { ProblemKind } from './problem-kind.ts'

const table = Object.entries(problems) as [ProblemCode, ProblemKind][]

test('every code is used somewhere, or is not in the table', () => {
  const sources = globSync('src/**/*.ts')
    .filter((file) => file !== 'src/base/problems.ts' && !file.endsWith('.test.ts'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const unused = table.map(([code]) => code).filter((code) => !new RegExp(`['"\`]${code}['"\`]`).test(sources))
  assert.deepEqual(unused, [])
})

test('I9: a 402 takes nothing and asks for a payment; what may have been taken never asks for one', () => {
  for (const [code, { status, taken, action }] of table) {
    assert.equal(status === 402, action === 'new_payment', code)
    if (status === 402 || status >= 500) assert.equal(taken, false, code)
    if (taken !== false) assert.ok(['poll', 'none', 'fix_request'].includes(action), code)
  }
})

test('every kind of problem says what to do, in sentences', () => {
  for (const [code, { title, advice, status }] of table) {
    assert.match(code, /^[a-z][a-z0-9_]*$/)
    assert.ok(title.length > 3 && !title.endsWith('.'), code)
    assert.match(advice, /^[A-Z].*\.$/, code)
    assert.ok(status === 202 || (status >= 400 && status < 600), code)
  }
})

test('a problem may differ from its kind in what is known here', () => {
  const problem = new Problem('request_body_mismatch', 'Send the original.', { status: 409, taken: true, cause: 'x' })
  assert.equal(problem.status, 409)
  assert.equal(problem.kind.status, 402)
  assert.equal(problem.cause, 'x')
  assert.ok(isProblem(problem) && isProblem(problem, 'request_body_mismatch') && !isProblem(problem, 'sold_out'))
  assert.ok(!isProblem(new Error('x')))
})

test('nobody whose money may have moved is advised to pay', () => {
  const free = problems.payment_misplaced
  assert.equal(adviceOf(free), free.advice)
  assert.equal(adviceOf(free, false), free.advice)
  for (const taken of [true, 'unknown'] as const) assert.match(adviceOf(free, taken), /Do not pay again\.$/)
  assert.equal(adviceOf(problems.payment_conflict, 'unknown'), problems.payment_conflict.advice)
})
