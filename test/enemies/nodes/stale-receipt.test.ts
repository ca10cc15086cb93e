import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hash } from '../../../src/base/address.ts'
import { said } from '../../checkout/counter.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { nftsOf } from '../../crash/flows.ts'
import { startPull } from '../support/pull-payment.ts'
import { drop } from '../support/stepped-shop.ts'

// A block with a payment in it is replaced by one without it while the shop is away. A gateway before the second of two nodes keeps what it has shown of a
// transaction; or that node has stayed on the other branch, or makes it up. The first one has forgotten nothing: there is no such payment.

type Receipt = { readonly blockNumber: string }

/** Nobody shows the payment while it is on the chain; then the chain drops it, and the second node shows this. */
async function droppedPull(t: TestContext, shownAs: (receipt: Receipt) => Receipt) {
  const { shop, meddler, other, tempo, wallet, challenge, send, stepLater, taken } = await startPull(t)
  const silent = ['eth_getTransactionReceipt', 'eth_getLogs'].flatMap((method) =>
    [meddler, other].map((node) =>
      node.meddle(method, () => {
        throw new Error('nobody answers')
      }),
    ),
  )
  const signature = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  const { orderId } = await said(await send({ type: 'transaction', signature }))
  const { rows } = await shop.store.db.query<{ hash: Hash }>(
    `select authorization_data ->> 'hash' as hash from orders where id = $1`,
    [orderId],
  )
  const { hash } = rows[0]!
  const receipt = (await tempo.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as Receipt | null
  assert.ok(receipt)
  await drop(tempo, hash)
  for (const speak of silent) speak()
  const forget = other.meddle('eth_getTransactionReceipt', ([asked], ask) =>
    asked === hash ? shownAs(receipt) : ask(),
  )
  return {
    async buysNothing() {
      const statuses: string[] = []
      for (let look = 0; look < 3; look++) statuses.push((await stepLater(orderId)).status)
      const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, wallet.address)
      assert.deepEqual({ taken: await taken(), nfts }, { taken: 0n, nfts: 0 }, statuses.join())
      forget()
      assert.equal((await stepLater(orderId)).status, 'expired')
    },
  }
}

test('E122: a pull that the chain has dropped does not buy because the second of two nodes still shows its receipt', async (t) => {
  const pull = await droppedPull(t, (receipt) => receipt)
  await pull.buysNothing()
})

test('E141: nor because it shows it in a block that the first one has not come to', async (t) => {
  const pull = await droppedPull(t, (receipt) => ({ ...receipt, blockNumber: '0xffffff' }))
  await pull.buysNothing()
})
