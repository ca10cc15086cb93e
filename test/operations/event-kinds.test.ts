import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { eventTypes } from '../../src/domain/event.ts'
import type { OrderStatus } from '../../src/domain/order.ts'
import { troubleKinds } from '../../src/domain/trouble.ts'
import { readEvents } from '../../src/store/events.ts'
import { recordLook } from '../../src/store/troubles.ts'
import { pumpEvents } from '../../src/webhooks/pump.ts'
import { bodyOf } from '../../src/webhooks/sign.ts'
import { burnOf, readyCrafter } from '../craft/workshop.ts'
import { type OpenApi, readJson } from '../documents/documents.ts'
import { linkedBuyer } from '../shop/support.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { AT_ONCE, asOperator, CURSED_LOT, LOT, reconcileRail } from './desk.ts'
import { x402Stranger } from './strangers.ts'

type Told = { type: string; data: Record<string, unknown> & { sequence: number; status?: OrderStatus } }

let shop: TestShop
let buyer: PrivateKeyAccount
/** Everything that was told, as receivers of webhooks get it. */
let told: readonly Told[]

before(async () => {
  shop = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 200, receiptWaitMs: 50 } }),
  })
  buyer = await fundedWallet(shop)
  await sellEverything()
  await until(async () => (await openOrders()) === 0)
  const deed = await asOperator(shop, '/operator/items/keys:5', post({ levelMin: 1, description: 'Five keys.' }))
  assert.equal(deed.status, 200)
  const stranger = await x402Stranger(shop)
  await stranger.give(1_000_000n)
  await until(async () => (await reconcileRail(shop, stranger.rail, AT_ONCE)).items.length === 0)
  await stranger.give(2_000_000n)
  await reconcileRail(shop, stranger.rail, { ...AT_ONCE, returnsUnmatched: false })
  await suffer()
  await pumpEvents(shop.store.db)
  told = (await readEvents(shop.store.db, 0n, 10_000)).map((event) => JSON.parse(bodyOf(event)))
})
after(() => shop.stop())

/** Each kind of trouble, from its begin to its end. That they are seen is for another file. */
async function suffer(): Promise<void> {
  const { db } = shop.store
  const at = systemClock.now()
  const troubles = troubleKinds.map((kind) => ({ kind, about: 'this', detail: 'That is wrong; do something.' }))
  await recordLook(db, { at, troubles, seen: troubleKinds, quietMs: 0 }, systemRandom)
  await recordLook(db, { at: at + 1, troubles: [], seen: troubleKinds, quietMs: 0 }, systemRandom)
}

const openOrders = async () =>
  Number(
    (
      await shop.store.db.query<{ n: string }>(
        `select count(*) as n from orders where status not in ('confirmed', 'refunded', 'expired')`,
      )
    ).rows[0]!.n,
  )

const fault = (kind: string, to: string) => shop.chains.native.request({ method: 'dev_fault', params: [{ kind, to }] })
/** The next transaction to a contract is lost and has to be sent again: meanwhile its order is on the way. */
const chainForgets = (contract: string) => fault('drop', contract)

/** Each good once, and beside it purchases that end in every other way. */
async function sellEverything(): Promise<void> {
  const { url } = shop
  const x402 = x402Payer(buyer)
  const linked = await linkedBuyer(shop)
  const crafter = await readyCrafter(shop)
  const [first, second] = crafter.nfts
  const lot = (which: { saleId: number }) => post({ ...which, beneficiary: buyer.address })
  await chainForgets(shop.world.contracts.sale)
  await x402(`${url}/agentic/x402/buy`, lot(LOT))
  await mppPayer(shop, buyer, 'pull')(`${url}/agentic/mpp/buy`, lot(LOT))
  await x402(`${url}/agentic/x402/buy`, lot(CURSED_LOT))
  await x402(`${url}/shop/x402/buy`, post({ itemId: 'keys:5', nickname: linked.nickname }))
  await mppPayer(shop, linked.account, 'pull')(`${url}/shop/mpp/player-lookup`, { method: 'POST' })
  await x402(`${url}/x402/cheap-health`)
  await x402(`${url}/x402/report-tx`, post({ userId: 'ada', txHash: `0x${'ab'.repeat(32)}` }))
  await chainForgets(shop.world.contracts.craftController)
  await crafter.pay.mpp(`${url}/craft/mpp/burn`, burnOf(crafter, [first!]))
  // Paid by push for what is not theirs: the action fails, and the money goes back.
  await mppPayer(shop, buyer, 'push')(`${url}/craft/mpp/burn`, burnOf(crafter, [second!]))
  // Settlements that the token refuses: the payment never lands. No refund may be under way that would be refused instead.
  await until(async () => (await openOrders()) === 0)
  for (const [path, body] of [
    ['/agentic/x402/buy', { ...LOT, beneficiary: buyer.address }],
    ['/craft/x402/burn', { user: crafter.address, nfts: [second] }],
  ] as const) {
    const payer = path.startsWith('/craft') ? crafter.account : buyer
    const credential = await x402UnderTest.pay(shop, payer, await fetch(url + path, post(body)))
    await fault('revert', shop.config.x402!.asset)
    await fetch(url + path, post(body, { [x402UnderTest.header]: credential }))
    await until(async () => (await openOrders()) === 0)
  }
}

test('I13: every kind of event happens, and every state change of every order is told in exactly one', async () => {
  verifies('D10.1', 'D10.2', 'D10.8')
  assert.deepEqual(new Set(told.map(({ type }) => type)), new Set(eventTypes))
  const { rows: orders } = await shop.store.db.query<{ id: string; history: { status: OrderStatus }[] }>(
    'select id, history from orders',
  )
  assert.equal(orders.length, 11)
  for (const { id, history } of orders) {
    const own = told.filter(({ type, data }) => data['orderId'] === id && type !== 'report.recorded')
    assert.deepEqual(
      own.map(({ data }) => [data.sequence, data.status]),
      history.map(({ status }, n) => [n + 1, status]),
    )
  }
})

test('OpenAPI `webhooks` describes each event, and every body that was sent is what it describes', async () => {
  const document = await readJson<OpenApi>(`${shop.url}/openapi.full.json`)
  assert.deepEqual(Object.keys(document.webhooks!).toSorted(), [...eventTypes].toSorted())
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema({ $id: 'https://document.test/', ...document })
  for (const body of told) {
    const pointer = `/webhooks/${body.type}/post/requestBody/content/application~1json/schema`
    const validate = ajv.compile({ $ref: `https://document.test/#${pointer}` })
    assert.equal(validate(body), true, `${JSON.stringify(body)}: ${ajv.errorsText(validate.errors)}`)
    const { sequence: _, ...data } = body.data
    assert.equal(validate({ ...body, data }), false, 'the sequence is part of it')
    assert.equal(validate({ ...body, data: { sequence: 1 } }), false, 'and so is the object')
  }
})

test('K-01: an event holds the object that its buyer sees, and nothing that pays, identifies a client or is ours', async () => {
  const members = new Set<string>()
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) members.add(name)
      collect(inner)
    }
  }
  for (const { data } of told) collect(data)
  const forbidden =
    /credential|authorization|signature|secret|nonce|digest|idempotency|proof|lease|attempts|^plan$|^input$|ip$|agent|email/i
  assert.deepEqual(
    [...members].filter((name) => forbidden.test(name)),
    [],
  )
  const { rows } = await shop.store.db.query<{ id: string; answer_body: string }>(
    `select id, answer_body from orders where status = 'confirmed'`,
  )
  assert.equal(rows.length, 7)
  for (const { id, answer_body } of rows) {
    const last = told.find(({ type, data }) => type.endsWith('.confirmed') && data['orderId'] === id)
    const { sequence: _, ...object } = last!.data
    assert.deepEqual(object, JSON.parse(answer_body), 'what the buyer was answered')
  }
})
