import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { getAddress } from 'viem/utils'
import { checksumAddress, hasWrongChecksum, isAddress, isHash, sameAddress } from './address.ts'

const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `0x${Buffer.from(bytes).toString('hex')}`)

test('a checksum is the one that everybody computes', () => {
  fc.assert(fc.property(address, (one) => checksumAddress(one) === getAddress(one)))
})

test('N-06: a single case is taken, mixed case must be right', () => {
  const right = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  assert.equal(hasWrongChecksum(right), false)
  assert.equal(hasWrongChecksum(right.toLowerCase()), false)
  assert.equal(hasWrongChecksum(`0x${right.slice(2).toUpperCase()}`), false)
  assert.equal(hasWrongChecksum(right.replace('A', 'a')), true)
})

test('addresses and hashes have one length, one prefix and no line break', () => {
  assert.ok(isAddress(`0x${'aB'.repeat(20)}`) && isHash(`0x${'aB'.repeat(32)}`))
  for (const text of ['', '0x', '0X'.padEnd(42, '0'), '0x'.padEnd(41, '0'), '0x'.padEnd(43, '0'), '0x'.padEnd(42, 'g')])
    assert.ok(!isAddress(text) && !isAddress(`${'0x'.padEnd(42, '0')}\n`))
  assert.ok(!isHash('0x'.padEnd(42, '0')) && !isHash(`${'0x'.padEnd(66, '0')}\n`))
})

test('two spellings of an address are the same address', () => {
  fc.assert(
    fc.property(address, (one) => sameAddress(one, checksumAddress(one)) && sameAddress(one.toUpperCase(), one)),
  )
})
