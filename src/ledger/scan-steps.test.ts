import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanSteps, TRANSFERS_PER_STEP } from './scan-steps.ts'

const inBlock = (blockNumber: bigint, count: number) =>
  Array.from({ length: count }, (_, logIndex) => ({
    transaction: `0x${blockNumber.toString(16).padStart(64, '0')}` as const,
    logIndex,
    blockNumber,
    sender: `0x${'ab'.repeat(20)}` as const,
    amount: 1n,
  }))
const stepsOf = (transfers: ReturnType<typeof inBlock>) =>
  [...scanSteps({ fromBlock: 1n, toBlock: 100n, transfers })].map(({ fromBlock, toBlock, transfers }) => [
    fromBlock,
    toBlock,
    transfers.length,
  ])
const FEW = 10
const MANY = TRANSFERS_PER_STEP

test('a few transfers are one step, and so are none', () => {
  assert.deepEqual(stepsOf([]), [[1n, 100n, 0]])
  assert.deepEqual(stepsOf(inBlock(7n, FEW)), [[1n, 100n, FEW]])
})

test('E38: many are cut between blocks, in whatever order they came, and the steps cover every block once', () => {
  assert.deepEqual(stepsOf([...inBlock(30n, MANY), ...inBlock(20n, MANY + 1), ...inBlock(10n, FEW)]), [
    [1n, 20n, MANY + 1 + FEW],
    [21n, 100n, MANY],
  ])
})

test('E38: a block is never cut', () => {
  assert.deepEqual(stepsOf(inBlock(10n, 3 * MANY)), [[1n, 100n, 3 * MANY]])
})

test('blocks that nobody asked for move no mark', () => {
  assert.deepEqual(stepsOf([...inBlock(500n, MANY), ...inBlock(900n, FEW)]), [[1n, 100n, MANY + FEW]])
  assert.deepEqual(stepsOf([...inBlock(0n, MANY), ...inBlock(50n, FEW)]), [[1n, 100n, MANY + FEW]])
})
