import assert from 'node:assert/strict'
import { test } from 'node:test'
import { transfersTo } from '../../../src/chain/transfers.ts'
import { crowdedNode, TILL, TOKEN } from '../support/crowded-node.ts'

// A transfer of one unit costs its sender next to nothing, and the till is public.

/** Of some 630 bytes each, where 8 MB are read at once. */
const BEYOND_BYTES = 14_000
const BEYOND_RESULTS = 10_500
const refusal = (code: number, message: string) => ({ above: 10_000, code, message })

// Until we know that an answer is too large we read 8 MB of it: there fewer blocks are searched, which are cut in two less often.
for (const [how, crowd, last] of [
  ['more than is read at once', { dust: BEYOND_BYTES, blocks: 10 }, 130n],
  ['more than is read at once in one block', { dust: BEYOND_BYTES, blocks: 1 }, 130n],
  [
    'more than a node shows at once, which it says as if for want of quota',
    { dust: BEYOND_RESULTS, blocks: 10, refusal: refusal(-32005, 'query returned more than 10000 results') },
    2_500n,
  ],
  [
    'more than a node shows at once, which it says in its own words',
    { dust: BEYOND_RESULTS, blocks: 10, refusal: refusal(-32602, 'that is too much, ask for less') },
    2_500n,
  ],
] as const)
  test(`E38: all transfers to a till are found where they are ${how}`, async (t) => {
    const rpc = await crowdedNode(t, crowd)
    const found = await transfersTo(rpc, { token: TOKEN, to: TILL }, 1n, last)
    assert.equal(new Set(found.map(({ logIndex }) => logIndex)).size, crowd.dust)
    assert.equal(found.length, crowd.dust)
    assert.ok(rpc.standing().every(({ isUp }) => isUp))
  })

// A node that searches a busy token for longer than its gateway, or we, have time: it will next time, too.
for (const [how, crowd] of [
  ['has no answer in time', { dust: 320, blocks: 10, silentBeyond: 100, patienceMs: 1_000 }],
  [
    'is called off by its gateway',
    { dust: 320, blocks: 10, refusal: { above: 160, code: -32005, message: 'query timeout exceeded' } },
  ],
] as const)
  test(`E38: all transfers to a till are found where a search of many blocks ${how}`, async (t) => {
    const rpc = await crowdedNode(t, crowd)
    const found = await transfersTo(rpc, { token: TOKEN, to: TILL }, 1n, 1_500n)
    assert.equal(new Set(found.map(({ logIndex }) => logIndex)).size, crowd.dust)
    assert.equal(found.length, crowd.dust)
    assert.ok(rpc.standing().every(({ isUp }) => isUp))
  })
