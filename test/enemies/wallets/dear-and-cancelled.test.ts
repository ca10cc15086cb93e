import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { encodeFunctionData, type Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { said, verdict } from '../../checkout/counter.ts'
import {
  encoded,
  paidElsewhere,
  paymentFor,
  preempt,
  requiredOf,
  sendFrom,
  type X402Payment,
} from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

let shop: TestShop
let waypoint: Waypoint = noWaypoint
before(async () => {
  shop = await startShop({ waypoint: (name) => waypoint(name) })
})
after(() => shop.stop())
beforeEach(() => {
  waypoint = noWaypoint
})

const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
const anybody = () => privateKeyToAccount(generatePrivateKey())
const PLAIN = anybody().address
const SIGNATURE: Hex = `0x${'5c'.repeat(96)}`
/** Takes every signature, after honest work of some 200,000 gas. Honest for ever. */
const DEAR: Hex = `0x620400005f20507f${'1626ba7e'.padEnd(64, '0')}5f5260205ff3`

async function walletWith(code: Hex): Promise<PrivateKeyAccount> {
  const account = await fundedWallet(shop, 1n)
  await native('dev_setCode', account.address, code)
  return account
}
const url = () => `${shop.url}/agentic/x402/buy`
const LOT = { saleId: 392, beneficiary: PLAIN }
async function paymentOf(wallet: PrivateKeyAccount, signature = SIGNATURE): Promise<X402Payment> {
  const { payload, ...payment } = await paymentFor(wallet, requiredOf(await fetch(url(), post(LOT))))
  return { ...payment, payload: { ...payload, signature } }
}
const show = (payment: X402Payment) => fetch(url(), post(LOT, { 'payment-signature': encoded(payment) }))

/** Its owner pays elsewhere first, finds that the money does not reach for both, and takes the second promise back. */
async function runDryAndCancel(wallet: PrivateKeyAccount): Promise<Response> {
  const payment = await paymentOf(wallet)
  waypoint = async (name) => {
    if (name === 'send.signed') await preempt(shop, paidElsewhere(payment, PLAIN))
    if (name !== 'send.mined') return
    waypoint = noWaypoint
    const { from, nonce } = payment.payload.authorization
    const args = [from, nonce, SIGNATURE] as const
    const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'cancelAuthorization', args })
    await sendFrom(shop.chains.native, anybody(), shop.config.x402!.asset, data)
  }
  return show(payment)
}

test('E28: wallets of a dear make that ran dry and took their promise back do not throw out everybody with the same code', async () => {
  for (let i = 0; i < 3; i++) {
    const answer = await runDryAndCancel(await walletWith(DEAR))
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [402, false])
  }
  assert.deepEqual(await verdict(await show(await paymentOf(await walletWith(DEAR)))), [200, undefined])
})

test('E28: nor is the wallet itself thrown out for a day, which has burned nothing', async () => {
  const wallet = await walletWith(DEAR)
  await runDryAndCancel(wallet)
  const { rows } = await shop.store.db.query(
    `select points from strikes where subject = lower($1) and until > now() + interval '11 minutes'`,
    [`payer-today:${wallet.address}`],
  )
  assert.deepEqual(rows, [{ points: 1 }])
  await native('dev_mintToken', shop.config.x402!.asset, wallet.address, '0xf4240')
  assert.deepEqual(await verdict(await show(await paymentOf(wallet))), [200, undefined])
})

/** Takes every signature when its mood is good or nobody pays for gas (as when somebody asks why); else it burns everything. An empty call turns its mood. */
const BURNS_WHEN_PAID: Hex = `0x36600a575f54155f55005b5f543a02603957${'7f'}${'1626ba7e'.padEnd(64, '0')}5f5260205ff35bfe`
const turn = ({ address }: PrivateKeyAccount) => sendFrom(shop.chains.native, anybody(), address, '0x')

/** What the shop paid for the only settlement of this wallet. */
async function gasOfSettlement({ address }: PrivateKeyAccount): Promise<bigint> {
  const { rows: sends } = await shop.store.db.query<{ versions: { hash: Hex }[] }>(
    `select s.versions from sends s join orders o on o.id = s.order_id where s.step = 'settle' and lower(o.payer) = lower($1)`,
    [address],
  )
  assert.equal(sends.length, 1)
  const receipt = (await native('eth_getTransactionReceipt', sends[0]!.versions[0]!.hash)) as { gasUsed: Hex }
  return BigInt(receipt.gasUsed)
}

test('M-24: a wallet that burns the gas of a settlement, and has moved its money away before it, is thrown out for a day like one that has not', async () => {
  const wallet = await walletWith(BURNS_WHEN_PAID)
  const payment = await paymentOf(wallet)
  waypoint = async (name) => {
    if (name !== 'send.signed') return
    waypoint = noWaypoint
    await preempt(shop, paidElsewhere(payment, PLAIN))
    await turn(wallet)
  }
  const answer = await show(payment)
  const { code } = (await said(answer)) as unknown as { code: string }
  const { rows } = await shop.store.db.query(
    `select points from strikes where subject = lower($1) and until > now() + interval '11 minutes'`,
    [`payer-today:${wallet.address}`],
  )
  assert.deepEqual(
    { status: answer.status, code, gas: (await gasOfSettlement(wallet)) > 350_000n, isThrownOut: rows.length === 1 },
    { status: 402, code, gas: true, isThrownOut: true },
  )
})

/** The same, but that it leaves a seventh of the gas, and says yes. */
const YES = `7f${'1626ba7e'.padEnd(64, '0')}5f5260205ff3`
const BURNS_NEARLY_ALL: Hex = `0x36600a575f54155f55005b5f543a02603957${YES}5b620100005a11603957${YES}`

test('M-24: a wallet that burns nearly all the gas of a settlement, and has moved its money away before it, does so three times a day and no more', async () => {
  const wallet = await walletWith(BURNS_NEARLY_ALL)
  const { asset } = shop.config.x402!
  for (let i = 0; i < 3; i++) {
    const payment = await paymentOf(wallet)
    waypoint = async (name) => {
      if (name !== 'send.signed') return
      waypoint = noWaypoint
      await preempt(shop, paidElsewhere(payment, PLAIN))
      await turn(wallet)
    }
    assert.deepEqual(await verdict(await show(payment)), [402, 'insufficient_funds'])
    await turn(wallet)
    await native('dev_mintToken', asset, wallet.address, '0xf4240')
    // The points that others get for a failed payment are forgotten by then.
    await shop.store.db.query(`update strikes set until = until - interval '11 minutes'`)
  }
  assert.deepEqual(await verdict(await show(await paymentOf(wallet))), [429, 'payer_throttled'])
})

/** The longest that the shop takes. Its bytes say nothing, and cost next to nothing. */
const LONG: Hex = `0x${'00'.repeat(2_047)}`
/** The same, but that it leaves more than half of the gas. */
const BURNS_LESS = BURNS_NEARLY_ALL.replace('62010000', '6203c000') as Hex

test('M-24: nor does it burn more than a key’s settlement costs, and is forgotten after ten minutes, because its signature is long', async () => {
  const wallet = await walletWith(BURNS_LESS)
  const payment = await paymentOf(wallet, LONG)
  waypoint = async (name) => {
    if (name !== 'send.signed') return
    waypoint = noWaypoint
    await preempt(shop, paidElsewhere(payment, PLAIN))
    await turn(wallet)
  }
  assert.deepEqual(await verdict(await show(payment)), [402, 'insufficient_funds'])
  const { rows } = await shop.store.db.query(`select points from strikes where subject = lower($1)`, [
    `payer-today:${wallet.address}`,
  ])
  assert.deepEqual([(await gasOfSettlement(wallet)) > 150_000n, rows], [true, [{ points: 1 }]])
})

test('E28: a wallet that ran dry once at a dear cost is not thrown out for the day by failures that others may have again after ten minutes', async () => {
  const wallet = await walletWith(DEAR)
  const { asset } = shop.config.x402!
  assert.equal((await runDryAndCancel(wallet)).status, 402)
  await native('dev_mintToken', asset, wallet.address, '0xf4240')
  for (let i = 0; i < 2; i++) {
    await shop.store.db.query(`update strikes set until = until - interval '11 minutes'`)
    await native('dev_fault', { kind: 'revert', to: asset })
    assert.equal((await show(await paymentOf(wallet))).status, 402)
  }
  await shop.store.db.query(`update strikes set until = until - interval '11 minutes'`)
  assert.deepEqual(await verdict(await show(await paymentOf(wallet))), [200, undefined])
})
