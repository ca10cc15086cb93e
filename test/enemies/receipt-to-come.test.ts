import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hash } from '../../src/base/address.ts'
import { said } from '../checkout/counter.ts'
import { payingCall } from '../checkout/mpp-wallet.ts'
import { nftsOf } from '../crash/flows.ts'
import { drop } from './by-hand.ts'
import { startPull } from './pull.ts'

// E122, and the second of two nodes shows the receipt in a block that the first one has not come to.

test('E141: a pull that the chain has dropped does not buy because the second of two nodes shows its receipt in a block to come', async (t) => {
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
  const receipt = (await tempo.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as object
  await drop(tempo, hash)
  for (const speak of silent) speak()
  other.meddle('eth_getTransactionReceipt', ([asked], ask) =>
    asked === hash ? { ...receipt, blockNumber: '0xffffff' } : ask(),
  )
  const statuses: string[] = []
  for (let look = 0; look < 3; look++) statuses.push((await stepLater(orderId)).status)
  const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, wallet.address)
  assert.deepEqual({ taken: await taken(), nfts }, { taken: 0n, nfts: 0 }, statuses.join())
})
