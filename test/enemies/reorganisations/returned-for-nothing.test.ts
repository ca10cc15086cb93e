import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import type { Address, Hash } from '../../../src/base/address.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import type { TillReport } from '../../../src/checkout/reconcile.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { readAttention, readNeeds } from '../../../src/store/attention.ts'
import { letGoOf } from '../../../src/store/retention/step.ts'
import { mppWallet } from '../../checkout/mpp-wallet.ts'
import { signFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, asOperator, reconcileRail } from '../../operations/desk.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { drop } from '../support/stepped-shop.ts'

// E196: money that came without an order went back, and then the chain takes back the payment, and not the refund.

const GIFT = 300_000n

/** A signed transfer to the till that buys nothing. */
type Gift = { readonly rail: RailUnderTest; readonly from: Address; readonly raw: Hex }

async function byX402(shop: TestShop): Promise<Gift> {
  const account = await fundedWallet(shop)
  const { asset, payTo } = shop.config.x402!
  const raw = await signFrom(shop.chains.native, account, asset, transfer(payTo, GIFT))
  return { rail: x402UnderTest, from: account.address, raw }
}

async function byMpp(shop: TestShop): Promise<Gift> {
  const { address, sign } = await mppWallet(shop)
  const { currency, recipient } = shop.config.mpp!
  const validBefore = Math.floor(Date.now() / 1000) + 3_600
  const raw = sign([{ to: currency.address, data: transfer(recipient, GIFT) }], { nonceKey: 0n, validBefore })
  return { rail: mppPushUnderTest, from: address, raw }
}

/** A shop that asks two nodes and has sent a gift back, and whose chain then takes the gift back. */
async function startWithGift(t: TestContext, giftOf: (shop: TestShop) => Promise<Gift>) {
  const logged: string[] = []
  const log = createLog({ level: 'error', clock: systemClock, write: (line) => logged.push(line) })
  const shop = await startShop({ withoutWorker: true, log, wrapTransport: (_chain, node) => [node, node] })
  t.after(() => shop.stop())
  const { rail, from, raw } = await giftOf(shop)
  const chain = rail.rail === 'mpp' ? shop.chains.tempo : shop.chains.native
  const { db } = shop.store
  const look = () => reconcileRail(shop, rail, AT_ONCE)
  const give = () => chain.request({ method: 'eth_sendRawTransaction', params: [raw] }) as Promise<Hash>
  const stateOf = async () => (await db.query<{ state: string }>('select state from arrivals')).rows
  await look()
  const payment = await give()
  for (let round = 0; round < 3; round++) await look()
  assert.deepEqual(await stateOf(), [{ state: 'refunded' }])
  await drop(chain, payment)
  const { rows } = await db.query<{ id: string }>('select id from arrivals')
  return {
    shop,
    db,
    id: rows[0]!.id,
    payment,
    logged,
    look,
    give,
    stateOf,
    sentBack: () => transfers(shop, rail, demoAddressOf('treasury'), from),
    /** As if the chain had not shown it for an hour. */
    letRunOut: () => db.query(`update missing_settlements set updated_at = now() - interval '1 hour'`),
  }
}

const named = ({ items, difference }: TillReport) => ({
  items: items.map(({ kind, id, orderId, transaction, amount }) => ({ kind, id, orderId, transaction, amount })),
  difference,
})

for (const [name, giftOf] of [
  ['x402', byX402],
  ['MPP', byMpp],
] as const) {
  test(`E196: is named, missing and then lost, until it is back, and goes back once: ${name}`, async (t) => {
    const { shop, db, id, payment, logged, look, give, sentBack, letRunOut } = await startWithGift(t, giftOf)
    const item = (kind: string) => ({ kind, id, orderId: null, transaction: payment, amount: GIFT })
    assert.deepEqual(named(await look()), { items: [item('missing')], difference: -GIFT })
    assert.deepEqual(
      (await readNeeds(db, Date.now())).map(({ kind, about, status, money }) => [kind, about, status, money?.amount]),
      [['reconcile_difference', id, null, GIFT]],
    )
    await letRunOut()
    assert.deepEqual(named(await look()), { items: [item('lost')], difference: -GIFT })
    const [trouble, ...others] = await readAttention(db, Date.now())
    assert.deepEqual([trouble?.about, others], [id, []])
    assert.match(trouble!.detail, new RegExp(`sutler arrivals show ${id}`))
    const { items } = (await (await asOperator(shop, '/operator/attention')).json()) as {
      items: { kind: string; subject: unknown; amount: string }[]
    }
    assert.deepEqual(
      items.filter(({ kind }) => kind === 'lost').map(({ subject, amount }) => [subject, amount]),
      [[{ type: 'arrival', id }, '0.30']],
    )
    assert.equal(logged.filter((line) => line.includes('the chain dropped payments') && line.includes(id)).length, 1)
    assert.equal(logged.filter((line) => line.includes('a payment is lost') && line.includes(id)).length, 1)
    assert.deepEqual(await sentBack(), [GIFT])
    await give()
    for (let round = 0; round < 3; round++) await look()
    assert.deepEqual(named(await look()), { items: [], difference: 0n })
    assert.deepEqual(await sentBack(), [GIFT])
    assert.deepEqual(await readNeeds(db, Date.now()), [])
  })
}

test('E196: a refund that has left is written down, though what it is for is gone', async (t) => {
  const { db, look, stateOf, sentBack } = await startWithGift(t, byX402)
  // As if the process had died before it wrote that the refund has landed.
  await db.query(`update arrivals set state = 'refunding', refund_tx = null`)
  await look()
  assert.deepEqual(await stateOf(), [{ state: 'refunded' }])
  assert.deepEqual(await sentBack(), [GIFT])
})

test('E196: what is missing is not let go of with other old arrivals', async (t) => {
  const { db, look, give } = await startWithGift(t, byX402)
  await look()
  await db.query(`update arrivals set found_at = now() - interval '1 year', updated_at = now() - interval '1 year'`)
  assert.equal(await letGoOf(db, 'arrivals', Date.now()), 0)
  await give()
  for (let round = 0; round < 2; round++) await look()
  await db.query(`update arrivals set updated_at = now() - interval '1 year'`)
  assert.equal(await letGoOf(db, 'arrivals', Date.now()), 1)
})
