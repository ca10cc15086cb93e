// How long the data of each screen of the console takes, with many orders in PostgreSQL and beside it with none.
//   node bench/console.ts [--orders=100000] [--rounds=15]
import { performance } from 'node:perf_hooks'
import { startShop, type TestShop } from '../test/support/shop.ts'
import { median } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'

const MS_MAX = 200

/** What the screens ask for, each by the filters that cost most. The names in it are made by `fill`. */
const screens = [
  '/operator/attention',
  '/operator/summary?window=24h',
  '/operator/summary?window=30d',
  '/operator/search?q=0x00000000000000000000000000000000000000aa',
  '/operator/search?q=Demo',
  '/operator/orders?totals=true',
  '/operator/orders?totals=true&status=refunded',
  '/operator/orders?totals=true&item=lantern:1',
  '/operator/orders?totals=true&rail=mpp&good=saleLot',
  '/operator/orders?payer=0x00000000000000000000000000000000000000aa&totals=true',
  '/operator/orders?player=Demo',
  `/operator/money?by=day&from=${new Date(Date.now() - 364 * 86_400_000).toISOString()}`,
  '/operator/money?by=good',
  '/operator/funnel?window=30d',
  '/operator/wallets',
  '/operator/webhooks',
  '/operator/transfers?state=held',
  '/operator/players',
  '/operator/system',
  '/operator/blocks',
  '/events?last=100',
  '/events?last=100&types=refund.completed',
] as const

export async function benchConsole({ orders = 100_000, rounds = 15 } = {}): Promise<Report> {
  const shop = await startShop({ withoutWorker: true })
  try {
    const empty = await timeAll(shop, screens, rounds)
    await fill(shop, orders)
    const [one] = (await ask<{ orders: { orderId: string }[] }>(shop, '/operator/orders?limit=1')).orders
    const full = await timeAll(shop, [...screens, `/operator/orders/${one!.orderId}`], rounds)
    return {
      title: `Console, ${orders} orders`,
      figures: [...full].flatMap(([path, ms]) => {
        const what = path.replace(/ord_\w+/, '{id}').replace(/from=.*/, 'from={a year ago}')
        const before = empty.get(path)
        return [
          ...(before === undefined ? [] : [{ what: `${what}, no orders`, value: before, unit: 'ms' }]),
          { what, value: ms, unit: 'ms', goal: MS_MAX },
        ]
      }),
      ratios: [{ what: 'slowest screen : 200 ms', value: Math.max(...full.values()) / MS_MAX, atMost: 1 }],
    }
  } finally {
    await shop.stop()
  }
}

async function timeAll(shop: TestShop, paths: readonly string[], rounds: number): Promise<Map<string, number>> {
  const times = new Map<string, number[]>(paths.map((path) => [path, []]))
  for (let round = 0; round < rounds; round++)
    for (const path of paths) {
      const begun = performance.now()
      await ask(shop, path)
      times.get(path)!.push(performance.now() - begun)
    }
  return new Map([...times].map(([path, each]) => [path, median(each)]))
}

async function ask<Answer>({ url, config }: TestShop, path: string): Promise<Answer> {
  const response = await fetch(url + path, {
    headers: { authorization: `Bearer ${config.operatorToken!.reveal()}` },
  })
  if (!response.ok) throw new Error(`${path} answers ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}

/** A year of orders, most delivered, with what moves, events, refunds and orphaned payments they leave behind. */
async function fill({ store }: TestShop, orders: number): Promise<void> {
  // What is filled in is added up here at once, and not by what adds up each move.
  const run = (sql: string) =>
    store.db.transaction(
      async (tx) => {
        await tx.query(`set local sutler.copying = 'on'`)
        await tx.query(sql)
      },
      { workMsMax: 3_600_000, statementMsMax: 3_600_000 },
    )
  await run(`
    insert into orders (
      id, flow_id, surface, good, rail, status, funds, request_digest, input, payer, amount, asset, network, pay_to, proof_digest,
      expires_at, payment_tx, settled_at, history, created_at, updated_at)
    select 'ord_' || lpad(i::text, 26, '0'), 'flow_' || (i / 3),
           case when i % 5 = 0 then 'sale' else 'shop' end,
           case when i % 5 = 0 then 'saleLot' else 'shopItem' end,
           case when i % 3 = 0 then 'mpp' else 'x402' end,
           case when i % 50 = 7 then 'refunded' when i % 20 = 9 then 'expired' when i % 20000 = 11 then 'settled' else 'confirmed' end,
           'authorized', 'digest',
           case when i % 5 = 0 then jsonb_build_object('saleId', 392, 'quantity', 1, 'beneficiary', '0x' || lpad(to_hex(i), 40, '0'))
                else jsonb_build_object('itemId', case when i % 4 = 0 then 'lantern:1' else 'keys:5' end, 'quantity', 1,
                       'nickname', case when i % 10 = 1 then 'Demo' else 'player ' || i % 5000 end) end,
           case when i % 100 = 3 then '0x00000000000000000000000000000000000000aa' else '0x' || lpad(to_hex(i % 50000), 40, '0') end,
           1500000, '0xasset', 'eip155:84532', '0xtill', 'proof', now(), case when i % 20 = 9 then null else '0x' || lpad(to_hex(i), 64, '0') end,
           now(), '[]', at, at
    from (select i, now() - (i::float8 / ${orders}) * interval '365 days' as at from generate_series(1, ${orders}) i) as made`)
  await run(`
    insert into refunds (id, order_id, name, amount, recipient, reason, requested_by, created_at, completed_at)
    select 'rfd_' || id, id, id, amount, payer, 'x', 'automatic', created_at, created_at from orders where status = 'refunded'`)
  await run(`
    insert into order_sums (at, rail, network, asset, surface, good, item, opened, settled, gross, delivered, refunded, returned)
    select date_trunc('hour', created_at, 'UTC'), rail, network, asset, surface, good,
           coalesce(input ->> 'itemId', input ->> 'saleId', ''), count(*), count(*), sum(amount), count(*), 0, 0
    from orders
    where status in ('confirmed', 'refunded')
    group by 1, 2, 3, 4, 5, 6, 7`)
  await run(`
    insert into events (position, subject, sequence, type, data, created_at)
    select 1000000 + row_number() over (order by created_at), id, 1,
           case when status = 'refunded' then 'refund.completed' else 'order.confirmed' end, '{}', created_at
    from orders`)
  await run(`
    insert into event_tail (id, position, summed)
    select true, max(position), max(position) from events
    on conflict (id) do update set position = excluded.position, summed = excluded.summed`)
  await run(`insert into receiving_accounts (id, first_block, read_block) values ('bench/asset/till', 1, 1)`)
  await run(`
    insert into transfers (id, account, transaction, log_index, block_number, sender, amount, state, order_id, found_at)
    select 'trf_' || id, 'bench/asset/till', payment_tx, 1, 1, payer, amount, case when random() < 0.0001 then 'held' else 'matched' end, id, created_at
    from orders where payment_tx is not null`)
  await run(`insert into players (id, nickname) select 'ply_' || i, 'player ' || i from generate_series(1, 5000) i`)
  await run(`
    insert into funnel_counts (at, surface, rail, code, asked, example)
    select date_trunc('hour', now(), 'UTC') - n * interval '1 hour', s, r, c, 100, 'x'
    from generate_series(0, 1440) n, unnest(array['sale', 'shop', 'gateway', 'craft']) s, unnest(array['x402', 'mpp']) r,
         unnest(array['payment_required', 'payment_expired', 'insufficient_funds', 'sold_out', 'item_unavailable']) c`)
  for (const table of ['orders', 'events', 'transfers', 'order_sums', 'funnel_counts', 'refunds', 'players'])
    await run(`analyze ${table}`)
}

if (import.meta.main) report([await benchConsole(numbersOf(process.argv.slice(2), ['orders', 'rounds']))])
