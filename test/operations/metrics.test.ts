import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
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
