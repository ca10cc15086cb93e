import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { movableClock, said, setLot } from '../../checkout/counter.ts'
import { startFacilitator } from '../../checkout/fake-facilitator.ts'
import { encoded, paymentFor, preempt, requiredOf } from '../../checkout/x402-wallet.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { buyByHand, step, withChains } from '../support/stepped-shop.ts'

// E44 and F-04 where somebody else settles.

async function start(t: TestContext, isRemote = true) {
  const clock = movableClock()
  const facilitator = await startFacilitator(() => shop)
  const remote = { kind: 'remote', url: facilitator.url, headers: {} } as const
  const shop: TestShop = await startShop({
    clock,
    withoutWorker: true,
    configure: (config) => {
      const limits = {
        ...config.limits,
        waitMsMax: AS_FAR_AS_IT_CAN_MS,
        receiptWaitMs: 300,
        facilitatorTimeoutMs: 5_000,
      }
      const x402 = isRemote ? { ...config.x402!, facilitator: remote } : config.x402!
      return withChains({ ...config, limits, x402 }, { burial: { blocks: 3n, ms: 0 } })
    },
  })
  t.after(async () => {
    await shop.stop()
    await facilitator.close()
  })
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  return { shop, facilitator, remote, native, clock }
}

/** It was sent by the facilitator, and reverted in the newest block. */
async function reverted(
  { shop, facilitator, native }: Awaited<ReturnType<typeof start>>,
  errorReason: string,
  saleId = 392,
) {
  const payer = await fundedWallet(shop)
  const asked = { saleId, beneficiary: payer.address }
  const url = `${shop.url}/agentic/x402/buy`
  const payment = await paymentFor(payer, requiredOf(await fetch(url, post(asked))))
  let transaction: string | null = null
  facilitator.behave(payment, {
    async settle(paid) {
      if (transaction === null) {
        await native('dev_fault', { kind: 'revert', to: shop.config.x402!.asset })
        transaction = await preempt(shop, paid)
      }
      return { success: false, transaction, errorReason }
    },
  })
  const response = await fetch(url, post(asked, { 'payment-signature': encoded(payment) }))
  return { response, body: await said(response.clone()) }
}

test('M-17: a payment that a facilitator sent, and that reverted in the newest block, is not free', async (t) => {
  const stage = await start(t)
  const before = await x402UnderTest.till(stage.shop)
  const { response } = await reverted(stage, 'insufficient_funds')
  await stage.native('dev_reorg', '0x1')
  const taken = (await x402UnderTest.till(stage.shop)) - before
  assert.deepEqual({ status: response.status, taken }, { status: 202, taken: 250_000n })
})

test('E44: nor when its time is over, and the chain stood still', async (t) => {
  const stage = await start(t)
  const before = await x402UnderTest.till(stage.shop)
  const { response, body } = await reverted(stage, 'invalid_transaction_state')
  assert.equal(response.status, 202)
  stage.clock.move(1_000_000)
  await stage.native('evm_mine')
  const { status } = await step(stage.shop, body.orderId)
  await stage.native('dev_reorg', '0x2')
  const taken = (await x402UnderTest.till(stage.shop)) - before
  assert.deepEqual({ status, taken }, { status: 'settling', taken: 250_000n })
})

test('F-04: and keeps nothing from others meanwhile', async (t) => {
  const stage = await start(t)
  const { shop } = stage
  await setLot(shop, 777, { price: '0.25', supply: 1n })
  await reverted(stage, 'invalid_transaction_state', 777)
  await buyByHand(shop, x402UnderTest, await fundedWallet(shop), { saleId: 777 })
})

test('E44: nor because a facilitator settles by now, what our own key sent before', async (t) => {
  const { shop, native, remote, clock } = await start(t, false)
  const before = await x402UnderTest.till(shop)
  const buyer = await fundedWallet(shop)
  await native('dev_fault', { kind: 'revert', to: shop.config.x402!.asset })
  const { body } = await buy(shop, x402UnderTest, buyer)
  const service = await shop.replica({
    configure: (config) => ({ ...config, x402: { ...config.x402!, facilitator: remote } }),
  })
  clock.move(1_000_000)
  await native('evm_mine')
  const { status } = await step({ ...shop, service }, body.orderId)
  await native('dev_reorg', '0x2')
  const taken = (await x402UnderTest.till(shop)) - before
  assert.deepEqual({ status, taken }, { status: 'settling', taken: 250_000n })
})
