import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { PaidRoute } from '../../src/domain/route.ts'
import { orderCount, verdict } from '../checkout/counter.ts'
import { filledIn, fundedWallet, post } from '../support/buyers.ts'
import { edited, mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// M-03: what was signed for one route is worth nothing on any other, though both may cost the same.

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

const paidRows = (rail: RailUnderTest) =>
  shop.service.routes.filter(
    (route): route is PaidRoute => route.kind === 'paid' && route.offer.rail.name === rail.rail,
  )
const urlOf = ({ path }: PaidRoute) => shop.url + path
const callOf = ({ method, body, example }: PaidRoute, headers: Readonly<Record<string, string>> = {}): RequestInit =>
  method === 'GET' ? { headers } : body === null ? { method, headers } : post(filledIn(example), headers)

/** The refusals that are about the payment, and tell its payer that it was not taken. */
const notForThis = new Set([
  'payment_terms_mismatch',
  'payment_amount_mismatch',
  'payment_insufficient',
  'invalid_challenge',
])
for (const rail of [x402UnderTest, mppPullUnderTest]) {
  describe(rail.name, () => {
    test('M-03: a payment for one paid route is not taken by any other', async (t) => {
      const [orders, till] = [await orderCount(shop), await rail.till(shop)]
      const told = new Map<string, number>()
      for (const one of paidRows(rail)) {
        const unpaid = await fetch(urlOf(one), callOf(one))
        const credential = await rail.pay(shop, buyer, unpaid)
        for (const other of paidRows(rail).filter((row) => row !== one)) {
          const [status, code = ''] = await verdict(
            await fetch(urlOf(other), callOf(other, { [rail.header]: credential })),
          )
          const what = `${one.path} paid, ${other.path} asked: ${status} ${code}`
          assert.ok(status === 402 && notForThis.has(code), what)
          told.set(code, (told.get(code) ?? 0) + 1)
        }
      }
      assert.deepEqual([await orderCount(shop), await rail.till(shop)], [orders, till])
      t.diagnostic(JSON.stringify(Object.fromEntries(told)))
    })

    test('M-03: a payment that was used is refused by all of them, whatever it claims to be for', async () => {
      const own = paidRows(rail).find(({ path }) => path.startsWith('/agentic/'))!
      const body = { saleId: 392, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(urlOf(own), post(body)))
      assert.equal((await fetch(urlOf(own), post(body, { [rail.header]: credential }))).status, 200)
      const [orders, till] = [await orderCount(shop), await rail.till(shop)]
      for (const other of paidRows(rail).filter((row) => row !== own)) {
        const renamed = edited(credential, (value) => ({ ...value, resource: { url: urlOf(other) } }))
        for (const shown of [credential, renamed]) {
          const answer = await fetch(urlOf(other), callOf(other, { [rail.header]: shown }))
          assert.deepEqual(await verdict(answer), [409, 'payment_conflict'], other.path)
        }
      }
      assert.deepEqual([await orderCount(shop), await rail.till(shop)], [orders, till])
    })

    test('M-03: a payment in the header of one protocol is none on the routes of the other', async () => {
      const other = rail === x402UnderTest ? mppPullUnderTest : x402UnderTest
      const own = paidRows(rail).find(({ path }) => path.startsWith('/agentic/'))!
      const foreign = paidRows(other).find(({ path }) => path.startsWith('/agentic/'))!
      const body = { saleId: 392, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(urlOf(own), post(body)))
      const orders = await orderCount(shop)
      const answer = await fetch(urlOf(foreign), post(body, { [rail.header]: credential }))
      assert.notEqual(answer.status, 200)
      assert.equal(await orderCount(shop), orders)
      assert.equal((await fetch(urlOf(own), post(body, { [rail.header]: credential }))).status, 200)
    })
  })
}
