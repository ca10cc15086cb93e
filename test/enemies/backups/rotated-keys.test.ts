import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { silentLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import type { Config } from '../../../src/config/config.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { buy, buyUrl, impatiently, LOT, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { withTreasury } from '../../support/configured.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { untilAnswered } from '../../support/until.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// C-12 and E51 together: a backup from before a refund or a delivery, put back after the key that sent it was replaced.

const withMinter = (minterKey: Secret) => (config: Config) =>
  impatiently({ ...config, game: { ...config.game, sale: { ...config.game.sale!, minterKey } } })

for (const rail of [x402UnderTest, mppPullUnderTest])
  for (const { past, hasPaidBack } of [
    { past: 'had paid back before', hasPaidBack: true },
    { past: 'had never paid back before', hasPaidBack: false },
  ])
    test(`E57: a refund by ${rail.name} of a key that ${past}, and that the store has forgotten, is found by its successor`, async (t) => {
      const { shop, backup, buyer } = await startWithBackup(t)
      const { checkout } = shop.service
      if (hasPaidBack) {
        const first = await buy(shop, rail, buyer)
        await refundOrder(checkout, first.body.orderId, { reason: 'late', by: 'ada' })
      }
      const { body } = await buy(shop, rail, buyer)
      await copyDatabase(shop.store.db, backup, silentLog)
      const before = await rail.balance(shop, buyer.address)
      const { refund } = await refundOrder(checkout, body.orderId, { reason: 'late', by: 'ada' })
      const key = generatePrivateKey()
      await fundedWallet(shop, 1_000n, privateKeyToAccount(key))
      const restored = await shop.replica({
        database: backup,
        configure: withTreasury(new Secret(key)),
        withoutWorker: false,
      })
      await refundOrder(restored.checkout, body.orderId, { reason: 'late', by: 'bob' })
      // On a busy machine its short lease may run out, and then the worker ends it.
      const again = await untilAnswered(async () => {
        const order = await restored.checkout.orders.byId(body.orderId)
        return order?.status === 'refunded' ? order : null
      })
      assert.equal(await rail.balance(shop, buyer.address), before + LOT_PRICE)
      assert.ok(refund?.transaction)
      assert.equal(again.refund?.transaction, refund.transaction)
    })

test('E57: a mint by a key that was replaced shows that the store is an older copy of itself', async (t) => {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  // As a disk that was taken back, and nobody sold when it was: nothing but the keys can tell.
  await backup.query(`update tills set birth = store_birth() || ' '`)
  await backup.query('delete from witnesses')
  const { credential, response } = await buy(shop, mppPushUnderTest, buyer)
  assert.equal(response.status, 200)
  const restored = await shop.replica({
    database: backup,
    configure: withMinter(new Secret(generatePrivateKey())),
  })
  const request = { ...LOT, beneficiary: buyer.address }
  const again = await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
  assert.equal(((await again.json()) as { code: string }).code, 'payment_conflict')
})

test('E57: a key that was emptied by hand makes a shop doubt its books once, and not at every start', async (t) => {
  const { shop, buyer } = await startWithBackup(t)
  const { minterKey } = shop.config.game.sale!
  assert.ok(minterKey instanceof Secret)
  await buy(shop, mppPushUnderTest, buyer)
  await shop.chains.native.request({
    method: 'eth_sendRawTransaction',
    params: [
      await privateKeyToAccount(minterKey.reveal() as `0x${string}`).signTransaction({
        chainId: shop.chains.native.chainId,
        nonce: 1,
        to: buyer.address,
        value: 1n,
        gas: 21_000n,
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 1n,
      }),
    ],
  })
  const answers: number[] = []
  for (let starts = 0; starts < 2; starts++) {
    const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
    const { url } = await shop.replica()
    const sent = await fetch(buyUrl({ ...shop, url }, mppPushUnderTest), post(request, { authorization: credential }))
    answers.push(sent.status)
  }
  assert.deepEqual(answers, [409, 200])
})
