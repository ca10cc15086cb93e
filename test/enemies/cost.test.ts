import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createMeddler } from '../checkout/meddler.ts'
import { accelerateOf, burnOf, readyCrafter } from '../craft/workshop.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { createFaultLine } from '../support/faults.ts'
import { startShop, type TestShop } from '../support/shop.ts'

let shop: TestShop
const seen: string[] = []
const queries: string[] = []
before(async () => {
  shop = await startShop({
    withoutWorker: true,
    wrapTransport: (_chainId, transport) => (request) => {
      seen.push(request.method)
      return transport(request)
    },
    wrapDatabase: (database) => ({
      ...database,
      query: (sql, values) => {
        queries.push((typeof sql === 'string' ? sql : sql.text).trim().split('\n').slice(0, 2).join(' '))
        return database.query(sql, values)
      },
      transaction: (work, options) => {
        queries.push('tx')
        return database.transaction(work, options)
      },
    }),
  })
})
after(() => shop.stop())

for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
  test(`cost of a lot by ${rail.name}`, async (t) => {
    for (let round = 0; round < 3; round++) {
      const buyer = await fundedWallet(shop)
      const url = `${shop.url}/agentic/${rail.rail}/buy`
      const body = { saleId: 392, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(url, post(body)))
      seen.length = 0
      queries.length = 0
      const response = await fetch(url, post(body, { [rail.header]: credential }))
      assert.equal(response.status, 200)
      t.diagnostic(`${seen.length} rpc: ${seen.join(' ')}`)
      t.diagnostic(`${queries.length} store: ${queries.join(' | ')}`)
    }
  })
for (const protocol of ['x402'] as const)
  test(`cost of a burn by ${protocol}`, async (t) => {
    const c = await readyCrafter(shop)
    for (let round = 0; round < 2; round++) {
      seen.length = 0
      queries.length = 0
      const response = await c.pay[protocol](
        `${shop.url}/craft/${protocol}/burn`,
        burnOf(c, c.nfts.slice(round, round + 1)),
      )
      assert.equal(response.status, 200)
      t.diagnostic(`${seen.length} rpc: ${seen.join(' ')}`)
      t.diagnostic(`${queries.length} store: ${queries.join(' | ')}`)
    }
  })
