import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { VERSION } from '../../src/base/version.ts'
import { root } from '../cli/sutler.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { buy, CURSED_LOT, LOT, status } from './desk.ts'
import { type Figures, promtool, readFigures, withoutPromtool } from './figures.ts'

let shop: TestShop
let buyer: PrivateKeyAccount
let before_: Figures
let now: Figures
/** The second node of the chain that is paid on, and how it behaves. */
const second = { isSilent: false, lies: false }

before(async () => {
  shop = await startShop({
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, waitMsMax: 5_000, rate: { ...config.limits.rate, read: 5 } },
      operations: { ...config.operations, secondOpinionFrom: 1n as never },
    }),
    wrapTransport: (_, transport) => [
      transport,
      async (request) => {
        if (second.isSilent) throw new Error('connection refused')
        if (second.lies && request.method === 'eth_getTransactionReceipt') return { result: null }
        return transport(request)
      },
    ],
  })
  buyer = await fundedWallet(shop)
  before_ = await readFigures(shop)
})
after(() => shop.stop())

const grew = (series: string) => now.value(series) - before_.value(series)
const chain = () => shop.chains.native.chainId

test('revenue and refunds are counted in dollars, with what they cost in gas', async () => {
  const { body: sold } = await buy(shop, x402UnderTest, buyer)
  const { body: cursed } = await buy(shop, x402UnderTest, buyer, CURSED_LOT)
  const ended = async (id: string) => (await status(`${shop.url}/agentic/x402/purchases/${id}`)).status
  await until(async () => (await ended(sold.orderId)) === 'confirmed' && (await ended(cursed.orderId)) === 'refunded')
  now = await readFigures(shop)
  assert.equal(grew('sutler_revenue_usd_total{surface="sale",rail="x402"}'), 0.75)
  assert.equal(grew('sutler_refunded_usd_total{surface="sale",rail="x402"}'), 0.5)
  // Two settlements, a mint and a refund; the cursed mint reverts.
  assert.equal(grew(`sutler_transactions_total{chain="${chain()}",outcome="success"}`), 4)
  assert.equal(grew(`sutler_transactions_total{chain="${chain()}",outcome="reverted"}`), 1)
  for (const step of ['settle', 'mint', 'refund']) {
    assert.ok(grew(`sutler_transaction_gas_total{chain="${chain()}",step="${step}"}`) > 21_000, step)
    assert.ok(grew(`sutler_transaction_fees_coins_total{chain="${chain()}",step="${step}"}`) > 0, step)
  }
})

test('unpaid traffic and limits that were hit are counted', async () => {
  const asked = 'sutler_challenges_total{surface="sale",rail="x402",code="payment_required"}'
  const limited = 'sutler_rate_limited_total{allowance="read"}'
  before_ = await readFigures(shop)
  await fetch(`${shop.url}/agentic/x402/buy`, post({ ...LOT, beneficiary: buyer.address }))
  // The minute may end in between.
  for (let call = 0; call < 16; call++) await fetch(`${shop.url}/catalog`)
  now = await readFigures(shop)
  assert.equal(grew(asked), 1)
  assert.ok(grew(limited) >= 3)
})

test('RPC nodes are counted one by one, by their place: answers, silence, time, lag and disagreement', async () => {
  const of = (node: number, outcome: string) =>
    `sutler_rpc_requests_total{chain="${chain()}",node="${node}",outcome="${outcome}"}`
  before_ = await readFigures(shop)
  second.lies = true
  const { response } = await buy(shop, x402UnderTest, buyer)
  assert.equal(response.status, 202)
  now = await readFigures(shop)
  assert.ok(grew(`sutler_rpc_disagreements_total{chain="${chain()}"}`) > 0)
  assert.ok(grew(of(1, 'answered')) > 0)
  assert.ok(grew(`sutler_rpc_request_seconds_count{chain="${chain()}",node="1"}`) >= grew(of(1, 'answered')))
  second.lies = false
  second.isSilent = true
  await until(async () => {
    now = await readFigures(shop)
    return now.value(`sutler_rpc_node_up{chain="${chain()}",node="2"}`) === 0
  })
  assert.ok(grew(of(2, 'silent')) > 0)
  assert.equal(now.value(`sutler_rpc_node_up{chain="${chain()}",node="1"}`), 1)
  assert.match(now.text, /sutler_rpc_node_blocks_behind\{chain="\d+",node="2"\} \d+/)
  second.isSilent = false
  await until(async () => {
    now = await readFigures(shop)
    return now.value(`sutler_rpc_node_up{chain="${chain()}",node="2"}`) === 1
  })
})

test('what is owed stands beside what could be sent back', async () => {
  // The purchase of the test before may still wait for its second opinion: it is owed until it is delivered.
  await until(async () => (await readFigures(shop)).sum('sutler_orders_open') === 0)
  now = await readFigures(shop)
  const { network } = shop.config.x402!
  assert.equal(now.value(`sutler_liabilities_usd{network="${network}"}`), 0)
  assert.ok(now.value(`sutler_float_usd{network="${network}"}`) > 1)
})

test('the replica tells what it is and how it fares', async () => {
  now = await readFigures(shop)
  assert.equal(now.value(`sutler_build_info{version="${VERSION}",node="${process.versions.node}"}`), 1)
  assert.equal(now.value('sutler_ready'), 1)
  assert.equal(now.value('sutler_selling{surface="sale",rail="x402"}'), 1)
  assert.equal(now.value('sutler_check_status{check="store"}'), 0)
  assert.match(now.text, /^sutler_event_loop_delay_p99_seconds \S+$/m)
  assert.ok(now.value('process_cpu_seconds_total') > 0)
})

/** The families that are there, by name. */
const families = (text: string) => new Set([...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!))
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const named = (text: string) =>
  new Set([...text.matchAll(/\b(?:sutler|process)_[a-z0-9_]*[a-z0-9]\b/g)].map(([name]) => name))

test('the alarms and the dashboard name nothing that is not there', async () => {
  const there = families((await readFigures(shop)).text)
  const dashboard = JSON.parse(read('deploy/grafana/sutler.json')) as { panels: { targets?: { expr: string }[] }[] }
  const asked = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  assert.ok(asked.length > 20)
  for (const text of [...asked, read('deploy/prometheus/sutler.rules.yml').replaceAll(/^#.*$/gm, '')])
    for (const name of named(text)) assert.ok(there.has(name.replace(/_(bucket|sum|count)$/, '')), name)
})

test('every figure is documented, with how to add it up, and no other', async () => {
  const there = families((await readFigures(shop)).text)
  const section = read('docs/operating/monitoring.md')
    .split('**Over several replicas.**')[1]!
    .split('RPC nodes are named')[0]!
  assert.deepEqual([...named(section)].toSorted(), [...there].toSorted())
})

test('every alarm leads to a section of the runbook, and every section belongs to one', () => {
  const rules = read('deploy/prometheus/sutler.rules.yml')
  const alarms = [...rules.matchAll(/- alert: (\w+)[\s\S]*?runbook_url: (\S+)/g)]
  assert.ok(alarms.length > 20)
  const sections = [...read('docs/runbook.md').matchAll(/^## (\w+)\n\n([\s\S]*?)(?=\n## |$(?![\s\S]))/gm)]
  assert.deepEqual(
    sections.map(([, name]) => name),
    alarms.map(([, name]) => name),
  )
  for (const [, name, address] of alarms) assert.equal(address, `docs/runbook.md#${name!.toLowerCase()}`)
  for (const [, name, text] of sections)
    for (const part of ['**Means:**', '**Money:**', '**Do:**']) assert.ok(text!.includes(part), `${name}: ${part}`)
})

test('promtool has nothing against the figures', { skip: withoutPromtool }, async () => {
  const { code, said } = promtool(['check', 'metrics'], (await readFigures(shop)).text)
  assert.deepEqual([code, said], [0, ''])
})

const RULES = 'deploy/prometheus/sutler.rules.yml'
type Change = readonly [series: string, value: number]

/** What rings when these figures stand there. A counter goes on growing as it grew. */
const alarms: readonly (readonly [rings: string, ...changes: Change[]])[] = [
  ['SutlerDown', ['up', 0]],
  ['SutlerSellsNothing', ['sutler_ready', 0]],
  ['SutlerPartPaused', ['sutler_selling{surface="sale",rail="x402"}', 0]],
  ['SutlerGameDown', ['sutler_troubles_open{kind="game"}', 1]],
  ['SutlerAttentionNeeded', ['sutler_troubles_open{kind="attention"}', 1]],
  ['SutlerOutsideFailing', ['sutler_outside_requests_total{service="game",outcome="failed"}', 9]],
  ['SutlerWalletLow', ['sutler_wallet_low{role="minter",chain="84532",unit="wei"}', 1]],
  ['SutlerFloatShort', ['sutler_liabilities_usd{network="eip155:84532"}', 1e9]],
  ['SutlerNodeDown', ['sutler_rpc_node_up{chain="84532",node="2"}', 0]],
  ['SutlerNodesDisagree', ['sutler_rpc_disagreements_total{chain="84532"}', 99]],
  ['SutlerNodeSlow', ['sutler_rpc_request_seconds_bucket{chain="84532",node="2",le="+Inf"}', 1e6]],
  ['SutlerOrderStuck', ['sutler_oldest_open_order_seconds', 1_000]],
  ['SutlerOutcomeUnknown', ['sutler_unknown_outcomes', 1]],
  ['SutlerRefundStuck', ['sutler_refunds_open', 1]],
  ['SutlerPaymentMissing', ['sutler_missing_payments', 1]],
  ['SutlerStrayMoneyHeld', ['sutler_unmatched_transfers{state="held"}', 1]],
  ['SutlerWorkerLag', ['sutler_worker_lag_seconds', 60]],
  ['SutlerWebhookUntold', ['sutler_webhook_oldest_seconds{endpoint="whk_1"}', 4_000]],
  ['SutlerStoreCrowded', ['sutler_store_connections{state="awaited"}', 3]],
  ['SutlerTransactionsRevert', ['sutler_transactions_total{chain="84532",outcome="reverted"}', 99]],
  ['SutlerErrors', ['sutler_http_request_seconds_count{method="GET",route="/catalog",status="500"}', 99]],
  ['SutlerLimitsHit', ['sutler_rate_limited_total{allowance="read"}', 999]],
  ['SutlerEventLoopSlow', ['sutler_event_loop_delay_p99_seconds', 1]],
]

test('each alarm rings by its figure and no other does; a healthy shop is quiet', {
  skip: withoutPromtool,
}, async () => {
  assert.deepEqual(
    alarms.map(([name]) => name).toSorted(),
    [...read(RULES).matchAll(/- alert: (\w+)/g)].map(([, name]) => name!).toSorted(),
  )
  // What no rule names would only be carried along.
  const words = new Set(read(RULES).match(/\w+/g))
  const all = samplesOf((await readFigures(shop)).text)
  const healthy = new Map([...all].filter(([series]) => words.has(/^\w+/.exec(series)![0])))
  // On a busy machine it is not.
  healthy.set('sutler_event_loop_delay_p99_seconds', 0.01)
  healthy.set('up', 1)
  const tests = [...alarms.map(([rings, ...changes]) => judged(healthy, changes, rings)), judged(healthy, [])]
  const folder = mkdtempSync(join(tmpdir(), 'sutler-rules-'))
  const files = [
    { evaluation_interval: '2m', tests },
    { evaluation_interval: '10m', tests: [judgedForDays()] },
  ].map((part, at) => {
    const file = join(folder, `${at}.yml`)
    writeFileSync(file, JSON.stringify({ rule_files: [join(root, RULES)], ...part }))
    return file
  })
  const { code, said } = promtool(['test', 'rules', ...files])
  rmSync(folder, { recursive: true })
  assert.equal(code, 0, said)
})

function samplesOf(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

/** As Prometheus would have scraped it: five minutes of health, then more than half an hour with these figures. */
function judged(healthy: ReadonlyMap<string, number>, changes: readonly Change[], rings?: string) {
  const during = new Map([...healthy, ...changes])
  const input_series = [...during].map(([series, value]) => {
    const first = healthy.get(series)
    const growth = /_(total|count|bucket)\b/.test(series) ? value - (first ?? 0) : 0
    const [, name, labels] = /^(\w+)(?:\{(.*)\})?$/.exec(series)!
    const target = 'job="sutler",instance="one"'
    const start = first === undefined ? '_x4' : `${plain(first)}+0x4`
    return {
      series: `${name}{${labels ? `${labels},${target}` : target}}`,
      values: `${start} ${plain(value)}+${plain(growth)}x36`,
    }
  })
  const expr = 'count by (alertname) (ALERTS{alertstate="firing"}) > bool 0'
  const exp_samples = rings ? [{ labels: `{alertname="${rings}"}`, value: 1 }] : []
  return {
    name: rings ?? 'healthy',
    interval: '1m',
    input_series,
    promql_expr_test: [{ expr, eval_time: '40m', exp_samples }],
  }
}

/** One payment is missing after a day, and another one two days later: nobody is woken for longer than a day by either. */
function judgedForDays() {
  const series = 'sutler_missing_payments{job="sutler",instance="one"}'
  const expr = 'count(ALERTS{alertname="SutlerPaymentMissing",alertstate="firing"}) or vector(0)'
  const at = (hours: number, value: number) => ({
    expr,
    eval_time: `${hours}h`,
    exp_samples: [{ labels: '{}', value }],
  })
  return {
    name: 'what is missing',
    interval: '4m',
    input_series: [{ series, values: '_x359 1x719 2x719' }],
    promql_expr_test: [at(23, 0), at(25, 1), at(47, 1), at(50, 0), at(73, 1), at(95, 1), at(98, 0)],
  }
}

function plain(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en', { useGrouping: false }) : value.toFixed(9)
}
