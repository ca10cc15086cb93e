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
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// A wallet's check runs on our gas. What its code has burned stays its doing, whatever becomes of the payment afterwards.

let shop: TestShop
let waypoint: Waypoint = noWaypoint
before(async () => {
  shop = await startShop({ waypoint: (name) => waypoint(name) })
})
after(() => shop.stop())
beforeEach(() => {
  waypoint = noWaypoint
})

const anybody = () => privateKeyToAccount(generatePrivateKey())
const PLAIN = anybody().address

/** Takes every signature; an empty call turns its mood, and back, and in the other one it does this. `mark` makes it a code of its own. */
const moody = (otherwise: string, mark: string): Hex =>
  `0x36600a575f54155f55005b5f546037577f${'1626ba7e'.padEnd(64, '0')}5f5260205ff35b${otherwise}${mark}`
const BURNS_ALL = 'fe'
const SAYS_NO = '00'

async function walletWith(code: Hex): Promise<PrivateKeyAccount> {
  const account = await fundedWallet(shop, 1n)
  await nativeCall(shop, 'dev_setCode', account.address, code)
  return account
}
const turn = ({ address }: PrivateKeyAccount) => sendFrom(shop.chains.native, anybody(), address, '0x')

/** Longer than a key's, so that it may cost what a contract wallet may. */
const SIGNATURE: Hex = `0x${'5c'.repeat(96)}`

const url = () => `${shop.url}/agentic/x402/buy`
const LOT = { saleId: 392, beneficiary: PLAIN }

async function paymentOf(wallet: PrivateKeyAccount): Promise<X402Payment> {
  const { payload, ...payment } = await paymentFor(wallet, requiredOf(await fetch(url(), post(LOT))))
  return { ...payment, payload: { ...payload, signature: SIGNATURE } }
}
const show = (payment: X402Payment) => fetch(url(), post(LOT, { 'payment-signature': encoded(payment) }))

type Deed = (wallet: PrivateKeyAccount, payment: X402Payment) => Promise<unknown>

/** Takes the trial, turns before the settlement lands, and does something as soon as that has reverted. */
async function turnOnUs(wallet: PrivateKeyAccount, afterwards: Deed): Promise<void> {
  const payment = await paymentOf(wallet)
  waypoint = async (name) => {
    if (name === 'send.signed') await turn(wallet)
    if (name !== 'send.mined') return
    waypoint = noWaypoint
    await afterwards(wallet, payment)
  }
  const answer = await show(payment)
  assert.deepEqual([answer.status, (await said(answer)).payment.taken], [402, false])
}

const cancel: Deed = async (wallet, { payload: { authorization } }) => {
  await turn(wallet)
  const args = [authorization.from, authorization.nonce, SIGNATURE] as const
  const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'cancelAuthorization', args })
  await sendFrom(shop.chains.native, anybody(), shop.config.x402!.asset, data)
}

const spendElsewhere: Deed = async (wallet, { payload, ...payment }) => {
  await turn(wallet)
  const authorization = { ...payload.authorization, to: PLAIN }
  await preempt(shop, { ...payment, payload: { ...payload, authorization } })
}

for (const [what, mark, deed] of [
  ['cancels its payment', '01', cancel],
  ['spends its payment elsewhere', '02', spendElsewhere],
] as const)
  test(`M-24: code that burns the gas of a settlement and then ${what} is held to account at whatever address it stands`, async () => {
    const code = moody(BURNS_ALL, mark)
    for (let i = 0; i < 3; i++) await turnOnUs(await walletWith(code), deed)
    assert.deepEqual(await verdict(await show(await paymentOf(await walletWith(code)))), [429, 'payer_throttled'])
  })

test('M-24: a wallet that burns the gas of a settlement, and then brings its payment to the chain itself, gets what it paid for, and nothing more for a day', async () => {
  const wallet = await walletWith(moody(BURNS_ALL, '06'))
  const payment = await paymentOf(wallet)
  waypoint = async (name) => {
    if (name === 'send.signed') await turn(wallet)
    if (name !== 'send.mined') return
    waypoint = noWaypoint
    await turn(wallet)
    await preempt(shop, payment)
  }
  assert.deepEqual(await verdict(await show(payment)), [200, undefined])
  assert.deepEqual(await verdict(await show(await paymentOf(wallet))), [429, 'payer_throttled'])
})

test('E28: wallets whose owner takes a signature back do not throttle others with the same code: a plain no costs us no more than an empty wallet', async () => {
  const code = moody(SAYS_NO, '03')
  for (let i = 0; i < 3; i++) await turnOnUs(await walletWith(code), async () => {})
  assert.deepEqual(await verdict(await show(await paymentOf(await walletWith(code)))), [200, undefined])
})

/** Takes every signature, after honest work of some 200,000 gas. */
const DEAR: Hex = `0x620400005f20507f${'1626ba7e'.padEnd(64, '0')}5f5260205ff3`

test('E28: nor do wallets with a dear check that have no money any more', async () => {
  for (let i = 0; i < 3; i++) {
    const wallet = await walletWith(DEAR)
    const payment = await paymentOf(wallet)
    waypoint = async (name) => {
      if (name !== 'send.signed') return
      waypoint = noWaypoint
      await preempt(shop, paidElsewhere(payment, PLAIN))
    }
    assert.deepEqual(await verdict(await show(payment)), [402, 'insufficient_funds'])
  }
  assert.deepEqual(await verdict(await show(await paymentOf(await walletWith(DEAR)))), [200, undefined])
})

/** A key that delegates to such code (EIP-7702). */
async function delegating(code: Hex): Promise<Hex> {
  const { address } = anybody()
  await nativeCall(shop, 'dev_setCode', address, code)
  return `0xef0100${address.slice(2).toLowerCase()}`
}

for (const [who, codeOf] of [
  ['a contract wallet', async () => moody(BURNS_ALL, '04')],
  ['a key that delegates', () => delegating(moody(BURNS_ALL, '05'))],
] as const)
  test(`M-24: ${who} whose check burns the gas of a settlement does so once: for a day it buys nothing`, async () => {
    const wallet = await walletWith(await codeOf())
    await turnOnUs(wallet, turn)
    // The points that others get for a failed payment are forgotten by then.
    await shop.store.db.query(`update strikes set until = until - interval '11 minutes'`)
    assert.deepEqual(await verdict(await show(await paymentOf(wallet))), [429, 'payer_throttled'])
  })
