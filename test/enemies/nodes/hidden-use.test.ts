import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { said } from '../../checkout/counter.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { buyUrl, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import type { TestShop } from '../../support/shop.ts'
import { startBetweenNodes, step } from '../support/stepped-shop.ts'

// The first of two nodes hides that a payment was used. It took it from our hands, and may have brought it to the chain itself.

/** `authorizationState(address,bytes32)`. */
const AUTHORIZATION_STATE = '0xe94a0102'
const NATIVE = 84532

async function startWithHider(t: TestContext) {
  const { shop, clock, meddler, other, atOpening } = await startBetweenNodes(t)
  const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
  return {
    shop,
    clock,
    payment: JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment,
    before: await x402UnderTest.till(shop),
    send: () => fetch(buyUrl(shop, x402UnderTest), post(request, { [x402UnderTest.header]: credential })),
    atOpening,
    hideLogs: () => meddler.meddle('eth_getLogs', (_params, ask, chain) => (chain === NATIVE ? [] : ask())),
    hideReceipts: () =>
      meddler.meddle('eth_getTransactionReceipt', (_params, ask, chain) => (chain === NATIVE ? null : ask())),
    hideUse: () =>
      meddler.meddle('eth_call', ([call], ask, chain) => {
        const { data } = call as unknown as { data: string }
        return chain === NATIVE && data.startsWith(AUTHORIZATION_STATE) ? `0x${'0'.repeat(64)}` : ask()
      }),
    /** The honest one is asked too often, just then. */
    silenceOther() {
      other.meddle('eth_getLogs', () => Promise.reject(new Error('429')))
      other.meddle('eth_call', ([call], ask) =>
        (call as unknown as { data: string }).data.startsWith(AUTHORIZATION_STATE)
          ? Promise.reject(new Error('429'))
          : ask(),
      )
    },
  }
}

async function mine({ chains }: TestShop, blocks: number): Promise<void> {
  for (let mined = 0; mined < blocks; mined++) await chains.native.request({ method: 'evm_mine', params: [] })
}

for (const [isSilenced, and] of [
  [false, ''],
  [true, ', and the other one does not say'],
] as const)
  test(`E68: a payment that went through is not said to have run out because the first of two nodes hides it${and}`, async (t) => {
    const { shop, clock, before, send, hideLogs, hideReceipts, hideUse, silenceOther } = await startWithHider(t)
    for (const hide of [hideLogs, hideReceipts, hideUse]) hide()
    const { orderId } = await said(await send())
    clock.move(1_000_000)
    await mine(shop, 3)
    if (isSilenced) silenceOther()
    const { status } = await step(shop, orderId)
    const taken = (await x402UnderTest.till(shop)) - before
    assert.deepEqual({ status, taken }, { status: 'settling', taken: LOT_PRICE })
  })

test('E68: what a stranger has carried to the chain is not said to be free because the first of two nodes hides it', async (t) => {
  const { shop, payment, before, send, atOpening, hideLogs, hideUse } = await startWithHider(t)
  atOpening(async () => {
    await preempt(shop, payment)
    hideLogs()
    hideUse()
  })
  const { orderId } = await said(await send())
  await mine(shop, 3)
  const { status } = await step(shop, orderId)
  const taken = (await x402UnderTest.till(shop)) - before
  assert.deepEqual({ status, taken }, { status: 'settling', taken: LOT_PRICE })
})

test('E68: what a stranger has carried to the chain is not said to be spent elsewhere because the first of two nodes hides its logs', async (t) => {
  const { shop, clock, payment, before, send, atOpening, hideLogs } = await startWithHider(t)
  atOpening(async () => {
    await preempt(shop, payment)
    hideLogs()
  })
  const { orderId } = await said(await send())
  clock.move(1_000_000)
  await mine(shop, 3)
  const { status } = await step(shop, orderId)
  const taken = (await x402UnderTest.till(shop)) - before
  // The other one has them.
  assert.deepEqual({ status, taken }, { status: 'settled', taken: LOT_PRICE })
})
