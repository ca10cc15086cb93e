import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { createMeddler, type Meddler, Refused } from '../../checkout/meddler.ts'
import { buy } from '../../operations/desk.ts'
import { hurried } from '../../support/configured.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { plainTransports, type TestShop } from '../../support/shop.ts'
import { forget } from '../support/pruned-nodes.ts'
import { startWithBackup, step } from '../support/stepped-shop.ts'

// A backup was put back that does not know of a refund, and that very refund is asked for again. The first of two nodes does not show it.

async function startRestored(t: TestContext) {
  const { shop, backup, buyer } = await startWithBackup(t)
  const { native } = shop.chains
  const { body } = await buy(shop, rail, buyer)
  await copyDatabase(shop.store.db, backup, silentLog)
  const { refund } = await refundOrder(shop.service.checkout, body.orderId, { reason: 'late', by: 'ada' })
  assert.ok(refund?.transaction)
  const balance = await rail.balance(shop, buyer.address)
  for (let mined = 0; mined < 20; mined++) await native.request({ method: 'evm_mine', params: [] })
  const [first, other] = [createMeddler(), createMeddler()]
  const nodes = [...plainTransports(shop.chains)].map(([chainId, plain]) => {
    const honest = plain as RpcTransport
    return [chainId, [first, other].map((node) => node.wrap(chainId, honest))] as const
  })
  const restored = await shop.replica({ database: backup, configure: hurried, transports: new Map(nodes) })
  const look = () => step({ store: { ...shop.store, db: backup }, service: restored }, body.orderId)
  return {
    shop,
    first,
    other,
    transaction: refund.transaction,
    refundAgain: () => refundOrder(restored.checkout, body.orderId, { reason: 'late', by: 'bob' }),
    /** What became of it, and what its payer has got beside the refund of before. */
    async end() {
      for (let looks = 0; looks < 3; looks++) await look()
      const { status, refund: found } = await look()
      return { status, by: found?.transaction, beside: (await rail.balance(shop, buyer.address)) - balance }
    },
  }
}

for (const [title, hide] of [
  ['has thrown it away', (node: Meddler, _hash: Hash, shop: TestShop) => forget(node, shop)],
  [
    'is slow to show it by its hash',
    (node: Meddler, hash: Hash) =>
      ['eth_getTransactionByHash', 'eth_getTransactionReceipt'].map((method) =>
        node.meddle(method, ([asked], ask) => (asked === hash ? null : ask())),
      ),
  ],
] as const)
  test(`E135: a refund that the chain shows is not made again after a backup was put back because the first of two nodes ${title}`, async (t) => {
    const { shop, first, transaction, refundAgain, end } = await startRestored(t)
    const hidden = hide(first, transaction, shop)
    await refundAgain()
    assert.equal((await end()).beside, 0n)
    for (const show of hidden) show()
    assert.deepEqual(await end(), { status: 'refunded', by: transaction, beside: 0n })
  })

for (const [title, failure] of [
  ['refuses to be searched', new Refused({ code: -32000, message: 'the index of logs is being built' })],
  ['has no time to be searched', new Error('no answer within 8000 ms')],
] as const)
  test(`E136: nor because the first one says that nothing is in blocks that it has thrown away, and the other ${title}`, async (t) => {
    const { shop, first, other, transaction, refundAgain, end } = await startRestored(t)
    forget(first, shop)
    const search = other.meddle('eth_getLogs', () => {
      throw failure
    })
    await refundAgain()
    assert.equal((await end()).beside, 0n)
    search()
    assert.deepEqual(await end(), { status: 'refunded', by: transaction, beside: 0n })
  })
