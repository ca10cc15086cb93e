import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { RECONCILE } from '../../src/ledger/reconcile-context.ts'
import type { EngineName } from '../../src/store/backend.ts'
import { deleteIdleExposures, deleteStep, type Retained, retained } from '../../src/store/retention.ts'
import { claimantOf } from '../../src/store/transfers/claims.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { tester } from '../support/doer.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { asOperator, buy, buyUrl, payFor, reconcileRail, type Sold, status } from './desk.ts'
import { readFigures } from './figures.ts'
import { x402Stranger } from './strangers.ts'

const DAY_MS = 86_400_000
const RAILS = [x402UnderTest, mppPullUnderTest]

for (const engine of ['postgres', 'embedded'] satisfies readonly EngineName[])
  describe(`kept long enough, on ${engine}`, () => suite(engine))

function suite(engine: EngineName): void {
  let shop: TestShop
  let buyer: PrivateKeyAccount
  let receiver: Server
  let offset = 0
  /** One of each rail, and a payment that never landed. */
  const sold = new Map<string, Sold>()
  let unpaid: Awaited<ReturnType<typeof payFor>>

  before(async () => {
    receiver = createServer((_request, response) => response.writeHead(200).end())
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    shop = await startShop({
      engine,
      clock: { now: () => systemClock.now() + offset, sleep: systemClock.sleep },
      env: {
        SUTLER_WEBHOOK_LOOPBACK: 'true',
        SUTLER_RECONCILE_SECONDS: '300',
      },
    })
    buyer = await fundedWallet(shop)
    const { port } = receiver.address() as AddressInfo
    await shop.service.operations.webhooks.add(tester, {
      url: `http://127.0.0.1:${port}/`,
      description: '',
      eventTypes: null,
    })
    unpaid = await payNothing()
    for (const rail of RAILS) sold.set(rail.rail, await buy(shop, rail, buyer))
    const stranger = await x402Stranger(shop)
    await stranger.give(1_000_000n)
    await until(async () => (await reconcileRail(shop, stranger.rail, AT_ONCE)).items.length === 0)
    await reconcileRail(shop, mppPullUnderTest)
    // From here on the books are kept when the test says so.
    const rested = `jobs where kind = '${RECONCILE}' and lease is null and run_at > now() + interval '1 minute'`
    await until(async () => (await count(rested)) === RAILS.length)
    await until(async () => (await count(`webhook_deliveries where state <> 'delivered'`)) === 0)
  })
  after(async () => {
    await shop.stop()
    receiver.close()
  })

  const AT_ONCE = { returnAfterSeconds: 0 }
  const count = async (from: string) =>
    (await shop.store.db.query<{ n: number }>(`select count(*)::int as n from ${from}`)).rows[0]!.n
  const sweep = () => shop.service.operations.janitor.sweep()

  async function payNothing() {
    const payment = await payFor(shop, x402UnderTest, buyer)
    const { asset } = shop.config.x402!
    await shop.chains.native.request({ method: 'dev_fault', params: [{ kind: 'revert', to: asset }] })
    const response = await send(payment)
    assert.notEqual(response.status, 200)
    await until(async () => (await count(`orders where status = 'expired'`)) === 1)
    return payment
  }

  function send({ request, credential }: { request: object; credential: string }, rail = x402UnderTest) {
    return fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  }

  test('a payment that never came is gone within hours, and its name stays taken', async () => {
    const names = await count('payment_identities')
    offset += 7 * 3_600_000
    await sweep()
    assert.equal(await count(`orders where status = 'expired'`), 0)
    assert.equal(await count('payment_identities'), names)
    assert.equal(await count('orders'), 2)
    // Should its money come after all, it is nobody's, and goes back like any that came without a purchase.
    const [left] = (
      await shop.store.db.query<{ identity: string }>(
        'select identity from payment_identities where order_id is null and transfer_id is null',
      )
    ).rows
    assert.deepEqual(await claimantOf(shop.store.db, left!.identity), { kind: 'nothing' })
    const again = await send(unpaid)
    assert.equal(again.status, 402)
    assert.equal(await count('orders'), 2)
  })

  test('a year later the rest is deleted; what was bought and paid is known for ever', async () => {
    const names = await count('payment_identities')
    // Nothing is watched any more, and the books were kept to this day.
    await shop.store.db.query('update sends set buried = true where landed_block is not null')
    await shop.store.db.query(`update receiving_accounts set read_until = read_until + interval '2 hours'`)
    offset += 500 * DAY_MS
    // What is told so far has its place in the log.
    await asOperator(shop, '/events')
    const [{ newest }] = (await shop.store.db.query<{ newest: number }>('select max(id)::int as newest from events'))
      .rows as [{ newest: number }]
    const due = {
      events: await count('events'),
      deliveries: await count('webhook_deliveries'),
      sends: await count('sends'),
      transfers: await count('transfers'),
    }
    assert.ok(Object.values(due).every((rows) => rows > 1))
    await sweep()
    // A shop that leaps over a year may find something to tell before the sweep.
    assert.equal(await count(`events where id <= ${newest}`), 0)
    assert.equal(await count(`webhook_deliveries where event_id <= ${newest}`), 0)
    assert.equal(await count('transfers'), 0)
    // The newest of each key, from which its nonces are counted on.
    assert.equal(await count('sends'), await count('(select distinct chain_id, signer from sends) as keys'))
    assert.ok((await count('sends')) < due.sends)
    assert.deepEqual([await count('payment_identities'), await count('orders')], [names, 2])
    const figures = await readFigures(shop)
    assert.equal(figures.value('sutler_rows_deleted_total{kind="events"}'), due.events)
  })

  for (const rail of RAILS)
    test(`after that a replayed payment (${rail.rail}) gets its answer, and nothing is sold twice`, async () => {
      const { body, credential } = sold.get(rail.rail)!
      const held = await erc20Balance(shop.chains.native, shop.world.contracts.sale, buyer.address)
      const response = await fetch(
        buyUrl(shop, rail),
        post({ saleId: 392, beneficiary: buyer.address }, { [rail.header]: credential }),
      )
      assert.equal(response.status, 200)
      assert.deepEqual(await response.json(), body)
      assert.deepEqual(await status(body.statusUrl), body)
      assert.equal(await erc20Balance(shop.chains.native, shop.world.contracts.sale, buyer.address), held)
      assert.equal(await count('orders'), 2)
    })

  test('a cursor of what is gone is told so, and one that is not goes on', async () => {
    const { forgotten } = (await shop.store.db.query<{ forgotten: string }>('select forgotten from event_tail'))
      .rows[0]!
    for (const [name, headers] of [
      ['after=0', {}],
      [`after=${Number(forgotten) - 1}`, {}],
      ['', { 'last-event-id': '1', accept: 'text/event-stream' }],
    ] as const) {
      const late = await asOperator(shop, `/events?${name}`, { headers })
      const told = (await late.json()) as { code: string; detail: string; forgotten: string }
      assert.deepEqual([late.status, told.code, told.forgotten], [400, 'invalid_request', forgotten])
      assert.match(told.detail, new RegExp(`through position ${forgotten} are no longer kept`))
    }
    for (const query of ['', `?after=${forgotten}`]) {
      const page = await asOperator(shop, `/events${query}`)
      assert.equal(page.status, 200)
      assert.equal(((await page.json()) as { next: string }).next, forgotten)
    }
  })

  test('and the shop goes on selling, with nonces, events and webhooks where they were', async () => {
    // Clients sign by their own clock.
    offset = 0
    const before = Number((await shop.store.db.query<{ p: string }>('select position as p from event_tail')).rows[0]!.p)
    for (const rail of RAILS) {
      const { body, response } = await buy(shop, rail, buyer)
      assert.equal(response.status, 200, JSON.stringify(body))
      await until(async () => (await status(body.statusUrl)).status === 'confirmed')
    }
    assert.equal(await count('orders'), 4)
    await until(async () => (await count(`webhook_deliveries where state = 'delivered'`)) >= 6)
    const { events } = (await (await asOperator(shop, '/events')).json()) as { events: { position: string }[] }
    assert.deepEqual(
      events.map(({ position }) => Number(position)),
      events.map((_, index) => before + 1 + index),
    )
    // Nothing is due: a sweep takes nothing of it.
    await sweep()
    assert.ok((await count('events')) >= 6)
  })

  // The embedded engine does one thing after the other; there a step is as short as any other statement.
  test('a sale runs beside a step of the deletion that holds all its locks and does not end', {
    skip: engine === 'embedded',
  }, async () => {
    for (const rail of RAILS) await reconcileRail(shop, rail)
    // As if these books had been kept for long.
    await shop.store.db.query(`update receiving_accounts set read_until = read_until + interval '2 hours'`)
    const inAYear = systemClock.now() + 500 * DAY_MS
    const half = Promise.withResolvers<ReadonlyMap<Retained, number>>()
    const end = Promise.withResolvers<void>()
    const deleting = shop.store.db.transaction(
      async (tx) => {
        const gone = new Map<Retained, number>()
        for (const what of retained) gone.set(what, await deleteStep(tx, what, inAYear))
        await deleteIdleExposures(tx)
        half.resolve(gone)
        await end.promise
        throw new Error('nothing of this happened')
      },
      { attemptsMax: 1 },
    )
    const gone = await Promise.race([half.promise, deleting])
    for (const thing of ['events', 'transfers'] as const) assert.ok(gone.get(thing)! > 0, thing)
    for (const rail of RAILS) assert.equal((await buy(shop, rail, buyer)).response.status, 200, rail.name)
    end.resolve()
    await assert.rejects(deleting, /nothing of this happened/)
  })
}
