import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import type { Config } from '../../../src/config/config.ts'
import { verdict } from '../../checkout/counter.ts'
import { startFacilitator } from '../../checkout/fake-facilitator.ts'
import { encoded, paymentFor, requiredOf, sendFrom } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// Strikes are counted when an order ends. What a wallet has open by then is sent without them.

/** Takes every signature; an empty call turns its mood, and in the other one it burns all there is. */
const MOODY: Hex = `0x36600a575f54155f55005b5f546037577f${'1626ba7e'.padEnd(64, '0')}5f5260205ff35bfe`
const SIGNATURE: Hex = `0x${'5c'.repeat(96)}`

const anybody = () => privateKeyToAccount(generatePrivateKey())

async function startWithWallet(t: TestContext, configure = (config: Config): Config => config) {
  let waypoint: Waypoint = noWaypoint
  const shop = await startShop({ waypoint: (name) => waypoint(name), configure })
  t.after(() => shop.stop())
  const wallet = await fundedWallet(shop, 50n)
  await nativeCall(shop, 'dev_setCode', wallet.address, MOODY)
  const url = `${shop.url}/agentic/x402/buy`
  const buy = async () => {
    const body = { saleId: 392, beneficiary: anybody().address }
    const { payload, ...payment } = await paymentFor(wallet, requiredOf(await fetch(url, post(body))))
    const signed = { ...payment, payload: { ...payload, signature: SIGNATURE } }
    return verdict(await fetch(url, post(body, { 'payment-signature': encoded(signed) })))
  }
  /** All of them at once: none is settled before each is open or refused. */
  const buyAtOnce = async (count: number, meanwhile: () => Promise<unknown>) => {
    const gate = Promise.withResolvers<void>()
    let decided = 0
    waypoint = async (name) => {
      if (name !== 'settle.begun') return
      decided++
      await gate.promise
    }
    const buying = Array.from({ length: count }, async () => {
      const said = await buy()
      decided++
      return said
    })
    await until(async () => decided >= count)
    await meanwhile()
    gate.resolve()
    return Promise.all(buying)
  }
  return { shop, wallet, buy, buyAtOnce }
}

test('M-24: a wallet that burns the gas of its settlements, all at once, does so three times and no more', async (t) => {
  const { shop, wallet, buyAtOnce } = await startWithWallet(t)
  const turn = () => sendFrom(shop.chains.native, anybody(), wallet.address, '0x')
  const answers = await buyAtOnce(20, turn)
  assert.equal(answers.filter(([status]) => status === 429).length, 17)
  const { rows } = await shop.store.db.query<{ settlements: number }>(
    `select count(*)::int as settlements from sends s join orders o on o.id = s.order_id where s.step = 'settle' and lower(o.payer) = lower($1)`,
    [wallet.address],
  )
  assert.deepEqual(rows, [{ settlements: 3 }])
})

test('M-24: one that has bought before has as many open as others', async (t) => {
  const { buy, buyAtOnce } = await startWithWallet(t)
  assert.deepEqual(await buy(), [200, undefined])
  const answers = await buyAtOnce(5, async () => {})
  assert.deepEqual(answers, Array(5).fill([200, undefined]))
})

test('M-24: nor are they fewer where a facilitator settles, whose gas it is', async (t) => {
  let shop: TestShop
  const facilitator = await startFacilitator(() => shop)
  t.after(() => facilitator.close())
  const started = await startWithWallet(t, (config) => ({
    ...config,
    x402: { ...config.x402!, facilitator: { kind: 'remote', url: facilitator.url, headers: {} } },
  }))
  shop = started.shop
  const answers = await started.buyAtOnce(5, async () => {})
  assert.deepEqual(answers, Array(5).fill([200, undefined]))
})
