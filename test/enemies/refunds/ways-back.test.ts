import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { usd } from '../../../src/base/money.ts'
import type { Config } from '../../../src/config/config.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { challengeOf, credentialOf, type MppWallet, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { AT_ONCE, asOperator, buyUrl, LOT, LOT_PRICE, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { mppStranger, type Stranger, x402Stranger } from '../../operations/strangers.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// Money that bought something never goes back as well, and what a person keeps from going back stays, whatever a node shows or hides.

const DOLLAR = 1_000_000n
const rail = mppPushUnderTest
const meddler = createMeddler()
let shop: TestShop
before(async () => {
  // Nobody reconciles behind the back of these tests.
  const configure = (config: Config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 300 } })
  shop = await startShop({ withoutWorker: true, configure, wrapTransport: meddler.wrap })
})
after(() => shop.stop())

const stateOf = async (transaction: string) =>
  (
    await shop.store.db.query<{ id: string; state: string; reason: string; log_index: number }>(
      'select * from transfers where transaction = $1 order by log_index',
      [transaction],
    )
  ).rows
const ask = async (payer: string) => {
  const request = { ...LOT, beneficiary: payer }
  return { request, challenge: challengeOf(await fetch(buyUrl(shop, rail), post(request))) }
}
type Wanted = Awaited<ReturnType<typeof ask>>
const present = ({ request, challenge }: Wanted, hash: string, url = buyUrl(shop, rail)) =>
  fetch(url, post(request, { authorization: credentialOf(challenge, { type: 'hash', hash }) }))
const decide = async (transaction: string, decision: string) => {
  const [arrival] = await stateOf(transaction)
  return asOperator(shop, `/operator/transfers/${arrival!.id}`, post({ decision, by: 'ada' }))
}

/** As long as a test wants it, the node that is asked for receipts is behind, and does not show this one. */
const hideReceipt = (hash: string) =>
  meddler.meddle('eth_getTransactionReceipt', ([asked], show) => (asked?.toLowerCase() === hash ? null : show()))

test('M-26: one transaction that pays two purchases: what bought something does not go back, whichever is presented first', async () => {
  const wallet = await mppWallet(shop)
  const [first, second] = [await ask(wallet.address), await ask(wallet.address)]
  const calls = [payingCall(first.challenge), payingCall(second.challenge)]
  const before = await rail.balance(shop, wallet.address)
  const hash = await wallet.send(wallet.sign(calls, { gas: 1_000_000n }))
  assert.equal((await present(second, hash)).status, 200)
  // Nobody presents the other one for so long that it goes back.
  await reconcileRail(shop, rail, AT_ONCE)
  await reconcileRail(shop, rail, AT_ONCE)
  const answer = await present(first, hash)
  const bought = 1n + (answer.status === 200 ? 1n : 0n)
  const paid = before - (await rail.balance(shop, wallet.address))
  assert.ok(paid >= bought * LOT_PRICE, `${bought} bought for ${paid}, and the last answer was ${answer.status}`)
})

test('M-26: the same for a payment that landed under another name than its order knows', async () => {
  const wallet = await mppWallet(shop)
  const [first, second] = [await ask(wallet.address), await ask(wallet.address)]
  const calls = [payingCall(first.challenge), payingCall(second.challenge)]
  const before = await rail.balance(shop, wallet.address)
  const hash = await wallet.send(wallet.sign(calls, { gas: 1_000_000n }))
  // By another replica, which is gone by then: whoever has sold it expects it in the store under the name that it had.
  const seller = await shop.replica()
  const sold = await present(second, hash, buyUrl(shop, rail).replace(shop.url, seller.url))
  assert.equal(sold.status, 200)
  await seller.stop()
  // As if it had been signed once more, and the order was opened for the other signature.
  await shop.store.db.query(
    `update payment_identities set identity = identity || '00' where identity like '%/transfer/%' and handle = $1`,
    [hash.toLowerCase()],
  )
  await reconcileRail(shop, rail, AT_ONCE)
  await reconcileRail(shop, rail, AT_ONCE)
  const again = await present(first, hash)
  const orderOf = async (answer: Response) => ((await answer.json()) as { orderId: string }).orderId
  assert.equal(await orderOf(again), await orderOf(sold), 'what was bought is told of once more')
  assert.ok(before - (await rail.balance(shop, wallet.address)) >= LOT_PRICE)
  assert.deepEqual((await stateOf(hash)).map(({ state }) => state).sort(), ['matched', 'returned'])
})

test('M-26: both are bought, and nothing goes back, when both are presented', async () => {
  const wallet = await mppWallet(shop)
  const [first, second] = [await ask(wallet.address), await ask(wallet.address)]
  const calls = [payingCall(first.challenge), payingCall(second.challenge)]
  const hash = await wallet.send(wallet.sign(calls, { gas: 1_000_000n }))
  for (const one of [second, first]) {
    assert.equal((await present(one, hash)).status, 200)
    await reconcileRail(shop, rail, TOMORROW)
  }
  const { items } = await reconcileRail(shop, rail, AT_ONCE)
  assert.deepEqual(
    items.filter(({ transaction }) => transaction === hash.toLowerCase()),
    [],
  )
  assert.deepEqual(
    (await stateOf(hash)).map(({ state }) => state),
    ['matched', 'matched'],
  )
})

describe('E30: a payment whose receipt is not shown at the moment', () => {
  let wallet: MppWallet
  let wanted: Wanted
  let hash: string
  before(async () => {
    wallet = await mppWallet(shop)
  })
  const pay = async () => {
    wanted = await ask(wallet.address)
    hash = (await wallet.send(wallet.sign([payingCall(wanted.challenge)]))).toLowerCase()
  }

  test('buys, or goes back, never both', async () => {
    await pay()
    const before = await rail.balance(shop, wallet.address)
    const show = hideReceipt(hash)
    await reconcileRail(shop, rail, AT_ONCE)
    show()
    const answer = await present(wanted, hash)
    await reconcileRail(shop, rail, AT_ONCE)
    await reconcileRail(shop, rail, AT_ONCE)
    const back = (await rail.balance(shop, wallet.address)) - before
    assert.equal(back, answer.status === 200 ? 0n : LOT_PRICE, `${answer.status}, and ${back} went back`)
  })
})

for (const [name, come] of [
  ['x402', x402Stranger],
  ['mpp', mppStranger],
] as const)
  describe(`E30: money on ${name} that a node does not show for a moment`, () => {
    let stranger: Stranger
    before(async () => {
      stranger = await come(shop)
    })
    const hideAndShow = async () => {
      const show = meddler.meddle('eth_getLogs', () => [])
      await reconcileRail(shop, stranger.rail, AT_ONCE)
      show()
      for (let look = 1; look <= 2; look++) await reconcileRail(shop, stranger.rail, AT_ONCE)
    }

    test('stays when a person said so', async () => {
      const hash = await stranger.give(DOLLAR)
      await reconcileRail(shop, stranger.rail, TOMORROW)
      assert.equal((await decide(hash, 'keep')).status, 200)
      const before = await stranger.rail.balance(shop, stranger.address)
      await hideAndShow()
      assert.equal((await stranger.rail.balance(shop, stranger.address)) - before, 0n)
      assert.equal((await stateOf(hash))[0]!.state, 'kept')
    })
  })

test('M-26: a payment that waited for a person and buys after all is known to have paid its order', async () => {
  const wallet = await mppWallet(shop)
  const wanted = await ask(wallet.address)
  const hash = await wallet.send(wallet.sign([payingCall(wanted.challenge)]))
  await reconcileRail(shop, rail, { ...AT_ONCE, refundsPerDay: usd(0n) })
  assert.equal((await stateOf(hash))[0]!.state, 'held')
  const answer = await present(wanted, hash)
  assert.equal(answer.status, 200)
  const { orderId } = (await answer.json()) as { orderId: string }
  const report = await reconcileRail(shop, rail, AT_ONCE)
  assert.deepEqual(
    report.items.filter((item) => item.orderId === orderId || item.transaction === hash.toLowerCase()),
    [],
  )
})
