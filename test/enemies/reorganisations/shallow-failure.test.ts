import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generatePrivateKey } from 'viem/accounts'
import type { Hash } from '../../../src/base/address.ts'
import { usd } from '../../../src/base/money.ts'
import { Secret } from '../../../src/base/secret.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { movableClock, type Said, said, setLot } from '../../checkout/counter.ts'
import { encoded, paymentFor, preempt, requiredOf } from '../../checkout/x402-wallet.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { buyByHand, step, withChains } from '../support/stepped-shop.ts'

// A payment that failed on the chain is judged when its block lies deep. Until then its payer has time: to let the payment run out, to change
// what it failed for, and to keep from others what was set aside for it.

const BLOCKS = 3n

async function startDeep(t: TestContext, confirmations = 1) {
  const clock = movableClock()
  const stage: { waypoint: Waypoint } = { waypoint: noWaypoint }
  const shop = await startShop({
    clock,
    withoutWorker: true,
    waypoint: (name) => stage.waypoint(name),
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 }
      const x402 = { ...config.x402!, confirmations: [{ fromAmount: usd(0n), blocks: confirmations }] }
      return withChains({ ...config, limits, x402 }, { burial: { blocks: BLOCKS, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  const wait = (ms: number) => clock.move(ms)
  return { shop, stage, clock, wait }
}

const ask = ({ chains }: TestShop, chain: 'native' | 'tempo', method: string, ...params: unknown[]) =>
  chains[chain].request({ method, params })

const url = (shop: TestShop) => `${shop.url}/agentic/x402/buy`

async function waiting(response: Response): Promise<Said> {
  assert.equal(response.status, 202)
  return said(response)
}

const CHAINS = [
  { rail: x402UnderTest, chain: 'native', tokenOf: ({ config }: TestShop) => config.x402!.asset },
  { rail: mppPullUnderTest, chain: 'tempo', tokenOf: ({ config }: TestShop) => config.mpp!.currency.address },
] as const

for (const { rail, chain, tokenOf } of CHAINS) {
  test(`E44: a payment by ${rail.name} that reverted just before the chain stood still is not free because its time is over`, async (t) => {
    const { shop, wait } = await startDeep(t)
    const buyer = await fundedWallet(shop)
    const before = await rail.till(shop)
    await ask(shop, chain, 'dev_fault', { kind: 'revert', to: tokenOf(shop) })
    const { body } = await buy(shop, rail, buyer)
    wait(1_000_000)
    await ask(shop, chain, 'evm_mine')
    assert.equal((await step(shop, body.orderId)).status, 'settling')
    await ask(shop, chain, 'dev_reorg', '0x2')
    assert.equal(await rail.till(shop), before + 250_000n)
    assert.equal((await step(shop, body.orderId)).status, 'settled')
  })

  test(`F-04: a payment by ${rail.name} that failed keeps nothing from others while its block is young`, async (t) => {
    const { shop } = await startDeep(t)
    await setLot(shop, 777, { price: '0.25', supply: 1n })
    const [enemy, honest] = [await fundedWallet(shop), await fundedWallet(shop)]
    await ask(shop, chain, 'dev_fault', { kind: 'revert', to: tokenOf(shop) })
    const { body } = await buy(shop, rail, enemy, { saleId: 777 })
    assert.equal(body.status, 'settling')
    await buyByHand(shop, rail, honest, { saleId: 777 })
  })
}

test('E44: nor is it free because another key settles by now', async (t) => {
  const { shop, wait } = await startDeep(t)
  const buyer = await fundedWallet(shop)
  await ask(shop, 'native', 'dev_fault', { kind: 'revert', to: shop.config.x402!.asset })
  const { body } = await buy(shop, x402UnderTest, buyer)
  const settlerKey = new Secret(generatePrivateKey())
  const service = await shop.replica({
    configure: (config) => ({ ...config, x402: { ...config.x402!, facilitator: { kind: 'inproc', settlerKey } } }),
  })
  wait(1_000_000)
  await ask(shop, 'native', 'evm_mine')
  assert.equal((await step({ ...shop, service }, body.orderId)).status, 'settling')
})

test('F-04: nor does one that its payer spent elsewhere', async (t) => {
  const { shop, stage } = await startDeep(t)
  await setLot(shop, 777, { price: '0.25', supply: 1n })
  const [enemy, honest] = [await fundedWallet(shop), await fundedWallet(shop)]
  const body = { saleId: 777, beneficiary: enemy.address }
  const required = requiredOf(await fetch(url(shop), post(body)))
  const nonce: Hash = generatePrivateKey()
  const payment = await paymentFor(enemy, required, { authorization: { nonce } })
  const elsewhere = await paymentFor(enemy, required, { authorization: { nonce, to: honest.address, value: '1' } })
  stage.waypoint = async (name) => {
    if (name !== 'settle.begun') return
    stage.waypoint = noWaypoint
    await preempt(shop, elsewhere)
  }
  await waiting(await fetch(url(shop), post(body, { 'payment-signature': encoded(payment) })))
  await buyByHand(shop, x402UnderTest, honest, { saleId: 777 })
})
