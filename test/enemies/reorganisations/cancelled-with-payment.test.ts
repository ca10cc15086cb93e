import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount } from 'viem/accounts'
import { Secret } from '../../../src/base/secret.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { transfers } from '../../crash/flows.ts'
import { buy, LOT_PRICE, letRunOut, reconcileRail, type Sold } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { saleTokensOf } from '../../support/chain-reads.ts'
import { edited, mppPullUnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { drop, hashOf, withChains } from '../support/stepped-shop.ts'

// The chain drops a payment together with what was sent for it, a delivery or a refund, which is cancelled. Then its payer brings it back.

let shop: TestShop
const rail = mppPullUnderTest
before(async () => {
  const configure = (config: TestShop['config']) =>
    withChains({ ...config, limits: { ...config.limits, receiptWaitMs: 500 } }, { burial: { blocks: 3n, ms: 0 } })
  shop = await startShop({ withoutWorker: true, configure })
})
after(() => shop.stop())

type Chain = TestShop['chains']['native']

const refunds = (owner: PrivateKeyAccount) => transfers(shop, rail, demoAddressOf('treasury'), owner.address)

/** So often that a cancellation lies deep at the end. */
async function look(chain: Chain): Promise<void> {
  for (let times = 0; times < 4; times++) {
    await reconcileRail(shop, rail)
    await chain.request({ method: 'evm_mine' })
  }
}

const named = async (of: Pick<TestShop, 'service'> = shop) =>
  (await reconcileRail(of, rail)).items.map(({ kind }) => kind)

async function bringBack({ credential }: Sold): Promise<void> {
  let raw = ''
  edited(credential, ({ payload }) => {
    raw = (payload as unknown as { signature: string }).signature
  })
  await shop.chains.tempo.request({ method: 'eth_sendRawTransaction', params: [raw] })
}

/** Until its payment counts as lost. */
async function lose(orderId: string, chain: Chain): Promise<void> {
  await look(chain)
  await letRunOut(shop, orderId)
  await look(chain)
}

/** A purchase that lost its payment and its token. */
async function buyAndLose(buyer: PrivateKeyAccount): Promise<Sold> {
  const sold = await buy(shop, rail, buyer)
  const { orderId, paymentTx } = sold.body
  await reconcileRail(shop, rail)
  await drop(shop.chains.tempo, paymentTx)
  await drop(shop.chains.native, await hashOf(shop, orderId, 'mint'))
  await lose(orderId, shop.chains.native)
  assert.equal(await saleTokensOf(shop, buyer), 0)
  return sold
}

test('E55: a delivery that was cancelled with its payment is delivered when that is back', async () => {
  const buyer = await fundedWallet(shop)
  const till = await rail.till(shop)
  const sold = await buyAndLose(buyer)
  assert.equal(await rail.till(shop), till)
  await bringBack(sold)
  for (let times = 0; times < 3; times++) await reconcileRail(shop, rail)
  const { status } = (await shop.service.checkout.orders.byId(sold.body.orderId))!
  assert.equal(await rail.till(shop), till + LOT_PRICE)
  assert.deepEqual(
    { tokens: await saleTokensOf(shop, buyer), status, named: await named() },
    { tokens: 1, status: 'confirmed', named: [] },
  )
})

test('E55: a refund that was cancelled with its payment is sent when that is back, once', async () => {
  const buyer = await fundedWallet(shop)
  const sold = await buy(shop, rail, buyer)
  const { orderId, paymentTx } = sold.body
  await refundOrder(shop.service.checkout, orderId, { reason: 'a test', by: 'ada' })
  await reconcileRail(shop, rail)
  await drop(shop.chains.tempo, paymentTx, await hashOf(shop, orderId, 'refund'))
  await lose(orderId, shop.chains.tempo)
  assert.deepEqual([await refunds(buyer), await named()], [[], ['lost']])
  await bringBack(sold)
  for (let times = 0; times < 3; times++) await reconcileRail(shop, rail)
  assert.deepEqual([await refunds(buyer), await named()], [[LOT_PRICE], []])
})

test('E55: what was cancelled and lost its payment takes no place among what is looked after', async () => {
  const sold = await buyAndLose(await fundedWallet(shop))
  const watched = async () => {
    const { rows } = await shop.store.db.query<{ n: number }>(
      'select count(*)::int as n from sends where order_id = $1 and landed_block is not null and not buried',
      [sold.body.orderId],
    )
    return rows[0]!.n
  }
  assert.deepEqual([await watched(), await named()], [0, ['lost']])
  await bringBack(sold)
  await reconcileRail(shop, rail)
  assert.equal(await watched(), 1)
  await reconcileRail(shop, rail)
})

test('E55: a delivery whose key was rotated away meanwhile is named when its payment is back', async () => {
  const sold = await buyAndLose(await fundedWallet(shop))
  const minterKey = new Secret(generatePrivateKey())
  const service = await shop.replica({
    configure: ({ game, ...config }) => ({ ...config, game: { ...game, sale: { ...game.sale!, minterKey } } }),
  })
  assert.deepEqual(await named({ service }), ['lost'])
  await bringBack(sold)
  for (let times = 0; times < 3; times++) assert.deepEqual(await named({ service }), ['delivery_missing'])
  await reconcileRail(shop, rail)
})

test('E55: a payment that is gone once more takes the second delivery with it', async () => {
  const buyer = await fundedWallet(shop)
  const { native, tempo } = shop.chains
  const sold = await buyAndLose(buyer)
  await bringBack(sold)
  await native.request({ method: 'dev_fault', params: [{ kind: 'stick', to: shop.world.contracts.sale }] })
  await reconcileRail(shop, rail)
  assert.ok(await hashOf(shop, sold.body.orderId, 'mint.2'))
  await drop(tempo, sold.body.paymentTx)
  await lose(sold.body.orderId, native)
  await native.request({ method: 'dev_clearFaults' })
  await native.request({ method: 'evm_mine' })
  assert.deepEqual([await saleTokensOf(shop, buyer), await named()], [0, ['lost']])
})
