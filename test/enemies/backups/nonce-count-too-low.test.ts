import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { silentLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { buy, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { withTreasury } from '../../support/configured.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openBackup } from '../../support/database.ts'
import { startShop } from '../../support/shop.ts'

test('E57: one of two nodes that counts too few does not hide a refund that the store has forgotten', async (t) => {
  let counted: string | null = null
  const low =
    (transport: RpcTransport): RpcTransport =>
    async (request, max) => {
      const answer = await transport(request, max)
      const isOld = String(request.params[0]).toLowerCase() === demoAddressOf('treasury').toLowerCase()
      if (counted === null || request.method !== 'eth_getTransactionCount' || !isOld) return answer
      return { ...(answer as object), result: counted }
    }
  const shop = await startShop({ withoutWorker: true, wrapTransport: (_id, one) => [low(one), one] })
  const backup = await openBackup()
  t.after(async () => {
    await shop.stop()
    await backup.drop()
  })
  const buyer = await fundedWallet(shop)
  const { body } = await buy(shop, x402UnderTest, buyer)
  await copyDatabase(shop.store.db, backup.db, silentLog)
  const before = await x402UnderTest.balance(shop, buyer.address)
  const params = [demoAddressOf('treasury'), 'latest']
  counted = (await shop.chains.native.request({ method: 'eth_getTransactionCount', params })) as string
  await refundOrder(shop.service.checkout, body.orderId, { reason: 'late', by: 'ada' })
  const key = generatePrivateKey()
  await fundedWallet(shop, 1_000n, privateKeyToAccount(key))
  const restored = await shop.replica({ database: backup.db, configure: withTreasury(new Secret(key)) })
  await refundOrder(restored.checkout, body.orderId, { reason: 'late', by: 'bob' })
  assert.equal(await x402UnderTest.balance(shop, buyer.address), before + LOT_PRICE)
})
