import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encodeFunctionData, parseAbi } from 'viem'
import type { Hash } from '../../../src/base/address.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, buy, CURSED_LOT, CURSED_PRICE, reconcileRail } from '../../operations/desk.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { drop, letGo, step } from '../support/stepped-shop.ts'

// E78, and later: that a refund is owed was found out, and the key that sends it cannot pay for gas. Before it can, the chain takes the payment back.

const ETHER = '0xde0b6b3a7640000'
const abi = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function transferFrom(address from, address to, uint256 value) returns (bool)',
])
const CARELESS = `0x${'ca'.repeat(20)}` as const
/** Calls the address in the first word with all that follows, and looks at nothing. */
const CALLS_AND_FORGETS = '0x602036038060206000376000600082600060006000355af100'

async function startWithLoan(t: TestContext) {
  let created = async (): Promise<void> => {}
  const shop = await startShop({
    withoutWorker: true,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 500 } }),
    waypoint: async (name) => {
      if (name === 'refund.created') await created()
    },
  })
  t.after(() => shop.stop())
  const { native } = shop.chains
  const gasKey = demoAddressOf('settler')
  const setGas = async (wei: string) => void (await native.request({ method: 'dev_setBalance', params: [gasKey, wei] }))
  created = () => setGas('0x0')
  const [rich, thief] = [await fundedWallet(shop), await fundedWallet(shop, 0n)]
  const { asset, payTo } = shop.config.x402!
  const loan = await sendFrom(native, rich, asset, transfer(thief.address, CURSED_PRICE))
  return {
    shop,
    thief,
    empty: () => setGas('0x0'),
    fill: () => setGas(ETHER),
    pay: () => sendFrom(native, thief, asset, transfer(payTo, CURSED_PRICE)),
    /** By way of a contract that does not mind when the token refuses: its transaction goes through all the same. */
    async payCarelessly() {
      await native.request({ method: 'dev_setCode', params: [CARELESS, CALLS_AND_FORGETS] })
      await sendFrom(
        native,
        thief,
        asset,
        encodeFunctionData({ abi, functionName: 'approve', args: [CARELESS, CURSED_PRICE] }),
      )
      const pay = encodeFunctionData({ abi, functionName: 'transferFrom', args: [thief.address, payTo, CURSED_PRICE] })
      await sendFrom(native, thief, CARELESS, `0x${asset.slice(2).padStart(64, '0')}${pay.slice(2)}`)
    },
    /** Without the loan the payment is mined again, and takes nothing. */
    async takeBack(...others: readonly Hash[]) {
      await drop(native, loan as Hash, ...others)
      await setGas(ETHER)
    },
    sentBack: () => transfers(shop, rail, demoAddressOf('treasury'), thief.address),
  }
}

test('M-19: a refund that waited for the treasury does not go out when the chain has taken the payment back meanwhile', async (t) => {
  const { shop, thief, takeBack, sentBack } = await startWithLoan(t)
  const till = await rail.till(shop)
  const { body } = await buy(shop, rail, thief, CURSED_LOT)
  await letGo(shop, body.orderId)
  await until(async () => (await step(shop, body.orderId)).status === 'refunding')
  await takeBack()
  for (let look = 0; look < 3; look++) await step(shop, body.orderId)
  const paid = (await rail.till(shop)) - till
  assert.deepEqual({ paid, sentBack: await sentBack() }, { paid: 0n, sentBack: [] })
})

test('M-19: orphaned money that the chain has taken back is not sent back when the treasury is filled, with one node too', async (t) => {
  const { shop, empty, pay, takeBack, sentBack } = await startWithLoan(t)
  await reconcileRail(shop, rail, AT_ONCE)
  const till = await rail.till(shop)
  await empty()
  await pay()
  for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
  const { rows } = await shop.store.db.query<{ state: string }>('select state from arrivals')
  await takeBack()
  for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
  const paid = (await rail.till(shop)) - till
  assert.deepEqual(
    { states: rows.map(({ state }) => state), paid, sentBack: await sentBack() },
    { states: ['refunding'], paid: 0n, sentBack: [] },
  )
})

test('M-19: orphaned money does not go back once more when the chain drops its way back, and its transaction is mined again and pays nothing', async (t) => {
  const { shop, fill, payCarelessly, takeBack, sentBack } = await startWithLoan(t)
  await fill()
  await reconcileRail(shop, rail, AT_ONCE)
  const till = await rail.till(shop)
  await payCarelessly()
  for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
  const before = await sentBack()
  const { rows } = await shop.store.db.query<{ refund_tx: Hash }>('select refund_tx from arrivals')
  await takeBack(...rows.map(({ refund_tx }) => refund_tx))
  for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
  const paid = (await rail.till(shop)) - till
  assert.deepEqual({ before, paid, sentBack: await sentBack() }, { before: [CURSED_PRICE], paid: 0n, sentBack: [] })
})
