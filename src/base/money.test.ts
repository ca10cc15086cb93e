import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { discounted, formatUsd, parseUsd, rangeOf, times, usd } from './money.ts'

const micros = fc.bigInt({ min: 0n, max: 10n ** 30n })

test('M-23: whatever is printed is read back as the same amount', () => {
  fc.assert(fc.property(micros, (amount) => parseUsd(formatUsd(usd(amount))) === amount))
})

test('M-23: decimals are read to the last digit', () => {
  for (const [text, amount] of [
    ['0', 0n],
    ['0.000001', 1n],
    ['0.001', 1_000n],
    ['0.02', 20_000n],
    ['9.00', 9_000_000n],
    ['1.5', 1_500_000n],
    ['123456789012345678901234567890.999999', 123456789012345678901234567890999999n],
  ] as const)
    assert.equal(parseUsd(text), amount)
})

test('what is not an amount is refused', () => {
  for (const text of [
    '',
    ' 1',
    '1 ',
    '-1',
    '+1',
    '01',
    '.5',
    '1.',
    '1.0000001',
    '1e3',
    '0x1',
    '1,5',
    'NaN',
    '٣',
    '1\n',
  ])
    assert.throws(() => parseUsd(text), TypeError, JSON.stringify(text))
  assert.throws(() => parseUsd('1'.repeat(31)), TypeError)
  assert.throws(() => usd(-1n), TypeError)
})

test('an amount is printed with two decimals, and more only where they count', () => {
  for (const [amount, text] of [
    [0n, '0.00'],
    [1n, '0.000001'],
    [1_000n, '0.001'],
    [1_500_000n, '1.50'],
    [9_000_000n, '9.00'],
    [250_000n, '0.25'],
    [1_234_567n, '1.234567'],
  ] as const)
    assert.equal(formatUsd(usd(amount)), text)
})

test('M-23: price times quantity is exact, however large', () => {
  fc.assert(
    fc.property(micros, fc.integer({ min: 0, max: 10_000 }), (unit, quantity) => {
      let sum = 0n
      for (let count = 0; count < quantity % 50; count++) sum += unit
      return times(usd(unit), quantity % 50) === sum && times(usd(unit), quantity) === unit * BigInt(quantity)
    }),
  )
  assert.throws(() => times(usd(1n), 1.5), RangeError)
})

test('a discount never makes a priced good free, and never costs more', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.integer({ min: 0, max: 9_999 }), (price, basisPoints) => {
      const left = discounted(usd(price), basisPoints)
      return left > 0n && left <= price
    }),
  )
  assert.equal(discounted(usd(100n), 2_500), 75n)
})

test('the range of no prices is none', () => {
  assert.equal(rangeOf([]), null)
  assert.deepEqual(rangeOf([usd(3n), usd(1n), usd(2n)]), { lowest: 1n, highest: 3n })
})
