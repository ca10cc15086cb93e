import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId, systemRandom } from './id.ts'

test('A-05: an id holds 128 random bits and nothing else', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('ord', systemRandom))
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids.slice(0, 100)) assert.match(id, /^ord_[0-9abcdefghjkmnpqrstvwxyz]{26}$/)
  // Every place of the text varies: no time, no counter, no machine.
  for (let place = 4; place < 29; place++) assert.ok(new Set(ids.map((id) => id[place])).size >= 32, `place ${place}`)
  assert.notDeepEqual(ids, ids.toSorted())
})

test('the same bytes give the same id, and every byte counts', () => {
  const of = (bytes: Uint8Array) => newId('req', { bytes: () => bytes })
  const zero = new Uint8Array(16)
  assert.equal(of(zero), `req_${'0'.repeat(26)}`)
  assert.equal(of(new Uint8Array(16).fill(255)), `req_${'z'.repeat(25)}w`)
  for (let index = 0; index < 16; index++) assert.notEqual(of(zero.with(index, 1)), of(zero))
})

test('random bytes come in the length asked for, and never twice', () => {
  for (const length of [0, 1, 16, 4_096, 10_000]) assert.equal(systemRandom.bytes(length).length, length)
  const drawn = Array.from({ length: 2_000 }, () => Buffer.from(systemRandom.bytes(16)).toString('hex'))
  assert.equal(new Set(drawn).size, drawn.length)
})
