import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { listOrders, type OrderSelection, questionOf, sumOrders } from '../../src/store/orders/list.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { asOperator } from './desk.ts'

// A book of some thousand purchases, of which many share a microsecond: what an operator looks for is found, whole, and by an index.

const ORDERS = 4_000
const PAYER = '0x00000000000000000000000000000000000000Aa'

/** Seven of them in each instant; most are confirmed and of one good, and each thing that is looked for is rare. */
async function fillBook({ store }: TestShop): Promise<void> {
  await store.db.query(
    `insert into orders (
       id, flow_id, surface, good, rail, status, funds, request_digest, input, payer, amount, asset, network, pay_to, proof_digest,
       expires_at, payment_tx, settled_at, history, created_at)
     select 'ord_' || lpad(i::text, 26, '0'), 'flow', case when i % 500 = 3 then 'sale' else 'shop' end,
            case when i % 500 = 3 then 'saleLot' else 'shopItem' end,
            case when i % 400 = 5 then 'mpp' else 'x402' end,
            case when i % 800 = 7 then 'refunded' when i % 1000 = 9 then 'failed' else 'confirmed' end,
            'authorized', 'digest',
            case when i % 500 = 3 then jsonb_build_object('saleId', 392, 'quantity', 2, 'beneficiary', '0xBEEF')
                 when i % 600 = 11 then jsonb_build_object('itemId', 'keys:5', 'quantity', 1, 'nickname', '=cmd|calc')
                 else jsonb_build_object('itemId', 'keys:5', 'quantity', 1, 'nickname', 'Demo') end,
            case when i % 700 = 13 then '${PAYER}' else '0x00000000000000000000000000000000000000bb' end,
            1500000, '0xasset', 'eip155:84532', '0xtill', 'proof', now(), '0xtx' || i, now(), '[]',
            timestamptz '2026-01-01T00:00:00Z' + (i / 7) * interval '1 second' + interval '123456 microseconds'
     from generate_series(1, ${ORDERS}) as i`,
  )
  await store.db.query('analyze orders')
}

type Page = {
  readonly orders: readonly { orderId: string; createdAt: string; player: string; item: string }[]
  readonly next: string | null
  readonly totals?: { orders: number; isWhole: boolean; byCurrency: readonly Record<string, unknown>[] }
}

describe('orders are found', () => {
  let shop: TestShop
  before(async () => {
    shop = await startShop({ withoutWorker: true })
    await fillBook(shop)
  })
  after(() => shop.stop())

  const page = async (query: string): Promise<Page> => {
    const response = await asOperator(shop, `/operator/orders?${query}`)
    assert.equal(response.status, 200, await response.clone().text())
    return (await response.json()) as Page
  }

  const open = ['settling', 'settled', 'submitted', 'failed', 'refunding'] as const
  const filters: readonly (readonly [selection: OrderSelection, count: number, index: string])[] = [
    [{}, ORDERS, 'orders_created'],
    [{ statuses: ['refunded'] }, 5, 'orders_status'],
    [{ statuses: ['confirmed'] }, ORDERS - 5 - 4, 'orders_status'],
    [{ statuses: open }, 4, 'orders_status'],
    [{ payer: PAYER.toLowerCase() }, 6, 'orders_payer'],
    [{ player: '=cmd|calc' }, 7, 'orders_player'],
    [{ item: '392' }, 8, 'orders_item'],
    [{ good: 'saleLot' }, 8, 'orders_kind'],
    [{ surface: 'sale' }, 8, 'orders_kind'],
    [{ rail: 'mpp' }, 10, 'orders_kind'],
    [{ rail: 'mpp', good: 'saleLot' }, 0, 'orders_kind'],
    [{ since: Date.parse('2026-01-01T00:09:00Z') }, 221, 'orders_created'],
    [{ before: Date.parse('2026-01-01T00:00:02Z') }, 13, 'orders_created'],
  ]

  for (const [selection, count, index] of filters) {
    test(`by ${JSON.stringify(selection)}: each once, however small the pages, and an index finds them`, async () => {
      const seen: string[] = []
      let after: Awaited<ReturnType<typeof listOrders>>[number]['place'] | undefined
      for (;;) {
        const found = await listOrders(shop.store.db, { ...selection, after, limit: count > 100 ? 97 : 1 })
        if (found.length === 0) break
        seen.push(...found.map(({ order }) => order.id))
        after = found.at(-1)!.place
      }
      assert.equal(seen.length, count)
      assert.equal(new Set(seen).size, count)
      assert.deepEqual(seen, seen.toSorted().reverse(), 'newest first, and by id where the time is one')
      const sums = await sumOrders(shop.store.db, selection, 10_000)
      assert.equal(
        sums.reduce((sum, { orders }) => sum + orders, 0),
        count,
      )
      await assertIndexed(selection, index)
    })
  }

  /** As the server plans a statement that it has seen often, without knowing what is asked for. */
  async function assertIndexed(selection: OrderSelection, index: string): Promise<void> {
    const after = { micros: '1767225700000000', id: 'ord_x' }
    const { sql, values } = questionOf({ ...selection, after, limit: 50 })
    const shown = values.map((value) => literal(value)).join(', ')
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      const plan = await shop.store.db.transaction(async (tx) => {
        await tx.query(`set local plan_cache_mode = ${mode}`)
        await tx.query(`prepare looked_for as ${sql.text}`)
        const { rows } = await tx.query<{ 'QUERY PLAN': string }>(`explain execute looked_for (${shown})`)
        await tx.query('deallocate looked_for')
        return rows.map((row) => row['QUERY PLAN']).join('\n')
      })
      assert.doesNotMatch(plan, /Seq Scan on orders/, `${mode}\n${plan}`)
      if (mode === 'force_generic_plan') assert.match(plan, new RegExp(`Index Scan using ${index} on`), plan)
    }
  }

  test('the pages of the route go on where the last one ended', async () => {
    const seen: string[] = []
    let cursor = ''
    do {
      const { orders, next } = await page(`limit=3&before=2026-01-01T00:00:02Z${cursor}`)
      seen.push(...orders.map(({ orderId }) => orderId))
      cursor = next === null ? '' : `&cursor=${next}`
    } while (cursor !== '')
    assert.equal(new Set(seen).size, 13)
    assert.equal(seen.length, 13)
  })

  test('totals count and sum what fits, and say when that is not all', async () => {
    const { totals, orders } = await page('status=refunded&totals=true&limit=1')
    assert.equal(orders.length, 1)
    assert.deepEqual(totals, {
      orders: 5,
      isWhole: true,
      openBefore: null,
      byStatus: { refunded: 5 },
      byCurrency: [
        {
          protocol: 'x402',
          network: 'eip155:84532',
          asset: '0xasset',
          currency: 'USD',
          orders: 5,
          paid: '7.50',
          refunded: '7.50',
          net: '0.00',
        },
      ],
    })
    assert.equal((await sumOrders(shop.store.db, {}, 100))[0]?.orders, 100)
  })

  test('a table for spreadsheets has them all, and nothing in it is a formula', async () => {
    const asked = [
      asOperator(shop, '/operator/orders?player=%3Dcmd%7Ccalc', { headers: { accept: 'text/csv' } }),
      asOperator(shop, '/operator/orders?player=%3Dcmd%7Ccalc&format=csv'),
    ]
    const [accepted, named] = await Promise.all(asked.map(async (response) => (await response).text()))
    assert.equal(accepted, named)
    const lines = accepted!.trimEnd().split('\r\n')
    assert.equal(lines.length, 8)
    assert.match(lines[0]!, /^"orderId","createdAt","status","surface","good","item","quantity","player",/)
    for (const line of lines.slice(1)) assert.match(line, /,"keys:5","1","'=cmd\|calc","x402",/)
    const all = await asOperator(shop, '/operator/orders?format=csv')
    assert.equal(all.headers.get('content-type'), 'text/csv; charset=utf-8')
    assert.equal((await all.text()).trimEnd().split('\r\n').length, ORDERS + 1)
  })

  test('a cursor that is none, and a filter that is none, are refused', async () => {
    assert.equal((await asOperator(shop, '/operator/orders?cursor=bm9uZQ')).status, 400)
    assert.equal((await asOperator(shop, '/operator/orders?colour=red')).status, 400)
  })
})

function literal(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return `'{${value.join(',')}}'`
  if (value instanceof Date) return `'${value.toISOString()}'`
  return typeof value === 'number' ? String(value) : `'${value}'`
}
