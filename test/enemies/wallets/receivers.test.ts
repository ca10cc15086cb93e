import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { saleLots } from '../../../src/artifacts/SaleLots.ts'
import type { Address } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { invocation } from '../../../src/chain/act.ts'
import { movableClock, said, setLot, verdict } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { createBlockEnds } from '../support/block-ends.ts'
import { step } from '../support/stepped-shop.ts'

// A mint that reverts is held against whoever received it, if it was they who refused. That is told by the block of the revert.

type Deed = () => Promise<unknown>

async function startStaged(t: TestContext, withoutWorker = false) {
  const clock = movableClock()
  const stage: { waypoint: Waypoint } = { waypoint: noWaypoint }
  const changed = new Set<string>()
  const ends = createBlockEnds()
  const shop = await startShop({
    clock,
    withoutWorker,
    waypoint: (name) => stage.waypoint(name),
    wrapTransport: (chainId, transport) => async (request, answerBytesMax) =>
      request.method === 'eth_getCode' && changed.has(String(request.params))
        ? { result: '0x' }
        : ends.wrap(chainId, transport)(request, answerBytesMax),
  })
  t.after(() => shop.stop())
  /** The dev chain changes code between blocks only; to the shop it was changed at the end of this one. */
  const plainFrom = (address: Address, block: Hex) => changed.add(String([address, block]))
  const inSameBlock = (deed: Deed) => ends.inSameBlock(shop, deed)
  /** Just before the mint is sent, and as soon as it was mined; what is tried again has deeds of its own. */
  const aroundTheMint = (...deeds: Deed[]) => {
    stage.waypoint = (name) => {
      // The settlement is signed first, the mint second.
      if (name === 'order.settled') stage.waypoint = around(deeds)
    }
  }
  const around =
    ([before, after, ...later]: Deed[]): Waypoint =>
    async (name) => {
      if (name === 'send.signed') await before!()
      if (name !== 'send.mined') return
      stage.waypoint = later.length > 0 ? around(later) : noWaypoint
      await after!()
    }
  return { shop, clock, aroundTheMint, plainFrom, inSameBlock }
}

const anybody = (): Address => privateKeyToAccount(generatePrivateKey()).address

async function buyFor(shop: TestShop, beneficiary: Address, saleId = 392): Promise<Response> {
  const url = `${shop.url}/agentic/x402/buy`
  const body = { saleId, beneficiary }
  const payment = await paymentFor(await fundedWallet(shop), requiredOf(await fetch(url, post(body))))
  return fetch(url, post(body, { 'payment-signature': encoded(payment) }))
}

/** Takes every token, and calls nobody. */
const RECEIVER: Hex = `0x7f${'150b7a02'.padEnd(64, '0')}5f5260205ff3`
const BURNER: Hex = '0xfe'

async function receiver(shop: TestShop): Promise<Address> {
  const address = anybody()
  await nativeCall(shop, 'dev_setCode', address, RECEIVER)
  return address
}

const saleCall =
  ({ world: { deployer, contracts } }: TestShop, name: 'pause' | 'unpause') =>
  () =>
    deployer.act(invocation(contracts.sale, saleLots.abi, name, []))

const strikes = async ({ store }: TestShop) => (await store.db.query('select subject from strikes')).rows

for (const [when, isSameBlock] of [
  ['the next block', false],
  ['the same one', true],
] as const)
  test(`E6: a key that delegates to code that burns the gas of its mint, and until ${when} only, is held to account`, async (t) => {
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

test('E28: a receiver is not held to account for a mint that nobody could have received: others had minted the last of the lot', async (t) => {
  const { shop, aroundTheMint } = await startStaged(t)
  await setLot(shop, 777, { price: '0.25', supply: 1n })
  const innocent = await receiver(shop)
  const leave = (supply: bigint) => () => setLot(shop, 777, { price: '0.25', supply })
  aroundTheMint(leave(0n), leave(1n))
  assert.equal((await said(await buyFor(shop, innocent, 777))).refund?.status, 'refunded')
  assert.deepEqual(await verdict(await buyFor(shop, innocent)), [200, undefined])
})

test('E28: nor for one whose lot was sold out, and was filled up in the same block', async (t) => {
  const { shop, aroundTheMint, inSameBlock } = await startStaged(t)
  await setLot(shop, 777, { price: '0.25', supply: 1n })
  const innocent = await receiver(shop)
  const leave = (supply: bigint) => () => setLot(shop, 777, { price: '0.25', supply })
  aroundTheMint(leave(0n), () => inSameBlock(leave(1n)))
  assert.equal((await said(await buyFor(shop, innocent, 777))).refund?.status, 'refunded')
  assert.deepEqual(await strikes(shop), [])
})

test('E28: a receiver that refuses its mint is held to account though the lot is filled up in the same block', async (t) => {
  const { shop, aroundTheMint, inSameBlock } = await startStaged(t)
  await setLot(shop, 777, { price: '0.25', supply: 1n })
  const enemy = await receiver(shop)
  const become = (code: Hex) => nativeCall(shop, 'dev_setCode', enemy, code)
  const fillUp = () => inSameBlock(() => setLot(shop, 777, { price: '0.25', supply: 9n }))
  aroundTheMint(
    () => become(BURNER),
    () => fillUp().then(() => become(RECEIVER)),
  )
  assert.equal((await said(await buyFor(shop, enemy, 777))).refund?.status, 'refunded')
  assert.deepEqual(await verdict(await buyFor(shop, enemy)), [429, 'payer_throttled'])
})

test('E28: nor for one that reverted because the contract was paused, and stayed so until the money went back', async (t) => {
  const { shop, clock, aroundTheMint } = await startStaged(t, true)
  const innocent = await receiver(shop)
  aroundTheMint(saleCall(shop, 'pause'), async () => {})
  const { orderId } = await said(await buyFor(shop, innocent))
  clock.move(shop.config.limits.delivery.mintMs)
  assert.equal((await step(shop, orderId)).status, 'failed')
  assert.deepEqual(await strikes(shop), [])
})

test('E28: nor for one that reverted because the contract was paused, and was opened again in the same block: it is minted then', async (t) => {
  const { shop, aroundTheMint, inSameBlock } = await startStaged(t)
  const innocent = await receiver(shop)
  aroundTheMint(saleCall(shop, 'pause'), () => inSameBlock(saleCall(shop, 'unpause')))
  assert.deepEqual(await verdict(await buyFor(shop, innocent)), [200, undefined])
  assert.deepEqual(await strikes(shop), [])
})

test('E28: a receiver that refuses the second try is held to account though the first one found the contract closed', async (t) => {
  const { shop, aroundTheMint, inSameBlock } = await startStaged(t)
  const enemy = await receiver(shop)
  const become = (code: Hex) => () => nativeCall(shop, 'dev_setCode', enemy, code)
  const reopen = () => inSameBlock(saleCall(shop, 'unpause'))
  aroundTheMint(saleCall(shop, 'pause'), reopen, become(BURNER), become(RECEIVER))
  assert.equal((await said(await buyFor(shop, enemy))).refund?.status, 'refunded')
  assert.deepEqual(await verdict(await buyFor(shop, enemy)), [429, 'payer_throttled'])
})
