import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { buy, LOT_PRICE } from '../../operations/desk.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { plainTransports } from '../../support/shop.ts'
import { untilAnswered } from '../../support/until.ts'
import { startWithBackup, step } from '../support/stepped-shop.ts'

// The last block before a backup was put back holds a refund that the backup does not know. The first of two honest nodes has thrown old blocks away, and
// refuses to search (E117), or has no time to. The other one is a block behind it, as it always is (E102).

for (const [title, failure] of [
  ['which refuses to be searched', new Refused({ code: -32000, message: 'history has been pruned for this block' })],
  ['which has no time to be searched', new Error('no answer within 8000 ms')],
] as const)
  test(`E121: a refund in a block that only the first of two nodes has, ${title}, is not made again after a backup was put back`, async (t) => {
    const { shop, backup, buyer } = await startWithBackup(t)
    const { native } = shop.chains
    const { body } = await buy(shop, rail, buyer)
    await copyDatabase(shop.store.db, backup, silentLog)
    const before = await rail.balance(shop, buyer.address)
    const { refund } = await refundOrder(shop.service.checkout, body.orderId, { reason: 'late', by: 'ada' })
    const mine = () => native.request({ method: 'evm_mine', params: [] })
    const oneBehind = async () => Number(await native.request({ method: 'eth_blockNumber' })) - 1
    const [first, other] = [createMeddler(), createMeddler()]
    let hasSearched = false
    first.meddle('eth_getLogs', (_params, ask, chainId) => {
      if (chainId !== native.chainId) return ask()
      hasSearched = true
      throw failure
    })
    other.meddle('eth_blockNumber', async (_params, ask, chainId) =>
      chainId === native.chainId ? `0x${(await oneBehind()).toString(16)}` : ask(),
    )
    other.meddle('eth_getTransactionCount', async ([address, tag], ask, chainId) => {
      if (chainId !== native.chainId || tag !== 'latest') return ask()
      const behind = `0x${(await oneBehind()).toString(16)}`
      return native.request({ method: 'eth_getTransactionCount', params: [address, behind] })
    })
    other.meddle('eth_getLogs', async (_params, ask, chainId) => {
      const shown = (await ask()) as readonly { readonly blockNumber: string }[]
      const newest = await oneBehind()
      return chainId === native.chainId ? shown.filter(({ blockNumber }) => Number(blockNumber) <= newest) : shown
    })
    for (const node of [first, other])
      node.meddle('eth_call', async (_params, ask, chainId) => {
        // The next block is made between the search and the signature.
        if (chainId === native.chainId && hasSearched) await mine()
        return ask()
      })
    const nodes = [...plainTransports(shop.chains)].map(([chainId, plain]) => {
      const honest = plain as RpcTransport
      return [chainId, [first, other].map((node) => node.wrap(chainId, honest))] as const
    })
    const restored = await shop.replica({
      database: backup,
      configure: (config) => ({ ...config, limits: { ...config.limits, leaseSeconds: 1, waitMsMax: 500 } }),
      transports: new Map(nodes),
    })
    hasSearched = false
    await refundOrder(restored.checkout, body.orderId, { reason: 'late', by: 'bob' })
    const again = await untilAnswered(async () => {
      await mine()
      const order = await step({ store: { ...shop.store, db: backup }, service: restored }, body.orderId)
      return order.status === 'refunded' ? order : null
    })
    assert.ok(refund?.transaction)
    assert.deepEqual(
      { refunded: await rail.balance(shop, buyer.address), by: again.refund?.transaction },
      { refunded: before + LOT_PRICE, by: refund.transaction },
    )
  })
