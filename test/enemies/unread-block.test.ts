import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RpcTransport } from '../../src/chain/transport.ts'
import { createMeddler, Refused } from '../checkout/meddler.ts'
import { plainTransports } from '../support/shop.ts'
import { buyAfterBackup, HELD } from './put-back.ts'

// The first of two honest nodes has thrown old blocks away, and refuses to search from where an older copy of the store ends (E107). The other one is a block
// behind it, as it always is (E102): the newest block was read by nobody.

const TEMPO = 42431

test('E114: a spent payment in a block that only the first of two nodes has, which refuses to be searched, does not buy again after a backup was put back', async (t) => {
  const { shop, putBack, again } = await buyAfterBackup(t)
  const { tempo } = shop.chains
  const [first, other] = [createMeddler(), createMeddler()]
  const heal = first.meddle('eth_getLogs', (_params, ask, chainId) => {
    if (chainId === TEMPO) throw new Refused({ code: -32000, message: 'history has been pruned for this block' })
    return ask()
  })
  other.meddle('eth_getBlockByNumber', async ([tag], ask, chainId) => {
    if (chainId !== TEMPO || tag !== 'latest') return ask()
    const behind = Number(await tempo.request({ method: 'eth_blockNumber' })) - 1
    return tempo.request({ method: 'eth_getBlockByNumber', params: [`0x${behind.toString(16)}`, false] })
  })
  const nodes = [...plainTransports(shop.chains)].map(([chainId, plain]) => {
    const honest = plain as RpcTransport
    return [chainId, [first, other].map((node) => node.wrap(chainId, honest))] as const
  })
  const { url } = await putBack(new Map(nodes))
  heal()
  assert.deepEqual(await again(url), HELD)
})
