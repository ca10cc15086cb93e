import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { encodeFunctionData, hashTypedData, toHex } from 'viem/utils'
import { testUsdc } from '../artifacts/TestUsdc.ts'
import { fromHex, type Hex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import {
  type Authorization,
  authorizationDigest,
  domainSeparator,
  moves,
  paidBy,
  revertText,
  transferCall,
} from './eip3009.ts'
import type { EvmLog, Receipt } from './receipt.ts'
import { RpcError } from './rpc.ts'
import { addressOfKey, recoverSigner, signDigest } from './secp256k1.ts'

const TOKEN = `0x${'20'.repeat(20)}` as const
const authorization: Authorization = {
  from: `0x${'aB'.repeat(20)}`,
  to: `0x${'cD'.repeat(20)}`,
  value: '250000',
  validAfter: '0',
  validBefore: '1900000000',
  nonce: `0x${'eF'.repeat(32)}`,
}

const uint = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String)
const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((value) => toHex(value))
const anyAuthorization = fc.record({
  from: bytes(20),
  to: bytes(20),
  value: uint,
  validAfter: uint,
  validBefore: uint,
  nonce: bytes(32),
})

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

function message({ from, to, value, validAfter, validBefore, nonce }: Authorization) {
  return { from, to, value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore), nonce }
}

test('the digest is the one that wallets sign', () => {
  fc.assert(
    fc.property(anyAuthorization, fc.string({ maxLength: 20 }), fc.nat(), (one, name, chainId) => {
      const domain = { name, version: '2', chainId, verifyingContract: TOKEN }
      const ours = authorizationDigest(domainSeparator({ name, version: '2', chainId, token: TOKEN }), one)
      const theirs = hashTypedData({
        domain,
        types: TYPES,
        primaryType: 'TransferWithAuthorization',
        message: message(one),
      })
      assert.equal(toHex(ours), theirs)
    }),
    { numRuns: 100 },
  )
})

test('the call is the one that an ABI coder writes, with a key’s signature and with a contract’s', () => {
  fc.assert(
    fc.property(anyAuthorization, fc.uint8Array({ minLength: 1, maxLength: 200 }), (one, raw) => {
      const { from, to, value, validAfter, validBefore, nonce } = message(one)
      const head = [from, to, value, validAfter, validBefore, nonce] as const
      const signature = toHex(raw)
      const args =
        raw.length === 65
          ? ([...head, raw[64]!, toHex(raw.subarray(0, 32)), toHex(raw.subarray(32, 64))] as const)
          : ([...head, signature] as const)
      const expected = encodeFunctionData({
        abi: testUsdc.abi,
        functionName: 'transferWithAuthorization',
        args,
      } as never)
      assert.equal(transferCall(one, signature), expected)
    }),
    { numRuns: 200 },
  )
})

describe('N-20: who signed', () => {
  const digest = keccak256(Buffer.from('a message'))
  const key = fromHex(generatePrivateKey())
  const { r, s, yParity } = signDigest(digest, key)
  const signature = `${r}${s.slice(2)}${yParity === 0 ? '1b' : '1c'}` as Hex

  test('is the owner of the key, as other libraries say too', async () => {
    assert.equal(recoverSigner(digest, signature), addressOfKey(key))
    const account = privateKeyToAccount(toHex(key))
    assert.equal(account.address, addressOfKey(key))
    assert.equal(await account.sign({ hash: toHex(digest) }), signature)
  })

  test('is nobody for any other spelling', () => {
    const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
    const highS = (ORDER - BigInt(s)).toString(16).padStart(64, '0')
    for (const other of [
      `${r}${highS}${yParity === 0 ? '1c' : '1b'}`,
      `${r}${s.slice(2)}0${yParity}`,
      `${r}${s.slice(2)}`,
      `${r}${s.slice(2)}1d`,
      `0x${'00'.repeat(32)}${s.slice(2)}1b`,
      `${r}${'00'.repeat(32)}1b`,
      `0x${'ff'.repeat(32)}${s.slice(2)}1b`,
      '0x',
    ] as Hex[])
      assert.equal(recoverSigner(digest, other), null, other.slice(0, 12))
  })

  test('is never a crash', () => {
    fc.assert(
      fc.property(bytes(65), (any) => void recoverSigner(digest, any)),
      { numRuns: 500 },
    )
  })
})

describe('M-16: what a receipt proves', () => {
  const word = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}` as Hex
  const topic = (text: string) => toHex(keccak256(Buffer.from(text)))
  const log = (topics: readonly Hex[], data: Hex = '0x', address: Hex = TOKEN): EvmLog => ({
    address,
    topics,
    data,
    blockNumber: '0x1',
    transactionHash: `0x${'00'.repeat(32)}`,
    logIndex: '0x0',
  })
  const { from, to, value, nonce } = authorization
  const used = (who: Hex = from, which: Hex = nonce, by?: Hex) =>
    log([topic('AuthorizationUsed(address,bytes32)'), word(who), which.toLowerCase() as Hex], '0x', by)
  const moved = (a: Hex = from, b: Hex = to, amount = value, by?: Hex) =>
    log([topic('Transfer(address,address,uint256)'), word(a), word(b)], toHex(BigInt(amount), { size: 32 }), by)
  const receipt = (logs: readonly EvmLog[], succeeded = true): Receipt => ({
    transactionHash: `0x${'00'.repeat(32)}`,
    succeeded,
    blockNumber: 1n,
    blockHash: `0x${'11'.repeat(32)}`,
    from,
    logs,
    gasUsed: 21_000n,
    gasPrice: 1n,
  })
  const other = `0x${'99'.repeat(20)}` as const

  test('the use of the authorization and, right after it, the transfer', () => {
    assert.ok(paidBy(receipt([used(), moved()]), TOKEN, authorization))
    assert.ok(paidBy(receipt([moved(other, other), used(), moved(), moved(to, other)]), TOKEN, authorization))
    assert.ok(paidBy(receipt([used(), moved(other, other, '1', other), moved()]), TOKEN, authorization))
  })

  for (const [what, logs] of [
    ['nothing at all', []],
    ['a transfer alone', [moved()]],
    ['the use alone: a token that does not move', [used()]],
    ['a transfer before the use', [moved(), used()]],
    ['the use of another nonce', [used(from, `0x${'00'.repeat(32)}`), moved()]],
    ['the use by somebody else', [used(other), moved()]],
    ['the logs of another token', [used(from, nonce, other), moved(from, to, value, other)]],
    ['the use by one token and the transfer of another', [used(), moved(from, to, value, other)]],
    ['a transfer to somebody else', [used(), moved(from, other)]],
    ['a transfer of somebody else', [used(), moved(other, to)]],
    ['one unit less', [used(), moved(from, to, '249999')]],
    ['somebody else’s transfer between the two', [used(), moved(other, to), moved()]],
  ] as const) {
    test(`not ${what}`, () => assert.ok(!paidBy(receipt(logs), TOKEN, authorization)))
  }

  test('nothing in a transaction that failed', () => {
    assert.ok(!paidBy(receipt([used(), moved()], false), TOKEN, authorization))
  })

  test('money that moved for another reason is seen too', () => {
    assert.ok(moves(receipt([moved()]), TOKEN, authorization))
    assert.ok(!moves(receipt([moved(from, other), moved(from, to, '1')]), TOKEN, authorization))
  })
})

test('the text of a revert is read, and bounded', () => {
  const data = `0x08c379a0${'20'.padStart(64, '0')}${'5'.padStart(64, '0')}${Buffer.from('hello').toString('hex').padEnd(64, '0')}`
  assert.equal(revertText(new RpcError('execution reverted', 3, data)), 'hello')
  const endless = `0x08c379a0${'20'.padStart(64, '0')}${'f'.repeat(64)}${'41'.repeat(5_000)}`
  assert.ok(revertText(new RpcError('x', 3, endless)).length <= 200)
  assert.ok(revertText(new RpcError('y'.repeat(5_000), 3, '0x')).length <= 200)
})
