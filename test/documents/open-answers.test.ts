import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as z from 'zod'
import { referringSchema } from '../../src/api/facts/json-schema.ts'
import { verifies } from '../support/verifies.ts'

test('an answer may grow members, and a request may not', () => {
  verifies('D11.1')
  const inner = z.object({ a: z.int() })
  const answer = referringSchema(z.object({ inner, list: z.array(inner) }), 'output')
  assert.doesNotMatch(JSON.stringify(answer), /additionalProperties/)
  const request = referringSchema(z.strictObject({ a: z.int() }), 'input')
  assert.equal(request.schema['additionalProperties'], false)
})

test('the examples tell of no folder of the machine that made them', () => {
  const told = readFileSync('docs/answers.json', 'utf8')
  assert.doesNotMatch(told, /(?<![\w.:/])\/(tmp|home|root|work|var|Users|private)\//)
})
