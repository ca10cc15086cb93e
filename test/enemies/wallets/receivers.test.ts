import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { said, verdict } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// A mint that reverts is held against whoever received it, if it was they who refused. That is told by the block of the revert.

async function startStaged(t: TestContext) {
  const stage: { waypoint: Waypoint } = { waypoint: noWaypoint }
  const changed = new Set<string>()
  const shop = await startShop({
    waypoint: (name) => stage.waypoint(name),
    wrapTransport: (_chainId, transport) => async (request, answerBytesMax) =>
      request.method === 'eth_getCode' && changed.has(String(request.params))
        ? { result: '0x' }
        : transport(request, answerBytesMax),
  })
  t.after(() => shop.stop())
  /** The dev chain changes code between blocks only; to the shop it was changed at the end of this one. */
  const plainFrom = (address: Address, block: Hex) => changed.add(String([address, block]))
  /** Just before the mint is sent, and as soon as it was mined. */
  const aroundTheMint = (before: () => Promise<unknown>, after: () => Promise<unknown>) => {
    stage.waypoint = (name) => {
      if (name !== 'order.settled') return
      // The settlement is signed first, the mint second.
      stage.waypoint = async (later) => {
        if (later === 'send.signed') await before()
        if (later !== 'send.mined') return
        stage.waypoint = noWaypoint
        await after()
      }
    }
  }
  return { shop, aroundTheMint, plainFrom }
}

const anybody = (): Address => privateKeyToAccount(generatePrivateKey()).address

async function buyFor(shop: TestShop, beneficiary: Address): Promise<Response> {
  const url = `${shop.url}/agentic/x402/buy`
  const body = { saleId: 392, beneficiary }
  const payment = await paymentFor(await fundedWallet(shop), requiredOf(await fetch(url, post(body))))
  return fetch(url, post(body, { 'payment-signature': encoded(payment) }))
}

const BURNER: Hex = '0xfe'

for (const [when, isSameBlock] of [
  ['the next block', false],
  ['the same one', true],
] as const)
  test(`E187: a key that delegates to code that burns the gas of its mint, and until ${when} only, is held to account`, async (t) => {
    const { shop, aroundTheMint, plainFrom } = await startStaged(t)
    const [enemy, burner] = [anybody(), anybody()]
    await nativeCall(shop, 'dev_setCode', burner, BURNER)
    const delegate = () => nativeCall(shop, 'dev_setCode', enemy, `0xef0100${burner.slice(2).toLowerCase()}`)
    const back = async () => {
      if (isSameBlock) plainFrom(enemy, await nativeCall(shop, 'eth_blockNumber'))
      await nativeCall(shop, 'dev_setCode', enemy, '0x')
    }
    aroundTheMint(delegate, back)
    assert.equal((await said(await buyFor(shop, enemy))).refund?.status, 'refunded')
    assert.deepEqual(await verdict(await buyFor(shop, enemy)), [429, 'payer_throttled'])
  })
