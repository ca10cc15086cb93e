import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
import { fundedWallet, lotFor, mppPayer, post, x402Payer } from '../../support/buyers.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// Many wallets share one address: those of one process, of one office, of one proxy. What one of them does must not strand the money of the others.

const FAILED = 30
const NOBODY = { address: '0x00000000000000000000000000000000000000aa' }

/** Long enough for a test on a busy machine. */
const WINDOW_LEFT_SECONDS = 55

/** A shop behind a proxy, and the headers of a client whose window has just begun, so that none ends in the middle of a test. */
async function start(t: TestContext) {
  const shop = await startShop({
    configure: ({ http, limits, ...config }) => ({
      ...config,
      http: { ...http, proxyHops: 1 },
      limits: { ...limits, rate: { ...limits.rate, failed: FAILED } },
    }),
  })
  t.after(() => shop.stop())
  for (let host = 0; ; host++) {
    const client = { 'x-forwarded-for': `10.0.${host >> 8}.${host & 255}` }
    const { headers } = await fetch(buyUrl(shop, 'x402'), post(lotFor(NOBODY), client))
    if (Number(/t=(\d+)/.exec(headers.get('ratelimit')!)![1]) >= WINDOW_LEFT_SECONDS) return { shop, client }
  }
}

const buyUrl = (shop: TestShop, rail: string) => `${shop.url}/agentic/${rail}/buy`

type Client = Readonly<Record<string, string>>

async function sendRubbish(shop: TestShop, client: Client): Promise<void> {
  const rubbish = post({}, { 'payment-signature': 'e30=', ...client })
  const send = async () => (await fetch(buyUrl(shop, 'x402'), rubbish)).status
  for (let sent = 0; sent < FAILED; sent++) assert.equal(await send(), 400)
  assert.equal(await send(), 429)
}

for (const rail of ['x402', 'mpp pull', 'mpp push'] as const)
  test(`rubbish from one wallet stops no stock ${rail} client at the same address`, async (t) => {
    verifies('D9.2', 'D9.11')
    const { shop, client } = await start(t)
    await sendRubbish(shop, client)
    const buyers = [await fundedWallet(shop), await fundedWallet(shop)]
    for (const buyer of buyers) {
      const pay = rail === 'x402' ? x402Payer(buyer) : mppPayer(shop, buyer, rail === 'mpp pull' ? 'pull' : 'push')
      const answer = await pay(buyUrl(shop, rail.split(' ')[0]!), post(lotFor(buyer), client))
      assert.equal(answer.status, 200, await answer.text())
    }
  })

test('one challenge, spelt in whatever way, lets five payments in and no more', async (t) => {
  verifies('D9.11')
  const { shop, client } = await start(t)
  const url = buyUrl(shop, 'x402')
  await sendRubbish(shop, client)
  const required = requiredOf(await fetch(url, post(lotFor(NOBODY), client)))
  const statuses: number[] = []
  for (let tries = 0; tries < 8; tries++) {
    const payment = await paymentFor(await fundedWallet(shop, 0n), required)
    const { accepted } = structuredClone(payment) as unknown as { accepted: { extra: { claim: string } } }
    if (tries % 2) accepted.extra.claim = accepted.extra.claim.replaceAll('-', '+').replaceAll('_', '/')
    const sent = post(lotFor(NOBODY), { ...client, 'payment-signature': encoded({ ...payment, accepted }) })
    statuses.push((await fetch(url, sent)).status)
  }
  assert.deepEqual(statuses, [402, 402, 402, 402, 402, 429, 429, 429])
})

test('a claim that we did not issue, or for another price, lets nobody in', async (t) => {
  verifies('D9.2')
  const { shop, client } = await start(t)
  const url = buyUrl(shop, 'x402')
  const required = requiredOf(await fetch(url, post(lotFor(NOBODY), client)))
  await sendRubbish(shop, client)
  const [offer] = required.accepts
  for (const change of [{ amount: '1' }, { extra: { ...offer.extra, claim: 'A'.repeat(64) } }]) {
    const payment = await paymentFor(await fundedWallet(shop), { ...required, accepts: [{ ...offer, ...change }] })
    const sent = post(lotFor(NOBODY), { ...client, 'payment-signature': encoded(payment) })
    assert.equal((await fetch(url, sent)).status, 429)
  }
})

test('no client takes more than a tenth of the places in which pushes are waited for', async (t) => {
  verifies('D9.10')
  const { shop } = await start(t)
  const { checkout } = shop.service
  const takeAll = (client: string) => {
    const leaves: (() => void)[] = []
    for (let leave = checkout.enterWaitingRoom(client); leave; leave = checkout.enterWaitingRoom(client))
      leaves.push(leave)
    return leaves
  }
  const { waitingMax } = shop.config.limits
  const crowd = Array.from({ length: 20 }, (_, index) => takeAll(`client ${index}`))
  const tenth = Math.floor(waitingMax / 10)
  assert.deepEqual(crowd[0]!.length, tenth)
  assert.deepEqual(crowd[9]!.length, tenth)
  assert.equal(crowd.flat().length, waitingMax)
  crowd[0]!.pop()!()
  assert.equal(takeAll('client 1').length, 0)
  assert.equal(takeAll('client 0').length, 1)
})
