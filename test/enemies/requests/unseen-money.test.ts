import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { generatePrivateKey } from 'viem/accounts'
import type { Clock } from '../../../src/base/clock.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import {
  type Asked,
  challengeOf,
  credentialOf,
  type MppWallet,
  mppWallet,
  payingCall,
} from '../../checkout/mpp-wallet.ts'
import { lotFor, post } from '../../support/buyers.ts'
import { pathUsdOf } from '../../support/chain-reads.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'

// Nothing durable for money nobody has seen; and never "pay again" for money that is on the chain.

const meddler = createMeddler()
let shop: TestShop
before(async () => {
  shop = await startShop({
    wrapTransport: meddler.wrap,
    env: { SUTLER_RECONCILE_SECONDS: '1', SUTLER_RETURN_AFTER_SECONDS: '5' },
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS } }),
  })
})
after(() => shop.stop())

const PRICE = 250_000n
const TEMPO = 42431
const url = () => `${shop.url}/agentic/mpp/buy`
const ask = async (wallet: MppWallet): Promise<Asked> => challengeOf(await fetch(url(), post(lotFor(wallet))))
const show = (wallet: MppWallet, challenge: Asked, hash: string) =>
  fetch(url(), post(lotFor(wallet), { authorization: credentialOf(challenge, { type: 'hash', hash }) }))

/** A shop whose chains share its clock. */
async function startOwn(t: TestContext, clock: Clock): Promise<TestShop> {
  const own = await startShop({
    clock,
    wrapTransport: meddler.wrap,
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 100, leaseSeconds: 2 },
    }),
  })
  t.after(() => own.stop())
  return own
}

async function anHourPasses({ chains }: TestShop, clock: ReturnType<typeof movableClock>): Promise<void> {
  clock.move(3_600_000)
  for (const chain of [chains.native, chains.tempo]) await chain.request({ method: 'evm_mine' })
}

/** Everything that a purchase writes. */
async function rows(): Promise<Record<string, number>> {
  const tables = ['orders', 'payment_identities', 'events', 'sends', 'exposures', 'holds']
  const counts = tables.map((table) => `(select count(*)::int from ${table}) as ${table}`)
  // The till is read at any time, and then shows what earlier purchases paid.
  counts.push(
    `(select count(*)::int from transfers a where not exists (select from orders where payment_tx = a.transaction)) as transfers`,
  )
  const jobs = `(select count(*)::int from jobs where kind <> 'reconcile') as jobs`
  return (await shop.store.db.query<Record<string, number>>(`select ${[...counts, jobs].join(', ')}`)).rows[0]!
}

test('E4: a hundred hashes that nobody knows leave no row, and hold up no purchase', async () => {
  const wallet = await mppWallet(shop)
  const [challenge, bogus] = [await ask(wallet), await ask(wallet)]
  const before = await rows()
  const flood = Array.from({ length: 100 }, () => show(wallet, bogus, generatePrivateKey()))
  const hash = await wallet.send(wallet.sign([payingCall(challenge)]))
  await until(async () => (await show(wallet, challenge, hash)).status === 200)
  for (const answer of await Promise.all(flood)) {
    const { payment, retry } = await said(answer)
    assert.deepEqual([answer.status, payment.taken, retry.action], [202, 'unknown', 'wait_same_credential'])
  }
  const { orders, payment_identities } = await rows()
  assert.deepEqual([orders! - before['orders']!, payment_identities! - before['payment_identities']!], [1, 2])
})

for (const when of ['before it lands', 'after it landed'] as const)
  test(`M-08: a transfer of nothing, shown ${when}, is no payment and leaves nothing`, async (t) => {
    const wallet = await mppWallet(shop)
    const challenge = await ask(wallet)
    const hash = await wallet.send(wallet.sign([payingCall(challenge, { amount: 0n })]))
    const before = await rows()
    const reveal = meddler.meddle('eth_getTransactionReceipt', ([asked], chain) => (asked === hash ? null : chain()))
    t.after(reveal)
    if (when === 'after it landed') reveal()
    const { status } = await show(wallet, challenge, hash)
    assert.equal(status, when === 'before it lands' ? 202 : 402)
    reveal()
    const answer = await show(wallet, challenge, hash)
    const { code, payment } = await said(answer)
    assert.deepEqual([answer.status, code, payment.taken], [402, 'payment_verification_failed', false])
    assert.deepEqual(await rows(), before)
  })

test('E9: a payment that is shown long before it can be seen is never asked for again once it is there', async (t) => {
  const clock = movableClock()
  const own = await startOwn(t, clock)
  const wallet = await mppWallet(own)
  const body = lotFor(wallet)
  const challenge = challengeOf(await fetch(`${own.url}/agentic/mpp/buy`, post(body)))
  const hash = await wallet.send(wallet.sign([payingCall(challenge)]))
  const reveal = meddler.meddle('eth_getTransactionReceipt', ([asked], chain) => (asked === hash ? null : chain()))
  t.after(reveal)
  const authorization = credentialOf(challenge, { type: 'hash', hash })
  const showAgain = () => fetch(`${own.url}/agentic/mpp/buy`, post(body, { authorization }))
  assert.equal((await showAgain()).status, 202)
  // Whatever the shop remembers of it is given up by now.
  await anHourPasses(own, clock)
  await until(async () => {
    const { rows } = await own.store.db.query(`select from orders where status = 'settling'`)
    return rows.length === 0
  })
  reveal()
  let answer = await showAgain()
  await until(async () => {
    if (answer.status === 202) answer = await showAgain()
    return answer.status !== 202
  })
  assert.equal(answer.status, 200)
})

test('E9: a payment whose log is visible and whose receipt is not is not given up, however long that takes', async (t) => {
  const clock = movableClock()
  const own = await startOwn(t, clock)
  const wallet = await mppWallet(own)
  const address = `${own.url}/agentic/mpp/buy`
  const challenge = challengeOf(await fetch(address, post(lotFor(wallet))))
  const authorization = credentialOf(challenge, {
    type: 'transaction',
    signature: wallet.sign([payingCall(challenge)]),
  })
  const buy = () => fetch(address, post(lotFor(wallet), { authorization }))
  const reveal = meddler.meddle('eth_getTransactionReceipt', (_, chain, id) => (id === TEMPO ? null : chain()))
  t.after(reveal)
  assert.equal((await buy()).status, 202)
  await anHourPasses(own, clock)
  // Whoever looked at it after that either gave it up, or comes back in half a minute.
  await until(async () => {
    const { rows } = await own.store.db.query(`
      select from orders o
      where o.status <> 'settling'
         or exists (select from jobs j where j.key = o.id and j.lease is null and j.run_at > now() + interval '10 seconds')`)
    return rows.length === 1
  })
  assert.deepEqual(
    (await own.store.db.query<{ status: string }>('select status from orders')).rows.map(({ status }) => status),
    ['settling'],
  )
  assert.equal((await buy()).status, 202)
  reveal()
  await own.store.db.query(`update jobs set run_at = now() where kind = 'order'`)
  await until(async () => (await buy()).status === 200)
})

test('E9: a payment without the memo of its challenge goes back, and its payer hears so', async () => {
  verifies('D14.3')
  const wallet = await mppWallet(shop)
  const challenge = await ask(wallet)
  const hash = await wallet.send(wallet.sign([payingCall(challenge, { memo: `0x${'00'.repeat(32)}` })]))
  const paid = await pathUsdOf(shop, wallet.address)
  const answer = await show(wallet, challenge, hash)
  const { code, payment, retry, refund } = await said(answer)
  assert.deepEqual([answer.status, code, payment.taken, retry.action], [409, 'payment_returned', true, 'poll'])
  assert.equal(refund?.status, 'refunding')
  assert.ok([202, 409].includes((await fetch(retry.statusUrl!)).status))
  await until(async () => (await said(await fetch(retry.statusUrl!))).refund?.status === 'refunded')
  assert.equal(await pathUsdOf(shop, wallet.address), paid + PRICE)
})
