// What an operator reads, and what one purchase takes, in a shop of a million orders beside a young one, turn by turn.
//   node bench/growth.ts [--orders=1000000] [--rounds=15]
import { systemClock } from '../src/base/clock.ts'
import { systemRandom } from '../src/base/id.ts'
import { silentLog } from '../src/base/log.ts'
import { createSandboxPlayers } from '../src/sandbox/players.ts'
import { openDatabase } from '../src/store/db.ts'
import { asOperator, buy, reconcileRail } from '../test/operations/desk.ts'
import { fundedWallet, post } from '../test/support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../test/support/credentials.ts'
import { onServer } from '../test/support/postgres.ts'
import { startShop, type TestShop } from '../test/support/shop.ts'
import { median } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'

type Buyer = Awaited<ReturnType<typeof fundedWallet>>
type Aged = { readonly shop: TestShop; readonly buyer: Buyer; readonly orderId: string; readonly paymentTx: string }
type Deed = (aged: Aged) => Promise<unknown>

const RAILS = [x402UnderTest, mppPullUnderTest]
/** Three events to an order: opened, settled, confirmed. */
const EVENTS_PER_ORDER = 3

export async function benchGrowth({ orders = 1_000_000, rounds = 15 } = {}): Promise<Report> {
  const young = await open()
  const grown = await open()
  try {
    await fill(young.shop, Math.ceil(orders / YOUNG))
    await fill(grown.shop, orders)
    const times = new Map<string, { young: number[]; grown: number[] }>()
    // The first round fills caches and plans, and does not count.
    for (let round = 0; round <= rounds; round++)
      for (const [what, deed] of Object.entries(deeds)) {
        const both = times.get(what) ?? { young: [], grown: [] }
        times.set(what, both)
        for (const [age, aged] of [
          ['young', young],
          ['grown', grown],
        ] as const) {
          const ms = await timeOf(() => deed(aged))
          if (round > 0) both[age].push(ms)
        }
      }
    return reportOf(orders, times)
  } finally {
    await young.shop.stop()
    await grown.shop.stop()
  }
}

function reportOf(orders: number, times: ReadonlyMap<string, { young: number[]; grown: number[] }>): Report {
  const all = [...times].map(([what, { young, grown }]) => ({ what, young: median(young), grown: median(grown) }))
  return {
    title: `${orders} orders and ${orders * EVENTS_PER_ORDER} events beside a fiftieth of it`,
    figures: all.map(({ what, grown }) => ({ what, value: grown, unit: 'ms' })),
    // Below a few milliseconds the machine is measured and not the shop.
    ratios: all.map(({ what, young, grown }) => ({
      what: `${what}, grown : young`,
      value: Math.max(grown, FLOOR_MS) / Math.max(young, FLOOR_MS),
      atMost: 2,
    })),
  }
}

const FLOOR_MS = 5
/** A young shop has so many times less: enough for whole pages and for the newest 10,000, which totals are of. */
const YOUNG = 50

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

/** A shop that has sold a few things, by each protocol. */
async function open(): Promise<Aged> {
  const shop = await startShop()
  const buyer = await fundedWallet(shop)
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'Grown', address: buyer.address })
  for (const rail of RAILS) {
    const item = post({ itemId: 'keys:5', nickname: 'Grown' })
    const url = `${shop.url}/shop/${rail.rail}/buy`
    const credential = await rail.pay(shop, buyer, await fetch(url, item))
    await fetch(url, { ...item, headers: { ...item.headers, [rail.header]: credential } })
  }
  const { body } = await buy(shop, x402UnderTest, buyer)
  for (const rail of RAILS) await reconcileRail(shop, rail)
  return { shop, buyer, ...body }
}

const read =
  (path: (aged: Aged) => string): Deed =>
  async (aged) => {
    const response = await asOperator(aged.shop, path(aged))
    if (!response.ok) throw new Error(`${path(aged)} was answered ${response.status}`)
    await response.arrayBuffer()
  }

const DAYS_100 = new Date(Date.now() - 100 * 86_400_000).toISOString()

const deeds: Readonly<Record<string, Deed>> = {
  'orders, newest': read(() => '/operator/orders'),
  'orders, before a day long ago': read(() => `/operator/orders?before=${DAYS_100}`),
  'orders, since that day': read(() => `/operator/orders?since=${DAYS_100}`),
  'orders, open': read(() => '/operator/orders?open=true'),
  'orders, refunded': read(() => '/operator/orders?status=refunded'),
  'orders, confirmed': read(() => '/operator/orders?status=confirmed'),
  'orders, of a payer': read(({ buyer }) => `/operator/orders?payer=${buyer.address}`),
  'orders, of a player': read(() => '/operator/orders?player=Grown'),
  'orders, of a good': read(() => '/operator/orders?good=shopItem'),
  'orders, of a surface and a rail': read(() => '/operator/orders?surface=shop&rail=mpp'),
  'orders, with totals': read(() => '/operator/orders?totals=true'),
  'one order': read(({ orderId }) => `/operator/orders/${orderId}`),
  'one order, by its payment': read(({ paymentTx }) => `/operator/orders/${paymentTx}`),
  'find a payer': read(({ buyer }) => `/operator/search?q=${buyer.address}`),
  'find nothing': read(() => `/operator/search?q=0x${'ab'.repeat(32)}`),
  'transfers, held': read(() => '/operator/transfers'),
  'events, the first': read(() => '/events?after=0'),
  webhooks: read(() => '/operator/webhooks'),
  figures: read(() => '/metrics'),
  health: read(() => '/health/ready'),
  players: read(() => '/operator/players'),
  items: read(() => '/operator/items'),
  'export, the first page': read(() => '/operator/export?days=7'),
  'the books': ({ shop }) => reconcileRail(shop, x402UnderTest),
  'a look around': ({ shop }) => shop.service.operations.lookout.look(),
  'a payment, by anybody': read(({ paymentTx }) => `/payments/${paymentTx}`),
  'a purchase by x402': ({ shop, buyer }) => buy(shop, x402UnderTest, buyer),
  'a purchase by mpp': ({ shop, buyer }) => buy(shop, mppPullUnderTest, buyer),
  'a start': async ({ shop }) => {
    const database = await openDatabase({
      ...shop.store.place,
      log: silentLog,
      clock: systemClock,
      random: systemRandom,
    })
    await (await shop.replica({ database })).stop()
    await database.close()
  },
}

/** Copies of what was sold, over the last 390 days, of 50,000 payers and 20,000 players. Each is finished, and its money accounted for. */
async function fill({ store }: TestShop, orders: number): Promise<void> {
  const STEP = 50_000
  for (let from = 0; from < orders; from += STEP) {
    const numbers = `generate_series(${from}, ${Math.min(from + STEP, orders) - 1}) as n`
    await store.db.transaction(
      async (tx) => {
        for (const text of fillOf(numbers, orders)) await tx.query(text)
      },
      { workMsMax: 3_600_000, statementMsMax: 3_600_000 },
    )
    console.error(`  ${Math.min(from + STEP, orders)} orders`)
  }
  const finish = [`update event_tail set position = (select max(position) from events)`, 'vacuum analyze']
  await onServer(store.place.url!, async (client) => {
    for (const text of finish) await client.query(text)
  })
}

function fillOf(numbers: string, orders: number): readonly string[] {
  const at = `now() - interval '1 hour' - (${orders} - n) * ${(390 * 86_400) / orders} * interval '1 second'`
  const hash = (salt: string) => `'0x' || repeat(md5('${salt}' || n), 2)`
  const payer = `'0x' || md5('payer' || n % 50000) || '00000000'`
  const templates = `(select o.*, row_number() over (order by o.id) - 1 as place, count(*) over () as places
    from orders o where o.created_at > now() - interval '1 hour' and o.status = 'confirmed') as t`
  return [
    `insert into orders
     select r.*
     from ${numbers}
     join ${templates} on t.place = n % t.places
     cross join lateral jsonb_populate_record(null::orders, to_jsonb(t) || jsonb_build_object(
       'id', 'old' || n, 'payer', ${payer}, 'payment_tx', ${hash('paid')}, 'delivery_tx', ${hash('done')},
       'request_digest', md5(n::text), 'proof_digest', md5(n::text), 'idempotency_key', null,
       'answer_body', null, 'answer_headers', null, 'answer_status', null, 'receipt', left(t.receipt, 200),
       'input', case when t.input ? 'nickname' then t.input || jsonb_build_object('nickname', 'player' || n % 20000) else t.input end,
       'status', case when n % 500 = 0 then 'refunded' else 'confirmed' end, 'created_at', ${at}, 'updated_at', ${at}, 'settled_at', ${at})) as r`,
    `insert into payment_identities (identity, handle, order_id)
     select 'old/' || ${hash('nonce')}, ${hash('nonce')}, 'old' || n from ${numbers}`,
    `insert into events (position, subject, sequence, type, data, created_at)
     select 1000000 + n::bigint * ${EVENTS_PER_ORDER} + k, 'old' || n, k,
            (array['order.created', 'payment.settled', 'order.confirmed'])[k],
            jsonb_build_object('orderId', 'old' || n, 'status', 'confirmed'), ${at}
     from ${numbers}, generate_series(1, ${EVENTS_PER_ORDER}) as k`,
    `insert into transfers (id, account, transaction, log_index, block_number, sender, amount, state, order_id, found_at, updated_at)
     select 'trf_old' || n, t.id, ${hash('paid')}, 0, 0, ${payer}, 250000, 'matched', 'old' || n, ${at}, ${at}
     from ${numbers}, (select id from receiving_accounts order by id limit 1) as t`,
    `insert into sends (chain_id, signer, nonce, order_id, step, call, versions, created_at)
     select 84532, '0x00000000000000000000000000000000000000aa', n, 'old' || n, 'mint', '{"to": "0x", "data": "0x", "gas": "1"}', '[]', ${at}
     from ${numbers}`,
  ]
}

if (import.meta.main) report([await benchGrowth(numbersOf(process.argv.slice(2), ['orders', 'rounds']))])
