import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockBefore, createHeadSource } from './head.ts'
import type { Rpc } from './rpc.ts'

const SECONDS = [0, 2, 2, 2, 4, 7, 7, 9, 30, 31, 33]

function chainOf(seconds: readonly number[]) {
  let asked = 0
  const request = async (_method: string, [tag]: readonly string[]) => {
    asked++
    return { number: '0x0', timestamp: `0x${seconds[Number(tag)]!.toString(16)}` }
  }
  return { rpc: { chainId: 1, request } as unknown as Rpc, asked: () => asked }
}

test('the newest block that is not later than a moment is found, whichever it is', async () => {
  for (let newest = 0; newest < SECONDS.length; newest++)
    for (let second = -1; second <= 34; second++) {
      const expected = SECONDS.slice(0, newest + 1).findLastIndex((made) => made <= second)
      const found = await blockBefore(chainOf(SECONDS).rpc, second * 1000, BigInt(newest))
      assert.equal(found, BigInt(Math.max(expected, 0)), `${second} s of ${newest} blocks`)
    }
})

test('one of the last among millions takes a few questions', async () => {
  const { rpc, asked } = chainOf(Array.from({ length: 1_000_000 }, (_, block) => block * 2))
  assert.equal(await blockBefore(rpc, 1_999_990_000, 999_999n), 999_995n)
  assert.ok(asked() < 10, String(asked()))
})

test('M-27: a newest block that was read by a clock that was ahead is read anew when it is put right', async () => {
  const blockMs = 1_000_000_000_000
  let now = blockMs + 600_000
  let number = 7n
  const newest = async () => ({ number, timestampMs: blockMs })
  const clock = { now: () => now, sleep: async () => {} }
  const head = createHeadSource({ rpc: { chainId: 1, newest } as unknown as Rpc, clock })
  assert.equal((await head.latest()).number, 7n)
  number = 8n
  now = blockMs
  assert.equal((await head.latest()).number, 8n)
})
