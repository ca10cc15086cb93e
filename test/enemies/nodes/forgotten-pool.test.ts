import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ended, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { buyUrl, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// A node that takes transactions and forgets them all: it was restarted, or its pool is full of somebody else's.

const BUYERS = 8
const FORGOTTEN = 30

test('a node that forgets its pool again and again delays purchases, and loses none', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({
    blockTimeMs: 150,
    wrapTransport: meddler.wrap,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 300, receiptWaitMs: 1_500 } }),
  })
  t.after(() => shop.stop())
  const rail = x402UnderTest
  const paid = []
  for (let n = 0; n < BUYERS; n++) paid.push(await payFor(shop, rail, await fundedWallet(shop)))
  let taken = 0
  meddler.meddle('eth_sendRawTransaction', async (_params, ask) => {
    const hash = await ask()
    if (++taken <= FORGOTTEN) await shop.chains.native.request({ method: 'dev_dropPool' })
    return hash
  })
  const answers = await Promise.all(
    paid.map(({ request, credential }) => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))),
  )
  const orderIds = await Promise.all(answers.map(async (answer) => (await said(answer)).orderId))
  for (const orderId of orderIds) assert.equal((await ended(shop, 'x402', orderId)).status, 'confirmed')
  assert.ok(taken > FORGOTTEN)
  // However often it was sent, each landed once.
  assert.equal(await rail.till(shop), BigInt(BUYERS) * 250_000n)
})
