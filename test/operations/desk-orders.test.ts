import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { fundedWallet, mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { AT_ONCE, asOperator, type Bought, eventsOf } from './desk.ts'

// What the console reads and does about orders, compared with the store, the chain and what the buyer reads.

type Rail = 'x402' | 'mpp'
const CURRENCY: Readonly<Record<Rail, string>> = { x402: 'USDC', mpp: 'pathUSD' }

type Json = Record<string, unknown>

describe('the desk', () => {
  let shop: TestShop
  let buyer: PrivateKeyAccount
  const payers = new Map<Rail, Pay>()
  const bought = new Map<Rail, Bought>()
  const failed = new Map<Rail, Bought>()

  before(async () => {
    shop = await startShop()
    buyer = await fundedWallet(shop)
    payers.set('x402', x402Payer(buyer))
    payers.set('mpp', mppPayer(shop, buyer, 'pull'))
    for (const rail of ['x402', 'mpp'] as const) {
      bought.set(rail, await buy(rail, { itemId: 'keys:5', quantity: 2, nickname: 'Ada' }, 200))
      failed.set(rail, await buy(rail, { itemId: 'lantern:1', quantity: 1, nickname: 'fail_delivery' }, 409))
    }
    // Names are learnt from the shelves.
    await until(async () => (await orders('item=keys:5')).orders.every(({ title }) => title === 'Five Keys'))
  })
  after(() => shop.stop())

  async function buy(rail: Rail, body: Json, status: number): Promise<Bought> {
    const response = await payers.get(rail)!(`${shop.url}/shop/${rail}/buy`, post(body))
    assert.equal(response.status, status, await response.clone().text())
    return (await response.json()) as Bought
  }

  async function ask<Answer = Json>(path: string, init?: RequestInit, status = 200): Promise<Answer> {
    const response = await asOperator(shop, path, init)
    assert.equal(response.status, status, `${path}: ${await response.clone().text()}`)
    return (await response.json()) as Answer
  }

  type Listed = { orderId: string; title: string; amount: string; currency: string; status: string; protocol: string }
  type Page = {
    orders: Listed[]
    next: string | null
    asOf: string
    totals: Json & { byCurrency: Json[]; byStatus: Json }
  }
  const orders = (query: string) => ask<Page>(`/operator/orders?${query}`)

  test('a list has titles and currencies, and sums that mix none of them', async () => {
    const { orders: listed, totals, asOf } = await orders('totals=true')
    assert.equal(listed.length, 4)
    assert.deepEqual(totals.byStatus, { confirmed: 2, refunded: 2 })
    for (const { protocol, currency } of listed) assert.equal(currency, CURRENCY[protocol as Rail])
    for (const rail of ['x402', 'mpp'] as const) {
      const sum = totals.byCurrency.find(({ protocol }) => protocol === rail)!
      assert.deepEqual(
        [sum['currency'], sum['orders'], sum['paid'], sum['refunded'], sum['net']],
        [CURRENCY[rail], 2, '3.50', '0.80', '2.70'],
      )
    }
    assert.ok(Date.parse(asOf) > 0)
    assert.ok(!('receipt' in listed[0]!), 'what is large is told with the order itself')
  })

  test('an order older than the window that still moves is not forgotten', async () => {
    const { totals } = await orders(`totals=true&since=${new Date().toISOString()}`)
    assert.equal(totals['openBefore'], 0)
    assert.equal(totals['orders'], 0)
  })

  for (const rail of ['x402', 'mpp'] as const) {
    test(`one order tells what its buyer is told, what was signed, and what can be done (${rail})`, async () => {
      const { orderId, paymentTx } = bought.get(rail)!
      const whole = await ask<
        Json & { order: Json; buyerView: Json; can: Record<string, Json>; sends: Json[]; related: Json[] }
      >(`/operator/orders/${orderId}`)
      assert.equal(whole.order['paymentTx'], paymentTx)
      assert.equal(whole.order['title'], 'Five Keys')
      const told = await fetch(`${shop.url}/payments/${orderId}`)
      assert.deepEqual(whole.buyerView, { status: told.status, body: await told.json() })
      assert.deepEqual(whole.can['refund'], { can: true, why: null })
      assert.equal(whole.can['retry']!['can'], false)
      assert.match(String(whole.can['retry']!['why']), /confirmed/)
      assert.match(String(whole.can['decide']!['why']), /confirmed/)
      const { rows: sends } = await shop.store.db.query<{ created_at: Date }>(
        'select created_at from sends where order_id = $1 order by created_at, nonce',
        [orderId],
      )
      assert.deepEqual(
        whole.sends.map(({ signedAt }) => signedAt),
        sends.map(({ created_at }) => created_at.toISOString()),
      )
      const related = whole.related.map((one) => one['orderId'])
      assert.ok(related.includes(failed.get(rail)!.orderId))
      assert.ok(!related.includes(orderId))
      // The chain of a sandbox is nobody else's, though it has the name of a public one.
      assert.deepEqual(whole.order['links'], { payment: null, refund: null })
    })
  }

  test('a note stays with its order and its author, and its buyer does not see it', async () => {
    const { orderId } = bought.get('x402')!
    const note = await ask<Json>(
      `/operator/orders/${orderId}/notes`,
      post({ text: '  Called Ada; she has them. ' }),
      201,
    )
    const { notes } = await ask<{ notes: Json[] }>(`/operator/orders/${orderId}`)
    assert.deepEqual(notes, [{ id: note['id'], at: note['at'], by: 'operator', text: 'Called Ada; she has them.' }])
    assert.doesNotMatch(await (await fetch(`${shop.url}/payments/${orderId}`)).text(), /Called/)
    assert.equal(await deeds('order.noted', orderId), 1)
    const refused = await asOperator(shop, `/operator/orders/${orderId}/notes`, post({ text: '   ' }))
    assert.equal(refused.status, 400)
  })

  async function deeds(deed: string, about: string): Promise<number> {
    const { rows } = await shop.store.db.query<{ count: number }>(
      `select count(*)::int as count from events
       where type = 'operator.acted' and data ->> 'deed' = $1 and data #>> '{about,id}' = $2`,
      [deed, about],
    )
    return rows[0]!.count
  }

  for (const rail of ['x402', 'mpp'] as const) {
    test(`a refund that is clicked twice sends the money once, and tells both the same (${rail})`, async () => {
      verifies('D17.20')
      const { orderId } = bought.get(rail)!
      const path = `/operator/orders/${orderId}/refund`
      const expect = { status: 'confirmed', amount: '2.70', to: buyer.address }
      const stale = await asOperator(shop, path, post({ reason: 'x', expect: { ...expect, amount: '0.01' } }))
      assert.equal(stale.status, 409)
      const { code, now } = (await stale.json()) as { code: string; now: Json }
      assert.equal(code, 'changed_meanwhile')
      assert.deepEqual(now, expect)
      const [chain, asset] =
        rail === 'x402'
          ? [shop.chains.native, shop.config.x402!.asset]
          : [shop.chains.tempo, shop.config.mpp!.currency.address]
      const had = await erc20Balance(chain, asset, buyer.address)
      const key = { 'idempotency-key': `click-${rail}-0001` }
      const click = () => asOperator(shop, path, post({ reason: 'wrong keys', expect, by: 'mara' }, key))
      const answers = await Promise.all([click(), click(), click()])
      for (const answer of answers)
        assert.ok(answer.status === 200 || answer.status === 202, await answer.clone().text())
      await until(async () =>
        (await orders(`status=refunded&rail=${rail}`)).orders.some((one) => one.orderId === orderId),
      )
      const again = (await (await click()).json()) as Bought
      assert.equal(again.refund!.status, 'refunded')
      assert.equal((await erc20Balance(chain, asset, buyer.address)) - had, 2_700_000n)
      assert.equal(await deeds('order.refunded', orderId), 1)
      const another = await asOperator(shop, path, post({ reason: 'x' }, { 'idempotency-key': 'another-0001' }))
      assert.equal(another.status, 409, 'another request is another refund')
      assert.equal((await eventsOf(shop, orderId)).filter(({ type }) => type === 'refund.created').length, 1)
    })
  }

  test('the summary is what the store adds up, by currency, and what has just moved is in it', async () => {
    const summary = await ask<Json & { totals: Json[]; hours: { orders: number }[]; funnel: Json[]; delivery: Json }>(
      '/operator/summary?window=24h',
    )
    const { rows } = await shop.store.db.query<{ rail: string; gross: string; returned: string; orders: number }>(
      `select rail, sum(amount) as gross, count(*)::int as orders,
              coalesce(sum(amount) filter (where status = 'refunded'), 0) as returned
       from orders group by rail`,
    )
    for (const { rail, gross, returned, orders } of rows) {
      const total = summary.totals.find(({ protocol }) => protocol === rail)!
      assert.equal(Number(total['gross']), Number(gross) / 1e6)
      assert.equal(Number(total['refunded']), Number(returned) / 1e6)
      assert.equal(Number(total['net']), (Number(gross) - Number(returned)) / 1e6)
      assert.equal(total['orders'], orders)
      assert.equal(total['currency'], CURRENCY[rail as Rail])
    }
    assert.equal(summary.hours.length, 24)
    assert.equal(
      summary.hours.reduce((sum, { orders }) => sum + orders, 0),
      4,
    )
    const step = (name: string) => summary.funnel.find((one) => one['step'] === name)!['count']
    assert.equal(step('paid'), 4)
    assert.equal(step('settled'), 4)
    assert.equal(step('delivered'), 2)
    assert.equal(step('refunded'), 4)
    assert.ok(Number(step('asked')) >= 4)
    assert.ok(Number(summary.delivery['p95Ms']) > 0)
    for (const window of ['7d', '30d']) {
      const { totals, days } = await ask<{ totals: Json[]; days: Json[] }>(`/operator/summary?window=${window}`)
      assert.deepEqual(totals, summary.totals)
      assert.equal(days.length, Number.parseInt(window, 10))
    }
  })

  test('one box finds orders, payers, players, items and webhooks by any of their names', async () => {
    type Matches = { matches: { type: string; id: string; href: string; title: string }[]; chain: Json | null }
    const find = (q: string, more = '') => ask<Matches>(`/operator/search?q=${encodeURIComponent(q)}${more}`)
    const { orderId, paymentTx } = bought.get('mpp')!
    for (const name of [orderId, paymentTx, paymentTx.toUpperCase().replace('0X', '0x')]) {
      const { matches } = await find(name)
      assert.deepEqual(
        matches.map(({ type, id }) => [type, id]),
        [['order', orderId]],
        name,
      )
      assert.equal(matches[0]!.href, `/operator/orders/${orderId}`)
    }
    const types = new Set((await find(buyer.address.toLowerCase())).matches.map(({ type }) => type))
    assert.deepEqual([...types].sort(), ['order', 'payer'])
    const ada = (await find('ad')).matches
    assert.deepEqual(
      ada.map(({ type, title }) => [type, title]),
      [['player', 'Ada']],
    )
    assert.deepEqual(
      (await find('banner')).matches.map(({ type, id }) => [type, id]),
      [['item', '392']],
    )
    assert.deepEqual((await find('%')).matches, [])
    const nowhere = `0x${'ab'.repeat(32)}`
    assert.equal((await find(nowhere)).chain!['state'], 'unasked')
    assert.equal((await find(nowhere, '&chain=true')).chain!['state'], 'unknown')
  })

  test('what needs a person is told with its sum, and many are decided with one word', async () => {
    assert.deepEqual((await ask<{ items: Json[] }>('/operator/attention')).items, [])
    const { account } = await unmatchedTransfers(3)
    const { items } = await ask<{ items: Json[] }>('/operator/attention')
    assert.equal(items.length, 1)
    const { kind, severity, count, amount, currency, actions, role } = items[0]!
    assert.deepEqual(
      [kind, severity, count, amount, currency, actions, role],
      ['held', 'act', 3, '3.75', 'USDC', ['decide'], 'admin'],
    )
    const { transfers } = await ask<{ transfers: { transferId: string }[] }>('/operator/transfers?state=held')
    const ids = [...transfers.map(({ transferId }) => transferId), 'trf_none']
    const { results } = await ask<{ results: Json[] }>(
      '/operator/transfers/decide',
      post({ ids, decision: 'refund', reason: 'not ours', by: 'mara' }),
    )
    assert.deepEqual(
      results.map(({ id, isDone }) => [id, isDone]),
      ids.map((id) => [id, id !== 'trf_none']),
    )
    assert.equal((results[3]!['error'] as Json)['code'], 'order_not_found')
    await until(async () => {
      await asOperator(shop, '/operator/reconcile', post({}))
      const done =
        'select from transfers t join refunds r on r.transfer_id = t.id where t.account = $1 and r.completed_at is not null'
      const { rows } = await shop.store.db.query(done, [account])
      return rows.length === 3
    })
    for (const { transferId } of transfers) assert.equal(await deeds('transfer.refunded', transferId), 1)
    assert.deepEqual((await ask<{ items: Json[] }>('/operator/attention')).items, [])
  })

  /** Transfers that no purchase claims, held for a person. */
  async function unmatchedTransfers(count: number): Promise<{ account: string }> {
    const { asset, payTo } = shop.config.x402!
    const data =
      `0xa9059cbb${payTo.slice(2).toLowerCase().padStart(64, '0')}${(1_250_000).toString(16).padStart(64, '0')}` as const
    const { createWalletClient, custom } = await import('viem')
    const { baseSepolia } = await import('viem/chains')
    const client = createWalletClient({ account: buyer, chain: baseSepolia, transport: custom(shop.chains.native) })
    for (let i = 0; i < count; i++) await client.sendTransaction({ to: asset, data })
    const { reconcileContext } = shop.service.operations
    const { reconcile } = await import('../../src/ledger/reconcile.ts')
    await reconcile({
      ...reconcileContext,
      policy: { ...reconcileContext.policy, ...AT_ONCE, returnsUnmatched: false },
    })
    return { account: reconcileContext.accounts.find(({ rail }) => rail.name === 'x402')!.id }
  }
})
