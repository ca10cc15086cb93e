import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, type Hex, toHex } from '../../../src/base/hex.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import { silentLog } from '../../../src/base/log.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { buy, impatiently, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openBackup } from '../../support/database.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'
import { step } from '../support/stepped-shop.ts'

// E65, and the refund that the copy has forgotten is in no block yet when the copy is put back: another one is signed under its nonce, and loses it.

test('E93: a refund that the store has forgotten is not sent again because another one was signed under its nonce', async (t) => {
  const rail = x402UnderTest
  const held: Hex[] = []
  let isHeld = false
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: (_chainId, transport) => async (request, max) => {
      if (!isHeld || request.method !== 'eth_sendRawTransaction') return transport(request, max)
      const raw = request.params[0] as Hex
      held.push(raw)
      return { jsonrpc: '2.0', id: request.id, result: toHex(keccak256(fromHex(raw))) }
    },
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 },
    }),
  })
  const backup = await openBackup()
  t.after(async () => {
    await shop.stop()
    await backup.drop()
  })
  const buyers = [await fundedWallet(shop), await fundedWallet(shop)]
  const orderIds: string[] = []
  for (const buyer of buyers) orderIds.push((await buy(shop, rail, buyer)).body.orderId)
  const [forgotten, other] = orderIds as [string, string]
  await copyDatabase(shop.store.db, backup.db, silentLog)
  const before = await rail.balance(shop, buyers[0]!.address)
  const refund = ({ checkout }: Service, id: string) => refundOrder(checkout, id, { reason: 'late', by: 'bob' })
  isHeld = true
  await refund(shop.service, forgotten)
  const [first] = held
  const service = await shop.replica({ database: backup.db, configure: impatiently })
  const restored = { service, store: { ...shop.store, db: backup.db } }
  await refund(service, other)
  isHeld = false
  await shop.chains.native.request({ method: 'eth_sendRawTransaction', params: [first] })
  for (let look = 0; look < 5; look++) await step(restored, other)
  assert.equal((await service.checkout.orders.byId(other))?.status, 'refunded')
  await refund(service, forgotten)
  for (let look = 0; look < 5; look++) await step(restored, forgotten)
  assert.equal(await rail.balance(shop, buyers[0]!.address), before + LOT_PRICE)
})
