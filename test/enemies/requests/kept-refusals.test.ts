import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type Address, checksumAddress } from '../../../src/base/address.ts'
import { Secret } from '../../../src/base/secret.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import type { Config } from '../../../src/config/config.ts'
import { createDevChain } from '../../../src/devchain/chain.ts'
import { testSmartWallet } from '../../artifacts/TestSmartWallet.ts'
import { orderCount, verdict } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf, type X402Payment } from '../../checkout/x402-wallet.ts'
import { deploy, fundedWallet as deployer } from '../../devchain/support.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import {
  edited,
  mppPullUnderTest,
  mppPushUnderTest,
  type RailUnderTest,
  x402UnderTest,
} from '../../support/credentials.ts'
import { plainTransports, startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// What is answered 402 is written down, whatever the replica that says so can see: that is what it may be wrong about.

let waypoint: Waypoint = noWaypoint
/** What happens after the store said whether an order is opened. */
let onOpen: () => unknown = () => {}
let shop: TestShop
before(async () => {
  shop = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, replaysPerPayment: 1_000 } }),
    waypoint: (name) => waypoint(name),
    wrapDatabase: (database) => ({
      ...database,
      query: (sql, values) => {
        const answer = database.query(sql, values)
        return /insert into orders/.test(typeof sql === 'string' ? sql : sql.text) ? answer.finally(onOpen) : answer
      },
    }),
  })
})
after(() => shop.stop())

const signer = privateKeyToAccount(generatePrivateKey())
const body = { saleId: 392, beneficiary: signer.address }
const PATH = '/agentic/x402/buy'
const show = (payment: X402Payment, at = shop.url, asked: object = body) =>
  fetch(`${at}${PATH}`, post(asked, { 'payment-signature': encoded(payment) }))
const ask = async () => requiredOf(await fetch(`${shop.url}${PATH}`, post(body)))

/** A contract that pays with the signer's signature. */
async function smartWallet(): Promise<Address> {
  const { native } = shop.chains
  const wallet = await deploy(await deployer(native), testSmartWallet, [signer.address])
  await native.request({ method: 'dev_mintToken', params: [shop.config.x402!.asset, wallet, '0xf4240'] })
  return checksumAddress(wallet)
}

/** The next call that has passed every check sleeps until it is woken. */
function nextSleeper(): { readonly asleep: Promise<void>; wake(): void } {
  const [asleep, wake] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  waypoint = async (name) => {
    if (name !== 'order.opening') return
    waypoint = noWaypoint
    asleep.resolve()
    await wake.promise
  }
  return { asleep: asleep.promise, wake: wake.resolve }
}

type Twins = { readonly slow: () => Promise<Response>; readonly refused: () => Promise<Response> }

/** The slow one has passed every check, the other one is refused, and then nobody takes it. */
async function assertVoid(rail: RailUnderTest, { slow, refused }: Twins): Promise<void> {
  const [till, orders] = [await rail.till(shop), await orderCount(shop)]
  const { asleep, wake } = nextSleeper()
  const first = slow()
  await asleep
  const [status, code] = await verdict(await refused())
  wake()
  assert.equal(status, 402)
  assert.deepEqual(await verdict(await first), [402, code])
  assert.deepEqual([await rail.till(shop), await orderCount(shop)], [till, orders])
}

test('M-02: a wallet that the node of one replica does not show yet has not paid after a 402 of that replica', async (t) => {
  verifies('D5.16')
  const { blocks } = shop.chains.native as Awaited<ReturnType<typeof createDevChain>>
  const native = await createDevChain({ rules: 'native', past: blocks() })
  t.after(() => native.close())
  const transports = plainTransports({ ...shop.chains, native })
  const behind = await shop.replica({ transports, withoutWorker: true })
  const payment = await paymentFor({ ...signer, address: await smartWallet() }, await ask())
  await assertVoid(x402UnderTest, { slow: () => show(payment), refused: () => show(payment, behind.url) })
})

test('M-02: a challenge whose secret one replica has not got yet is void after a 402 of that replica', async () => {
  verifies('D5.16')
  const secrets = [new Secret('the one before, which the others still accept')] as const
  const configure = (config: Config): Config => ({ ...config, mpp: { ...config.mpp!, secrets } })
  const behind = await shop.replica({ configure, withoutWorker: true })
  const path = '/agentic/mpp/buy'
  const unpaid = await fetch(`${shop.url}${path}`, post(body))
  const authorization = await mppPullUnderTest.pay(shop, await fundedWallet(shop), unpaid)
  const pay = (at: string) => fetch(`${at}${path}`, post(body, { authorization }))
  await assertVoid(mppPullUnderTest, { slow: () => pay(shop.url), refused: () => pay(behind.url) })
})

test('M-02: a payment that was refused for more requests than are written is not answered 402 any more', async () => {
  verifies('D5.16')
  const payment = await paymentFor({ ...signer, address: await smartWallet() }, await ask())
  const misplaced = { ...payment, resource: { url: 'https://elsewhere.example/' } }
  for (let quantity = 2; quantity < 22; quantity++)
    assert.equal((await show(misplaced, shop.url, { ...body, quantity })).status, 402)
  assert.deepEqual(await verdict(await show(misplaced)), [429, 'rate_limited'])
  assert.equal((await show(payment)).status, 200)
})

test('whoever knows the name of a payment and has no signature cannot have it refused', async () => {
  const payment = await paymentFor({ ...signer, address: await smartWallet() }, await ask())
  const guessed = { ...payment, payload: { ...payment.payload, signature: `0x${'5c'.repeat(65)}` as const } }
  assert.deepEqual(await verdict(await show(guessed)), [402, 'payment_verification_failed'])
  assert.equal((await show(payment)).status, 200)
})

test('money that has come is not answered 402 because an authorization under the same challenge was', async () => {
  verifies('D5.16')
  const payer = await fundedWallet(shop)
  const url = `${shop.url}/agentic/mpp/buy`
  const unpaid = await fetch(url, post(body))
  const pushed = await mppPushUnderTest.pay(shop, payer, unpaid)
  const show = (authorization: string) => fetch(url, post(body, { authorization }))
  const promised = edited(pushed, (credential) => ({
    ...credential,
    payload: { type: 'transaction', signature: '0x7600' },
  }))
  assert.equal((await show(promised)).status, 402)

  // The payer is blocked until the store has said no, and no longer when it is asked why.
  const { db } = shop.store
  await db.query(`insert into sale_restrictions values ('payer', lower($1), 'by mistake', 'somebody', now())`, [
    payer.address,
  ])
  onOpen = () => db.query('delete from sale_restrictions')
  assert.equal((await show(pushed)).status, 200)
})
