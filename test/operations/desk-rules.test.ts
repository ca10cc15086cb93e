import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { NO_RESTRICTIONS, readRestrictions } from '../../src/store/restrictions.ts'
import { paymentMeta } from '../mcp/payers.ts'
import { callTool } from '../mcp/rpc.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator, type Bought, buy, buyUrl, LOT, payFor } from './desk.ts'

// What an operator forbids is not sold, however it is asked for; what was paid for before is delivered or sent back.

type Json = Record<string, unknown>
const authorized = [x402UnderTest, mppPullUnderTest]

describe('what an operator forbids', () => {
  let shop: TestShop
  let other: string
  before(async () => {
    shop = await startShop()
    other = (await shop.replica()).url
  })
  after(() => shop.stop())

  async function ask<Answer = Json>(path: string, init?: RequestInit, status = 200): Promise<Answer> {
    const response = await asOperator(shop, path, init)
    assert.equal(response.status, status, `${path}: ${await response.clone().text()}`)
    return (await response.json()) as Answer
  }

  async function openOrders(payer: string): Promise<number> {
    const { rows } = await shop.store.db.query('select from orders where lower(payer) = lower($1)', [payer])
    return rows.length
  }

  const dollars = (rail: RailUnderTest, owner: PrivateKeyAccount) =>
    rail.rail === 'x402'
      ? erc20Balance(shop.chains.native, shop.config.x402!.asset, owner.address)
      : erc20Balance(shop.chains.tempo, shop.config.mpp!.currency.address, owner.address)

  async function present(rail: RailUnderTest, paid: Awaited<ReturnType<typeof payFor>>, url = shop.url) {
    const response = await fetch(buyUrl({ ...shop, url }, rail), post(paid.request, { [rail.header]: paid.credential }))
    return { status: response.status, body: (await response.json()) as Json & { code: string; detail: string } }
  }

  for (const rail of authorized) {
    test(`a paused rail asks for no money and takes none, on any replica, and the other rail sells on (${rail.rail})`, async () => {
      verifies('D17.21')
      const buyer = await fundedWallet(shop)
      const paid = await payFor(shop, rail, buyer)
      const had = await dollars(rail, buyer)
      await ask(`/operator/sales/${rail.rail}/pause`, post({ reason: 'the till is being moved' }))
      // A challenge that was handed out before is refused too, and nothing is taken for it.
      for (const url of [shop.url, other]) {
        const refused = await present(rail, paid, url)
        assert.deepEqual([refused.status, refused.body.code], [503, 'surface_closed'])
        assert.doesNotMatch(refused.body.detail, /moved/, 'why is nobody else’s business')
        await until(async () => (await fetch(buyUrl({ ...shop, url }, rail), post(paid.request))).status === 503)
        const { body } = await present(rail, paid, url)
        assert.deepEqual(body['payment'], { taken: 'unknown' }, 'a stranger may have carried it to the chain')
      }
      assert.equal(await openOrders(buyer.address), 0)
      assert.equal(await dollars(rail, buyer), had)
      const asked = await fetch(buyUrl(shop, rail), post(paid.request))
      assert.ok(Number(asked.headers.get('retry-after')) > 0)
      assert.match(((await asked.json()) as { detail: string }).detail, /paused since \d{4}-/)
      const other_ = authorized.find((one) => one !== rail)!
      assert.equal((await buy(shop, other_, buyer)).response.status, 200)
      const { pauses } = await ask<{ pauses: Json[] }>('/operator/sales')
      assert.deepEqual(
        pauses.map(({ rail, reason, by, until }) => [rail, reason, by, until]),
        [[rail.rail, 'the till is being moved', 'operator', null]],
      )
      await until(async () => {
        const ready = await fetch(`${shop.url}/health/ready`)
        const { sells } = (await ready.json()) as { sells: { protocol: string; status: string; reasons: string[] }[] }
        return (
          ready.status === 200 &&
          sells.every(({ protocol, status }) => (status === 'down') === (protocol === rail.rail))
        )
      })
      assert.equal((await ask(`/operator/sales/${rail.rail}/resume`, post({})))['did'], 'resumed')
      assert.equal((await ask(`/operator/sales/${rail.rail}/resume`, post({})))['did'], 'nothing')
      await until(async () => (await fetch(buyUrl(shop, rail), post(paid.request))).status === 402)
      // It was never used, so it is still good; one by pull is good for seconds only, and may be over.
      if (rail === x402UnderTest) assert.equal((await present(rail, paid)).status, 200)
      else assert.equal((await buy(shop, rail, buyer)).response.status, 200)
    })
  }

  test('a pause of everything leaves the shop ready for whoever bought, and an end that was said ends it', async () => {
    const end = new Date(Date.now() + 8_000).toISOString()
    for (const rail of ['x402', 'mpp']) await ask(`/operator/sales/${rail}/pause`, post({ reason: 'x', until: end }))
    await until(async () => {
      const ready = await fetch(`${shop.url}/health/ready`)
      const { status, sells } = (await ready.json()) as { status: string; sells: { status: string }[] }
      return sells.every((one) => one.status === 'down') && ready.status === 200 && status === 'degraded'
    })
    const { address: beneficiary } = await fundedWallet(shop)
    const answers = async (status: number) => {
      for (const rail of authorized)
        await until(async () => (await fetch(buyUrl(shop, rail), post({ ...LOT, beneficiary }))).status === status)
    }
    await answers(503)
    await answers(402)
    await until(async () => (await ask<{ pauses: Json[] }>('/operator/sales')).pauses.length === 0)
    await ask('/operator/sales/x402/pause', post({ reason: 'x', until: '2020-01-01T00:00:00Z' }), 400)
    await ask('/operator/sales/cash/pause', post({ reason: 'x' }), 400)
    await ask('/operator/sales/x402/pause', post({}), 400)
    const acted = await shop.store.db.query(
      `select from events where type = 'operator.acted' and data ->> 'deed' = 'sales.paused'`,
    )
    assert.equal(acted.rows.length, 4)
  })

  test('a payment by push that was sent before the pause is served: it cannot be refused any more', async () => {
    const buyer = await fundedWallet(shop)
    const paid = await payFor(shop, mppPushUnderTest, buyer)
    await ask('/operator/sales/mpp/pause', post({ reason: 'x' }))
    const served = await present(mppPushUnderTest, paid)
    assert.equal(served.status, 200, JSON.stringify(served.body))
    await ask('/operator/sales/mpp/resume', post({}))
    const isSold = async (url: string) =>
      (await fetch(buyUrl({ ...shop, url }, mppPushUnderTest), post(paid.request))).status === 402
    for (const url of [shop.url, other]) await until(() => isSold(url))
  })

  /** As it stands in a list from elsewhere. */
  const spelt = (address: string) => `0x${address.slice(2).toUpperCase()}`

  for (const rail of authorized) {
    test(`a payer who is blocked buys nothing, on either replica, by HTTP or MCP (${rail.rail})`, async () => {
      verifies('D17.22')
      const buyer = await fundedWallet(shop)
      const before = await buy(shop, rail, buyer)
      assert.equal(before.response.status, 200)
      const made = await payFor(shop, rail, buyer)
      const had = await dollars(rail, buyer)
      const blocked = await ask<Json>(
        '/operator/blocks',
        post({ address: spelt(buyer.address), reason: 'stolen card', by: 'mara' }),
        201,
      )
      assert.equal(blocked['address'], buyer.address.toLowerCase())
      assert.equal(
        (await ask<Json>('/operator/blocks', post({ address: buyer.address, reason: 'again' })))['did'],
        'nothing',
      )
      // A payment made before the block, and one made after it.
      for (const url of [shop.url, other])
        for (const paid of [made, await payFor(shop, rail, buyer)]) {
          const refused = await present(rail, paid, url)
          assert.deepEqual([refused.status, refused.body.code], [403, 'payer_blocked'], JSON.stringify(refused.body))
          assert.doesNotMatch(refused.body.detail, /stolen/)
        }
      const input = { ...LOT, beneficiary: buyer.address }
      const mcp = `${shop.url}/mcp`
      const unpaid = await callTool(mcp, 'buy_sale_lot', input)
      const meta = await paymentMeta(shop, rail.rail, buyer, unpaid)
      const called = await callTool(mcp, 'buy_sale_lot', input, { meta })
      assert.ok(called.isError)
      assert.match(JSON.stringify(called), /payer_blocked/)
      assert.equal(await openOrders(buyer.address), 1)
      assert.equal(await dollars(rail, buyer), had)
      // What was bought before is still told, and the same payment is still answered.
      const replayed = await fetch(
        buyUrl(shop, rail),
        post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: before.credential }),
      )
      assert.equal(replayed.status, 200)
      const { blocks } = await ask<{ blocks: Json[] }>('/operator/blocks?limit=1')
      assert.deepEqual([blocks[0]!['address'], blocks[0]!['by']], [buyer.address.toLowerCase(), 'mara'])
      assert.equal(
        (await ask<Json>(`/operator/blocks/${spelt(buyer.address)}`, { method: 'DELETE' }))['did'],
        'unblocked',
      )
      // Replicas read the list anew within two seconds.
      await until(async () => (await buy(shop, rail, buyer)).response.status === 200)
    })
  }

  test('who is blocked in the place of another, at the same moment by another clock, is seen', async () => {
    verifies('D17.22')
    const [gone, come] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`]
    const insert = "insert into sale_restrictions (kind, about, reason, author, since) values ('payer', $1, $2, $2, $3)"
    const at = new Date()
    await shop.store.db.query(insert, [gone, 'x', at])
    const first = await readRestrictions(shop.store.db, NO_RESTRICTIONS)
    await shop.store.db.query('delete from sale_restrictions where about = $1', [gone])
    await shop.store.db.query(insert, [come, 'x', at])
    const { blocked } = await readRestrictions(shop.store.db, first)
    assert.deepEqual([blocked.has(gone), blocked.has(come)], [false, true])
    await shop.store.db.query('delete from sale_restrictions where about = $1', [come])
  })

  test('money that a blocked payer has sent already is held for a person', async () => {
    const buyer = await fundedWallet(shop)
    const paid = await payFor(shop, mppPushUnderTest, buyer)
    await ask('/operator/blocks', post({ address: buyer.address, reason: 'x' }), 201)
    const refused = await present(mppPushUnderTest, paid)
    assert.deepEqual([refused.status, refused.body.code], [409, 'payment_returned'])
    assert.match(refused.body.detail, /person/)
    assert.equal(await openOrders(buyer.address), 0)
  })

  test('an order in flight is delivered though its payer is blocked meanwhile; one that fails waits for a person', async () => {
    const buyer = await fundedWallet(shop)
    const slow = buyItem(buyer, 'slow_delivery')
    await until(async () => (await openOrders(buyer.address)) === 1)
    await ask('/operator/blocks', post({ address: buyer.address, reason: 'x' }), 201)
    const { orderId } = (await (await slow).json()) as Bought
    await until(async () => (await status(orderId)) === 'confirmed')
    await ask(`/operator/blocks/${buyer.address}`, { method: 'DELETE' })

    const failing = await fundedWallet(shop)
    const had = await dollars(x402UnderTest, failing)
    // Blocked between the payment and the failure: the store's own word decides, whatever a replica has read.
    await shop.store.db.query(
      `create function block_when_settled() returns trigger language plpgsql as $$
       begin insert into sale_restrictions values ('payer', lower(new.payer), 'x', 'test', now()) on conflict do nothing; return new; end $$`,
    )
    await shop.store.db.query(
      `create trigger block_when_settled after update of status on orders for each row
       when (new.status = 'settled' and lower(new.payer) = '${failing.address.toLowerCase()}') execute function block_when_settled()`,
    )
    const response = await buyItem(failing, 'fail_delivery')
    const { orderId: failed } = (
      (await asOperator(shop, `/operator/orders?payer=${failing.address}`).then((r) => r.json())) as {
        orders: { orderId: string }[]
      }
    ).orders[0]!
    assert.ok([202, 409].includes(response.status))
    await until(async () =>
      (await ask<{ tries: { error: string }[] }>(`/operator/orders/${failed}`)).tries.some(({ error }) =>
        /blocked/.test(error),
      ),
    )
    assert.equal(await status(failed), 'failed')
    assert.equal(had - (await dollars(x402UnderTest, failing)), 800_000n, 'nothing goes back by itself')
    await ask(`/operator/orders/${failed}/refund`, post({ reason: 'settled with the bank' }))
    await until(async () => (await status(failed)) === 'refunded')
    assert.equal(await dollars(x402UnderTest, failing), had)
  })

  async function status(orderId: string): Promise<string> {
    return (await ask<{ order: { status: string } }>(`/operator/orders/${orderId}`)).order.status
  }

  async function buyItem(buyer: PrivateKeyAccount, nickname: string): Promise<Response> {
    const body = { itemId: 'lantern:1', quantity: 1, nickname }
    const url = `${shop.url}/shop/x402/buy`
    const credential = await x402UnderTest.pay(shop, buyer, await fetch(url, post(body)))
    return fetch(url, post(body, { [x402UnderTest.header]: credential }))
  }
})
