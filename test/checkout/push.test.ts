import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { fundedWallet, lotFor, post } from '../support/buyers.ts'
import { pathUsdOf } from '../support/chain-reads.ts'
import { mppPullUnderTest, mppPushUnderTest } from '../support/credentials.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { ended, hastyReplica, movableClock, orderCount, said, setLot, verdict } from './counter.ts'
import { createMeddler } from './meddler.ts'
import { type Asked, challengeOf, credentialOf, type MppWallet, memoOf, mppWallet, payingCall } from './mpp-wallet.ts'

// A pushed payment has moved before we hear of it. Whatever speaks against the purchase, the money is on record and goes back.

const meddler = createMeddler()
type Changes = NonNullable<Parameters<typeof payingCall>[1]>

const PRICE = 250_000n
const OWN_LOTS = [71, 72, 73, 74]

let shop: TestShop
let hasty: string
before(async () => {
  shop = await startShop({
    wrapTransport: meddler.wrap,
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, receiptWaitMs: 200, leaseSeconds: 2 },
    }),
  })
  hasty = await hastyReplica(shop)
  for (const saleId of OWN_LOTS) await setLot(shop, saleId, { price: '0.25', supply: 10n })
})
after(() => shop.stop())

const url = () => `${shop.url}/agentic/mpp/buy`
const ask = async (body: object, headers: Record<string, string> = {}): Promise<Asked> =>
  challengeOf(await fetch(url(), post(body, headers)))
const show = (body: object, credential: string, headers: Record<string, string> = {}) =>
  fetch(url(), post(body, { authorization: credential, ...headers }))
/** For a payment that nobody can see yet. */
const showHastily = (body: object, credential: string, headers: Record<string, string> = {}) =>
  fetch(`${hasty}/agentic/mpp/buy`, post(body, { authorization: credential, ...headers }))

/** Pays a challenge on the chain; the shop has not heard of it yet. */
async function push(wallet: MppWallet, challenge: Asked, changes: Changes = {}) {
  const hash = await wallet.send(wallet.sign([payingCall(challenge, changes)]))
  return { hash, credential: credentialOf(challenge, { type: 'hash', hash }) }
}

/** Another process of the shop, at another time: what it knows of prices and blocks is fresh. */
async function inAnotherProcess(aheadMs = 0): Promise<typeof show> {
  const { url } = await shop.replica({ withoutWorker: true, clock: movableClock(aheadMs) })
  return (body, credential, headers = {}) =>
    fetch(`${url}/agentic/mpp/buy`, post(body, { authorization: credential, ...headers }))
}

/** The shop's node has not heard of these transactions yet. */
function hide(t: Pick<TestContext, 'after'>, ...hashes: readonly string[]): () => void {
  const reveal = meddler.meddle('eth_getTransactionReceipt', ([hash = ''], askChain) =>
    hashes.includes(hash) ? null : askChain(),
  )
  t.after(reveal)
  return reveal
}

test('an unreadable credential is answered with the price of the body, not with the lowest one', async () => {
  const wallet = await mppWallet(shop)
  const expensive = lotFor(wallet, { saleId: 393 })
  const challenge = await ask(expensive, { authorization: 'Payment junk' })
  assert.equal(challenge.request.amount, '250000000')
})

test('M-05 push: another body is refused with 409 and the original one still buys', async () => {
  verifies('D14.6')
  const wallet = await mppWallet(shop)
  const { credential } = await push(wallet, await ask(lotFor(wallet)))
  const other = await show(lotFor(wallet, { quantity: 2 }), credential)
  const refusal = await said(other)
  assert.deepEqual([other.status, refusal.code, refusal.payment.taken], [409, 'request_body_mismatch', true])
  assert.equal((await show(lotFor(wallet), credential)).status, 200)
})

test('M-05 push: a body that cannot be read does not say that nothing was taken', async () => {
  verifies('D8.3')
  const wallet = await mppWallet(shop)
  const { credential } = await push(wallet, await ask(lotFor(wallet)))
  const broken = await show({ ...lotFor(wallet), colour: 'red' }, credential)
  assert.equal(broken.status, 400)
  assert.equal((await said(broken)).payment.taken, 'unknown')
  assert.equal((await show(lotFor(wallet), credential)).status, 200)
})

for (const [what, saleId, terms] of [
  ['sold out', 71, { price: '0.25', supply: 0n }],
  ['closed', 72, { price: '0.25', supply: 10n, closesAt: 1n }],
] as const) {
  test(`money pushed for a lot that is ${what} by now is recorded and goes back`, async () => {
    const wallet = await mppWallet(shop)
    const body = lotFor(wallet, { saleId })
    const { credential } = await push(wallet, await ask(body))
    const paid = await pathUsdOf(shop, wallet.address)
    await setLot(shop, saleId, terms)
    const answer = await (await inAnotherProcess())(body, credential)
    assert.equal(answer.status, 409)
    const { code, payment, orderId } = await said(answer)
    assert.deepEqual([code, payment.taken], ['fulfilment_failed', true])
    assert.equal((await ended(shop, 'mpp', orderId)).status, 'refunded')
    assert.equal((await pathUsdOf(shop, wallet.address)) - paid, PRICE)
  })
}

test('a pushed payment that comes long after its challenge expired is still claimed', async () => {
  verifies('D14.5')
  const wallet = await mppWallet(shop)
  const { credential } = await push(wallet, await ask(lotFor(wallet)))
  const showLater = await inAnotherProcess(24 * 3_600_000)
  assert.equal((await showLater(lotFor(wallet), credential)).status, 200)
})

test('an old quote does not buy at the old price: the money goes back', async () => {
  const wallet = await mppWallet(shop)
  const body = lotFor(wallet, { saleId: 73 })
  const { credential } = await push(wallet, await ask(body))
  const paid = await pathUsdOf(shop, wallet.address)
  await setLot(shop, 73, { price: '99.00', supply: 10n })
  const answer = await (await inAnotherProcess(3_600_000))(body, credential)
  assert.equal(answer.status, 409)
  assert.equal((await ended(shop, 'mpp', (await said(answer)).orderId)).status, 'refunded')
  assert.equal((await pathUsdOf(shop, wallet.address)) - paid, PRICE)
})

test('a quote that is still good is honoured though the price has moved', async () => {
  verifies('D5.10')
  const wallet = await mppWallet(shop)
  const body = lotFor(wallet, { saleId: 74 })
  const { credential } = await push(wallet, await ask(body))
  await setLot(shop, 74, { price: '0.30', supply: 10n })
  assert.equal((await (await inAnotherProcess())(body, credential)).status, 200)
})

test('M-14: a pushed payment that is not visible yet is waited for without an order, and delivered once it is there', async (t) => {
  verifies('D14.2')
  const wallet = await mppWallet(shop)
  const { hash, credential } = await push(wallet, await ask(lotFor(wallet)))
  const reveal = hide(t, hash)
  const before = await orderCount(shop)
  const early = await showHastily(lotFor(wallet), credential)
  const { payment, retry } = await said(early)
  assert.deepEqual([early.status, payment.taken, retry.action], [202, 'unknown', 'wait_same_credential'])
  assert.equal(early.headers.get('retry-after'), '2')
  assert.equal(await orderCount(shop), before)
  reveal()
  const end = await said(await show(lotFor(wallet), credential))
  assert.equal(end.status, 'confirmed')
  assert.equal(end.payer, wallet.address)
  assert.equal(
    await nftOwner(shop.chains.native, end.nfts[0]!.contract, end.nfts[0]!.tokenId),
    wallet.address.toLowerCase(),
  )
})

test('a pushed payment that becomes visible while its caller waits is delivered in the same answer', async (t) => {
  const wallet = await mppWallet(shop)
  const { hash, credential } = await push(wallet, await ask(lotFor(wallet)))
  const reveal = hide(t, hash)
  const looks = () => meddler.seen('eth_getTransactionReceipt').filter(({ params }) => params[0] === hash).length
  const answer = show(lotFor(wallet), credential)
  await until(async () => looks() > 2)
  reveal()
  assert.equal((await answer).status, 200)
})

test('while the chain does not answer, a pushed payment leaves nothing, and nobody is told to pay again', async () => {
  const wallet = await mppWallet(shop)
  const { credential } = await push(wallet, await ask(lotFor(wallet)))
  const before = await orderCount(shop)
  const silent = () => {
    throw new Error('nobody answers')
  }
  const stops = ['eth_getTransactionReceipt', 'eth_getBlockByNumber'].map((method) =>
    meddler.meddle(method, (_params, askChain, chainId) => (chainId === 42431 ? silent() : askChain())),
  )
  const early = await showHastily(lotFor(wallet), credential)
  assert.deepEqual([early.status, (await said(early)).payment.taken], [202, 'unknown'])
  assert.equal(await orderCount(shop), before)
  for (const stop of stops) stop()
  assert.equal((await show(lotFor(wallet), credential)).status, 200)
})

test('a stolen hash does not burn the payment of the one who paid', async (t) => {
  const [victim, thief] = [await mppWallet(shop), await mppWallet(shop)]
  const { hash, credential } = await push(victim, await ask(lotFor(victim)))
  const reveal = hide(t, hash)
  const stolen = credentialOf(await ask(lotFor(thief)), { type: 'hash', hash })
  assert.equal((await showHastily(lotFor(thief), stolen)).status, 202)
  reveal()
  const answer = await show(lotFor(victim), credential)
  assert.equal(answer.status, 200)
  assert.equal((await said(answer)).payer, victim.address)
  assert.deepEqual(await verdict(await show(lotFor(thief), stolen)), [409, 'payment_conflict'])
})

test('a stolen hash that is visible buys nothing, and its payer still buys with it', async () => {
  const [victim, thief] = [await mppWallet(shop), await mppWallet(shop)]
  const { hash, credential } = await push(victim, await ask(lotFor(victim)))
  const before = await orderCount(shop)
  const stolen = credentialOf(await ask(lotFor(thief)), { type: 'hash', hash })
  assert.deepEqual(await verdict(await show(lotFor(thief), stolen)), [409, 'payment_returned'])
  assert.equal(await orderCount(shop), before)
  assert.equal((await show(lotFor(victim), credential)).status, 200)
})

test('a claimed but unproved sender blocks neither the purchases nor the keys of the wallet it names', async () => {
  const victim = await fundedWallet(shop)
  const body = lotFor(victim)
  const key = { 'idempotency-key': 'the-key-of-the-victim' }
  const nowhere = `0x${'ab'.repeat(32)}`
  const lie = credentialOf(await ask(body), { type: 'hash', hash: nowhere }, `did:pkh:eip155:42431:${victim.address}`)
  assert.equal((await showHastily(body, lie, key)).status, 202)
  const credential = await mppPullUnderTest.pay(shop, victim, await fetch(url(), post(body)))
  const answer = await show(body, credential, key)
  assert.equal(answer.status, 200)
  assert.equal((await said(answer)).payer, victim.address)
})

test('a payer who is only known later keeps an order with a key of their own', async (t) => {
  const wallet = await mppWallet(shop)
  const key = { 'idempotency-key': 'one-key-for-two-things' }
  const first = await push(wallet, await ask(lotFor(wallet)))
  assert.equal((await show(lotFor(wallet), first.credential, key)).status, 200)
  const second = await push(wallet, await ask(lotFor(wallet, { quantity: 2 })))
  const reveal = hide(t, second.hash)
  const early = await showHastily(lotFor(wallet, { quantity: 2 }), second.credential, key)
  assert.equal(early.status, 202)
  reveal()
  const late = await said(await show(lotFor(wallet, { quantity: 2 }), second.credential, key))
  assert.equal((await ended(shop, 'mpp', late.orderId)).status, 'refunded')
})

for (const visible of ['at once', 'later'] as const) {
  test(`M-08 push: another amount than asked for, seen ${visible}, goes back in full`, async (t) => {
    verifies('D14.3')
    const wallet = await mppWallet(shop)
    const { hash, credential } = await push(wallet, await ask(lotFor(wallet)), { amount: PRICE - 1n })
    const paid = await pathUsdOf(shop, wallet.address)
    const reveal = visible === 'later' ? hide(t, hash) : () => {}
    if (visible === 'later') assert.equal((await showHastily(lotFor(wallet), credential)).status, 202)
    reveal()
    const answer = await show(lotFor(wallet), credential)
    assert.equal(answer.status, 409)
    const end = await ended(shop, 'mpp', (await said(answer)).orderId)
    assert.deepEqual([end.status, end.refund?.amount], ['refunded', '0.249999'])
    assert.equal((await pathUsdOf(shop, wallet.address)) - paid, PRICE - 1n)
  })
}

test('one transaction never pays two challenges', async () => {
  const wallet = await mppWallet(shop)
  const [first, second] = [await ask(lotFor(wallet)), await ask(lotFor(wallet, { quantity: 2 }))]
  const { hash, credential } = await push(wallet, first)
  assert.equal((await show(lotFor(wallet), credential)).status, 200)
  const again = credentialOf(second, { type: 'hash', hash })
  assert.deepEqual(await verdict(await show(lotFor(wallet, { quantity: 2 }), again)), [409, 'payment_conflict'])
})

test('the same challenge is never given to two callers, even in the same millisecond', async () => {
  const wallet = await mppWallet(shop)
  const still = Date.now()
  const twin = await shop.replica({ withoutWorker: true, clock: { ...movableClock(), now: () => still } })
  const call = () => fetch(`${twin.url}/agentic/mpp/buy`, post(lotFor(wallet), { 'x-flow-id': 'everybody-uses-this' }))
  const [one, other] = [challengeOf(await call()), challengeOf(await call())]
  assert.equal(one.expires, other.expires)
  assert.notEqual(one.id, other.id)
})

test('pushed money is sent back by a shop that takes only pull', async () => {
  verifies('D14.1')
  const wallet = await mppWallet(shop)
  const pullOnly = await shop.replica({
    configure: (config) => ({ ...config, mpp: { ...config.mpp!, modes: ['pull'] } }),
  })
  const address = `${pullOnly.url}/agentic/mpp/buy`
  const challenge = challengeOf(await fetch(address, post(lotFor(wallet))))
  const { credential } = await push(wallet, challenge)
  const answer = await fetch(address, post(lotFor(wallet), { authorization: credential }))
  assert.equal(answer.status, 409)
  assert.equal((await ended(shop, 'mpp', (await said(answer)).orderId)).status, 'refunded')
})

test('a stock push client pays once, whatever the answer', async () => {
  verifies('D14.1')
  const buyer = await fundedWallet(shop)
  const before = await pathUsdOf(shop, buyer.address)
  const credential = await mppPushUnderTest.pay(shop, buyer, await fetch(url(), post(lotFor(buyer))))
  assert.equal((await show(lotFor(buyer), credential)).status, 200)
  assert.ok(before - (await pathUsdOf(shop, buyer.address)) < 2n * PRICE)
})

test('the memo of a challenge is the one its payers use', async () => {
  const buyer = await fundedWallet(shop)
  const unpaid = await fetch(url(), post(lotFor(buyer)))
  const memo = memoOf(challengeOf(unpaid.clone()))
  const bought = await said(await show(lotFor(buyer), await mppPushUnderTest.pay(shop, buyer, unpaid)))
  const receipt = (await shop.chains.tempo.request({
    method: 'eth_getTransactionReceipt',
    params: [bought.paymentTx],
  })) as { logs: { topics: string[] }[] }
  assert.ok(receipt.logs.some(({ topics }) => topics[3] === memo))
})
