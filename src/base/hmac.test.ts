import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { hmacSha256 } from './hmac.ts'

test('a keyed digest is the one that Node computes, for keys and texts of any length', () => {
  const text = fc.string({ unit: 'binary', maxLength: 300 })
  fc.assert(
    fc.property(text, fc.array(text, { minLength: 1, maxLength: 4 }), (key, texts) => {
      const mac = hmacSha256(key)
      for (const text of texts) assert.equal(mac(text), createHmac('sha256', key).update(text).digest('base64url'))
    }),
  )
})
