import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { inBatches } from '../../../src/chain/transport.ts'
import type { Transaction } from '../../../src/store/db.ts'
import { burnOf, readyCrafter } from '../../craft/workshop.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// All care for enemies is taken when something is amiss. The purchase that goes well asks the chain and the store no more often than it
// did before anybody thought of them. One question to the store is whether the studio has hidden the lot meanwhile.

/** Kept for some seconds, and read again by whoever comes first after that. */
const TIMED: readonly string[] = ['eth_getBlockByNumber', 'eth_getBalance', 'eth_chainId']

let shop: TestShop
const asked: string[] = []
const queried: string[] = []
/** While two are bought the clock is slow: what is kept for some seconds does not grow old meanwhile, however busy the machine is. */
let moment: number | null = null
const slowed = (now: number) => (moment === null ? now : moment + (now - moment) / 10)
before(async () => {
  shop = await startShop({
    withoutWorker: true,
    clock: { ...systemClock, now: () => slowed(systemClock.now()) },
    // As over HTTP, where questions of one turn go out in one letter.
    wrapTransport: (_chainId, transport) =>
      inBatches(async (letter) => {
        const requests = 'method' in letter ? [letter] : letter
        const methods = requests.map(({ method }) => method).filter((method) => !TIMED.includes(method))
        if (methods.length > 0) asked.push(methods.join('+'))
        const answers = requests.map(async (request) => ({ id: request.id, ...((await transport(request)) as object) }))
        return 'method' in letter ? answers[0] : Promise.all(answers)
      }),
    wrapDatabase: (database) => ({
      ...database,
      query(sql, values) {
        const text = typeof sql === 'string' ? sql : sql.text
        // Whoever is counted for rate limits is counted once in a while, and so are the rules of the house read.
        if (!/rate_counters|from sale_restrictions\n/.test(text)) queried.push(text)
        return database.query(sql, values)
      },
      transaction(work, options) {
        queried.push('begin', 'commit')
        const counted = (tx: Transaction): Transaction => ({
          ...tx,
          query(sql, values) {
            queried.push(typeof sql === 'string' ? sql : sql.text)
            return tx.query(sql, values)
          },
        })
        return database.transaction((tx) => work(counted(tx)), options)
      },
    }),
  })
})
after(() => shop.stop())

/** The second of two equal purchases: the first one finds the keys, the nonces and the shelves. */
async function costOf(purchase: () => Promise<Response>): Promise<{ chain: number; store: number }> {
  moment = systemClock.now()
  for (const _ of ['first', 'second']) {
    asked.length = 0
    queried.length = 0
    const response = await purchase()
    assert.equal(response.status, 200)
  }
  moment = null
  return { chain: asked.length, store: queried.length }
}

for (const [rail, cost] of [
  [x402UnderTest, { chain: 7, store: 7 }],
  [mppPullUnderTest, { chain: 7, store: 6 }],
  [mppPushUnderTest, { chain: 6, store: 12 }],
] as const)
  test(`a lot by ${rail.name} takes ${cost.chain} letters to the chain and ${cost.store} questions to the store`, async () => {
    const found = await costOf(async () => {
      const buyer = await fundedWallet(shop)
      const url = `${shop.url}/agentic/${rail.rail}/buy`
      const body = { saleId: 392, beneficiary: buyer.address }
      const credential = await rail.pay(shop, buyer, await fetch(url, post(body)))
      asked.length = 0
      queried.length = 0
      return fetch(url, post(body, { [rail.header]: credential }))
    })
    assert.deepEqual(found, cost)
  })

test('a burn by x402 takes 10 letters to the chain and 8 questions to the store', async () => {
  const crafter = await readyCrafter(shop)
  const nfts = [...crafter.nfts]
  const found = await costOf(() => crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, [nfts.pop()!])))
  assert.deepEqual(found, { chain: 10, store: 8 })
})
