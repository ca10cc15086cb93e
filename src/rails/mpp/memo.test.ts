import assert from 'node:assert/strict'
import { test } from 'node:test'
import { concat, keccak256, slice, toBytes, toHex } from 'viem/utils'
import type { Hex } from '../../base/hex.ts'
import { challengeTag, isBoundTo, tagIn, transferIdentity } from './memo.ts'

/** Tag, version, realm, client, challenge: the layout of the protocol. */
function memo(realm: string, challengeId: string, client: Hex = '0x00000000000000000000'): Hex {
  const print = (text: string, length: number) => slice(keccak256(toBytes(text)), 0, length)
  return concat([print('mpp', 4), '0x01', print(realm, 10), client, print(challengeId, 7)])
}

test('a memo is bound to one realm and one challenge, whatever the client put into it', () => {
  const right = memo('shop.test', 'one')
  for (const spelling of [
    right,
    memo('shop.test', 'one', '0xffffffffffffffffffff'),
    `0x${right.slice(2).toUpperCase()}` as Hex,
  ])
    assert.ok(isBoundTo(spelling, 'shop.test', 'one'))
  assert.ok(!isBoundTo(right, 'shop.test', 'two'))
  assert.ok(!isBoundTo(right, 'other.test', 'one'))
  assert.ok(!isBoundTo(`${right}00` as Hex, 'shop.test', 'one'))
  assert.ok(!isBoundTo(`${right.slice(0, 11)}2${right.slice(12)}` as Hex, 'shop.test', 'one'))
  assert.ok(!isBoundTo(toHex(0, { size: 32 }), 'shop.test', 'one'))
})

test('a payment has one name on the chain, read from its challenge or from its memo', () => {
  const hash = toHex(7, { size: 32 })
  const name = transferIdentity('tempo:1', challengeTag('one'), hash)
  assert.equal(transferIdentity('tempo:1', tagIn(memo('shop.test', 'one'))!, hash), name)
  assert.notEqual(transferIdentity('tempo:1', challengeTag('two'), hash), name)
  // People ask for it by its transaction: the part behind the last slash.
  assert.equal(name.split('/').at(-1), hash)
  assert.equal(tagIn(toHex(0, { size: 32 })), null)
})
