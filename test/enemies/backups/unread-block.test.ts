import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { plainTransports } from '../../support/shop.ts'
import { buyAfterBackup, HELD } from './purchase-after-backup.ts'

// The first of two honest nodes has thrown old blocks away, and refuses to search from where an older copy of the store ends (E107). The other one is a block
// behind it, as it always is (E102): the newest block was read by nobody. So it is when the first one answers all but
// searches, for want of time or quota, and the other one is asked in its place.

const TEMPO = 42431

for (const [title, failure] of [
  [
    'E114: a spent payment in a block that only the first of two nodes has, which refuses to be searched, does not buy again after a backup was put back',
    new Refused({ code: -32000, message: 'history has been pruned for this block' }),
  ],
  [
    'E115: a spent payment in a block that only the first of two nodes has, which has no time to be searched, does not buy again after a backup was put back',
    new Error('no answer within 8000 ms'),
  ],
] as const)
  test(title, async (t) => {
    const { shop, putBack, again } = await buyAfterBackup(t)
    const { tempo } = shop.chains
    const [first, other] = [createMeddler(), createMeddler()]
    const heal = first.meddle('eth_getLogs', (_params, ask, chainId) => {
      if (chainId === TEMPO) throw failure
      return ask()
    })
    other.meddle('eth_getBlockByNumber', async ([tag], ask, chainId) => {
      if (chainId !== TEMPO || tag !== 'latest') return ask()
      const behind = Number(await tempo.request({ method: 'eth_blockNumber' })) - 1
      return tempo.request({ method: 'eth_getBlockByNumber', params: [`0x${behind.toString(16)}`, false] })
    })
    other.meddle('eth_getLogs', async (_params, ask, chainId) => {
      const shown = (await ask()) as readonly { readonly blockNumber: string }[]
      const newest = Number(await tempo.request({ method: 'eth_blockNumber' }))
      return shown.filter(({ blockNumber }) => chainId !== TEMPO || Number(blockNumber) < newest)
    })
    const nodes = [...plainTransports(shop.chains)].map(([chainId, plain]) => {
      const honest = plain as RpcTransport
      return [chainId, [first, other].map((node) => node.wrap(chainId, honest))] as const
    })
    const { url } = await putBack(new Map(nodes))
    heal()
    assert.deepEqual(await again(url), HELD)
  })
