import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { said, verdict } from '../../checkout/counter.ts'
import { encoded, paidElsewhere, paymentFor, preempt, requiredOf, sendFrom } from '../../checkout/x402-wallet.ts'
import { fundedWallet, mppPayer, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// Code of strangers runs on our gas: the check of a contract wallet, and whatever receives a token. What fails uses up a budget of an hour.

/** An empty call turns its mood, and back; in the other one it burns all there is. */
const moody = (selector: string): Hex =>
  `0x36600a575f54155f55005b5f546037577f${selector.padEnd(64, '0')}5f5260205ff35bfe`
const WALLET = moody('1626ba7e')
const RECEIVER = moody('150b7a02')
/** Longer than a key's, so that it may cost what a contract wallet may. */
const SIGNATURE: Hex = `0x${'5c'.repeat(96)}`
/** What a settlement for a contract wallet, and the mint of one token, may burn. */
const [SETTLEMENT, MINT] = [400_000n, 360_000n]
const THROTTLED = [429, 'payer_throttled']
const SOLD = [200, undefined]

const anybody = () => privateKeyToAccount(generatePrivateKey())

async function startWith(t: TestContext, gasPerHour: bigint) {
  const stage = { waypoint: noWaypoint as Waypoint }
  const shop = await startShop({
    waypoint: (name) => stage.waypoint(name),
    configure: (config) => ({ ...config, limits: { ...config.limits, gasPerHour } }),
  })
  t.after(() => shop.stop())
  const url = `${shop.url}/agentic/x402/buy`

  async function withCode(account: PrivateKeyAccount, code: Hex): Promise<PrivateKeyAccount> {
    await nativeCall(shop, 'dev_setCode', account.address, code)
    return account
  }
  const turn = ({ address }: { readonly address: Address }) => sendFrom(shop.chains.native, anybody(), address, '0x')

  async function paid(payer: PrivateKeyAccount, beneficiary: Address, signature?: Hex) {
    const body = { saleId: 392, beneficiary }
    const { payload, ...terms } = await paymentFor(payer, requiredOf(await fetch(url, post(body))))
    const payment = { ...terms, payload: { ...payload, signature: signature ?? payload.signature } }
    return { payment, show: () => fetch(url, post(body, { 'payment-signature': encoded(payment) })) }
  }
  const buy = async (payer: PrivateKeyAccount, beneficiary = anybody().address) =>
    verdict(await (await paid(payer, beneficiary)).show())
  const buyByCode = async (wallet: PrivateKeyAccount) =>
    verdict(await (await paid(wallet, anybody().address, SIGNATURE)).show())

  /** Just before the settlement is sent, and as soon as it was mined. */
  function aroundTheSettlement(first: () => Promise<unknown>, then: () => Promise<unknown>): void {
    stage.waypoint = async (name) => {
      if (name === 'send.signed') await first()
      if (name !== 'send.mined') return
      stage.waypoint = noWaypoint
      await then()
    }
  }
  /** The settlement is signed first, the mint second. */
  function beforeTheMint(deed: () => Promise<unknown>): void {
    stage.waypoint = (name) => {
      if (name !== 'order.settled') return
      stage.waypoint = async (later) => {
        if (later !== 'send.signed') return
        stage.waypoint = noWaypoint
        await deed()
      }
    }
  }
  return { shop, stage, withCode, turn, paid, buy, buyByCode, aroundTheSettlement, beforeTheMint }
}

test('M-24, E28: wallets whose check burns the gas of a settlement use up the gas of an hour, and the next such wallet waits', async (t) => {
  const { shop, withCode, turn, buy, buyByCode, aroundTheSettlement } = await startWith(t, SETTLEMENT / 2n)
  const known = await withCode(await fundedWallet(shop), WALLET)
  assert.deepEqual(await buyByCode(known), SOLD)
  const enemy = await withCode(await fundedWallet(shop), WALLET)
  aroundTheSettlement(
    () => turn(enemy),
    () => turn(enemy),
  )
  assert.equal((await buyByCode(enemy))[0], 402)
  assert.deepEqual(await buyByCode(enemy), THROTTLED)
  assert.deepEqual(await buyByCode(await withCode(await fundedWallet(shop), WALLET)), THROTTLED)
  // Others do not: a key that signs for itself, and a wallet that has bought before.
  assert.deepEqual(await buy(await fundedWallet(shop)), SOLD)
  assert.deepEqual(await buyByCode(known), SOLD)
})

test('E6: so do receivers that take the trial and burn the gas of the mint, however often they have a new address', async (t) => {
  const { shop, withCode, turn, paid, buy, beforeTheMint } = await startWith(t, MINT / 2n)
  const [enemy, next, buyer] = [await withCode(anybody(), RECEIVER), await withCode(anybody(), RECEIVER), anybody()]
  beforeTheMint(() => turn(enemy))
  const { show } = await paid(await fundedWallet(shop), enemy.address)
  assert.equal((await said(await show())).refund?.status, 'refunded')
  assert.deepEqual(await buy(await fundedWallet(shop), next.address), THROTTLED)
  assert.deepEqual(await buy(await fundedWallet(shop), buyer.address), SOLD)
})

test('E6: nor does money that its payer has sent get a mint for such a receiver: it goes back, and a plain key is served', async (t) => {
  const { shop, withCode, turn, beforeTheMint } = await startWith(t, MINT / 2n)
  const push = async ({ address }: PrivateKeyAccount) => {
    const payer = await fundedWallet(shop)
    return mppPayer(shop, payer, 'push')(`${shop.url}/agentic/mpp/buy`, post({ saleId: 392, beneficiary: address }))
  }
  const [enemy, next, buyer] = [await withCode(anybody(), RECEIVER), await withCode(anybody(), RECEIVER), anybody()]
  beforeTheMint(() => turn(enemy))
  const sentBack = async (response: Response) => {
    const { reason, refund } = (await said(response)) as Awaited<ReturnType<typeof said>> & { readonly reason?: string }
    return [reason, refund?.status]
  }
  assert.deepEqual(await sentBack(await push(enemy)), ['beneficiary_rejects', 'refunded'])
  assert.deepEqual(await sentBack(await push(next)), ['payer_throttled', 'refunded'])
  assert.equal((await push(buyer)).status, 200)
})

test('M-24: a wallet that has bought before, burns the gas and brings its payment to the chain itself is a stranger again', async (t) => {
  const { shop, withCode, turn, paid, buyByCode, aroundTheSettlement } = await startWith(t, SETTLEMENT / 2n)
  const wallet = await withCode(await fundedWallet(shop), WALLET)
  assert.deepEqual(await buyByCode(wallet), SOLD)
  const { payment, show } = await paid(wallet, anybody().address, SIGNATURE)
  aroundTheSettlement(
    () => turn(wallet),
    async () => {
      await turn(wallet)
      await preempt(shop, payment)
    },
  )
  assert.deepEqual(await verdict(await show()), SOLD)
  assert.deepEqual(await buyByCode(wallet), THROTTLED)
})

test('M-24: a payer whose payment failed on the chain waits when the gas of an hour is used up, and others do not', async (t) => {
  const { shop, buy } = await startWith(t, 1n)
  const cheat = await fundedWallet(shop)
  const to = shop.config.x402!.asset
  await shop.chains.native.request({ method: 'dev_fault', params: [{ kind: 'revert', to }] })
  assert.equal((await buy(cheat))[0], 402)
  assert.deepEqual(await buy(cheat), THROTTLED)
  assert.deepEqual(await buy(await fundedWallet(shop)), SOLD)
})

for (const [who, purchases] of [
  ['a new wallet', 0],
  ['a wallet that has bought before', 1],
] as const)
  test(`M-24: what ${who} may still burn counts before it has: it has no more open at once than the gas of an hour is for`, async (t) => {
    const { shop, stage, withCode, turn, buyByCode } = await startWith(t, 3n * SETTLEMENT)
    const wallet = await withCode(await fundedWallet(shop), WALLET)
    for (let bought = 0; bought < purchases; bought++) assert.deepEqual(await buyByCode(wallet), SOLD)
    const gate = Promise.withResolvers<void>()
    let decided = 0
    let settlements = 0
    stage.waypoint = async (name) => {
      if (name !== 'settle.begun') return
      decided++
      settlements++
      await gate.promise
    }
    const buying = Array.from({ length: 10 }, async () => {
      const answer = await buyByCode(wallet)
      decided++
      return answer
    })
    await until(async () => decided >= 10)
    await turn(wallet)
    gate.resolve()
    const answers = await Promise.all(buying)
    assert.deepEqual([settlements, answers.filter(([status]) => status === 429).length], [3, 7])
  })

test('wallets of the same make as one that ran dry buy on, as long as the gas of an hour lasts', async (t) => {
  const { shop, withCode, paid, buyByCode, aroundTheSettlement } = await startWith(t, 20n * SETTLEMENT)
  const wallet = await withCode(await fundedWallet(shop, 1n), WALLET)
  const elsewhere = anybody().address
  const { payment, show } = await paid(wallet, elsewhere, SIGNATURE)
  aroundTheSettlement(
    () => preempt(shop, paidElsewhere(payment, elsewhere)),
    async () => {},
  )
  assert.deepEqual(await verdict(await show()), [402, 'insufficient_funds'])
  assert.deepEqual(await buyByCode(await withCode(await fundedWallet(shop), WALLET)), SOLD)
})

test('M-24: a key that delegates pays as the token takes it: through its contract, tried out before anything is sent', async (t) => {
  const { shop, withCode, buy } = await startWith(t, 20n * SETTLEMENT)
  const delegating = async (code: Hex) => {
    const { address } = await withCode(anybody(), code)
    return withCode(await fundedWallet(shop), `0xef0100${address.slice(2).toLowerCase()}`)
  }
  assert.deepEqual(await buy(await delegating('0x5f5ffd')), [402, 'payment_verification_failed'])
  assert.deepEqual(await buy(await delegating(WALLET)), SOLD)
})
