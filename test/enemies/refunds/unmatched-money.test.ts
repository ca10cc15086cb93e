import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encodeFunctionData, erc20Abi, parseAbi } from 'viem'
import { multicall3 } from '../../../src/artifacts/Multicall3.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { asOperator } from '../../operations/desk.ts'
import { mppStranger, transfer, x402Stranger } from '../../operations/strangers.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { erc20Balance, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'

// Dust opens no case, what waits for a person is not work, and nobody's money goes to a blocked party by itself.

const DOLLAR = 1_000_000n
const blocked = new Set<string>()
let atDelivery = () => {}
let shop: TestShop
before(async () => {
  shop = await startShop({
    waypoint: async (name) => {
      if (name === 'deliver.begun') atDelivery()
    },
    env: { SUTLER_RECONCILE_SECONDS: '1', SUTLER_RETURN_AFTER_SECONDS: '0' },
    configure: (config) => ({ ...config, blockedPayers: blocked }),
  })
})
after(() => shop.stop())

const states = async (): Promise<Record<string, number>> => {
  const { rows } = await shop.store.db.query<{ state: string; n: number }>(
    'select state, count(*)::int as n from transfers group by state',
  )
  return Object.fromEntries(rows.map(({ state, n }) => [state, n]))
}

const DUST = 1_050
const abi = parseAbi(['function transferFrom(address from, address to, uint256 amount)'])

/** Many transfers of one atomic unit to the till, in few transactions. */
const dusters = {
  async x402() {
    const account = await fundedWallet(shop)
    const { asset, payTo } = shop.config.x402!
    const allow = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [MULTICALL, DOLLAR] })
    await sendFrom(shop.chains.native, account, asset, allow)
    const callData = encodeFunctionData({ abi, functionName: 'transferFrom', args: [account.address, payTo, 1n] })
    for (let sent = 0; sent < DUST; sent += PER_TRANSACTION) {
      const calls = Array.from({ length: Math.min(PER_TRANSACTION, DUST - sent) }, () => ({
        target: asset,
        allowFailure: false,
        callData,
      }))
      const data = encodeFunctionData({ abi: multicall3.abi, functionName: 'aggregate3', args: [calls] })
      await sendFrom(shop.chains.native, account, MULTICALL, data)
    }
  },
  async mpp() {
    const wallet = await mppWallet(shop)
    const { currency, recipient } = shop.config.mpp!
    for (let sent = 0; sent < DUST; sent += PER_TRANSACTION) {
      const length = Math.min(PER_TRANSACTION, DUST - sent)
      const calls = Array.from({ length }, () => ({ to: currency.address, data: transfer(recipient, 1n) }))
      await wallet.send(wallet.sign(calls, { gas: 2_000_000n + BigInt(sent) }))
    }
  },
}
const MULTICALL = '0xcA11bde05977b3631167028862bE2a173976CA11'
const PER_TRANSACTION = 10

for (const [name, come] of [
  ['x402', x402Stranger],
  ['mpp', mppStranger],
] as const)
  test(`E2: a thousand transfers of dust on ${name} do not keep fifty dollars from going back`, async () => {
    const dust = (await states())['unmatched'] ?? 0
    await dusters[name]()
    const honest = await come(shop)
    await honest.give(50n * DOLLAR)
    const { rail, address } = honest
    const before = await rail.balance(shop, address)
    await until(async () => (await rail.balance(shop, address)) === before + 50n * DOLLAR)
    await until(async () => ((await states())['unmatched'] ?? 0) === dust + DUST)
    assert.equal((await states())['held'] ?? 0, 0)
    const { rows } = await shop.store.db.query<{ n: number }>(
      `select count(*)::int as n from events where data->>'transferId' is not null and data->>'amount' = '1'`,
    )
    assert.equal(rows[0]!.n, 0)
  })

test('A-09: a blocked payer who pays by push is set aside for a person', async () => {
  const wallet = await mppWallet(shop)
  blocked.add(wallet.address.toLowerCase())
  const url = `${shop.url}/agentic/mpp/buy`
  const body = { saleId: 392, beneficiary: wallet.address }
  const challenge = challengeOf(await fetch(url, post(body)))
  const hash = await wallet.send(wallet.sign([payingCall(challenge)]))
  const token = shop.config.mpp!.currency.address
  const paid = await erc20Balance(shop.chains.tempo, token, wallet.address)
  const before = await orderCount(shop)
  const answer = await fetch(url, post(body, { authorization: credentialOf(challenge, { type: 'hash', hash }) }))
  const { code, payment, refund } = await said(answer)
  assert.deepEqual([answer.status, code, payment.taken, refund], [409, 'payment_returned', true, null])
  assert.equal(await orderCount(shop), before)
  const arrival = async () =>
    (await shop.store.db.query<{ id: string; state: string }>('select * from transfers where transaction = $1', [hash]))
      .rows[0]
  await until(async () => (await arrival())?.state === 'held')
  assert.equal(await erc20Balance(shop.chains.tempo, token, wallet.address), paid)
  const decided = await asOperator(
    shop,
    `/operator/transfers/${(await arrival())!.id}`,
    post({ decision: 'refund', by: 'ada' }),
  )
  assert.equal(decided.status, 200)
  assert.equal(await erc20Balance(shop.chains.tempo, token, wallet.address), paid + 250_000n)
})

test('A-09: a payer who is blocked while an order fails is refunded only by a person', async () => {
  verifies('D6.10')
  const wallet = await mppWallet(shop)
  const body = { itemId: 'keys:5', nickname: 'fail_delivery' }
  const url = `${shop.url}/shop/mpp/buy`
  const challenge = challengeOf(await fetch(url, post(body)))
  const signature = wallet.sign([payingCall(challenge)])
  atDelivery = () => void blocked.add(wallet.address.toLowerCase())
  const authorization = credentialOf(challenge, { type: 'transaction', signature })
  const answer = await fetch(url, post(body, { authorization }))
  assert.equal(answer.status, 409)
  const { orderId } = await said(answer)
  const statusOf = async () =>
    (await shop.store.db.query<{ status: string }>('select status from orders where id = $1', [orderId])).rows[0]!
      .status
  // It is let go of, for a person: nobody works on it, and it is not due.
  await until(async () => {
    const { rows } = await shop.store.db.query(
      `select from jobs where key = $1 and lease is null and run_at > now() + interval '10 minutes'`,
      [orderId],
    )
    return rows.length === 1
  })
  assert.equal(await statusOf(), 'failed')
  const refunded = await asOperator(
    shop,
    `/operator/orders/${orderId}/refund`,
    post({ reason: 'a person looked', by: 'ada' }),
  )
  assert.equal(refunded.status, 200)
  assert.equal(await statusOf(), 'refunded')
})
