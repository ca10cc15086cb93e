import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/base/hex.ts'
import { usd } from '../../src/base/money.ts'
import type { Secret } from '../../src/base/secret.ts'
import { sendFrom } from '../checkout/x402-wallet.ts'
import { root } from '../cli/sutler.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { tester } from '../support/doer.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { buy, buyUrl, CURSED_LOT, LOT, reconcileRail, TOMORROW } from './desk.ts'
import { type FrailShop, startFrailShop } from './faults.ts'
import { type Figures, promtool, readFigures, withoutPromtool } from './figures.ts'
import { transfer, x402Stranger } from './strangers.ts'

// Each alarm is made to ring by the fault that it is for: a real shop is hurt, what it then shows at /metrics is what Prometheus would have
// scraped, and Prometheus' own judge says what rings. Only the hours in between are made up.

const RULES = join(root, 'deploy/prometheus/sutler.rules.yml')
const rules = readFileSync(RULES, 'utf8')
const alarms = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
/** Every word of the rules, and so every family that they read: the others would only be carried along. */
const wordsOfRules = new Set(rules.match(/\w+/g))

/** Nothing is left for the gas of a refund when it begins. */
let isDrained = false
let frail: FrailShop
let shop: TestShop
let buyer: PrivateKeyAccount

before(async () => {
  frail = await startFrailShop(
    (config) => ({
      ...config,
      limits: { ...config.limits, rate: { ...config.limits.rate, read: 100 } },
      operations: { ...config.operations, secondOpinionFrom: usd(1n) },
    }),
    {
      env: { SUTLER_WEBHOOK_LOOPBACK: 'true' },
      poolSize: 4,
      waypoint: async (name) => {
        if (name === 'refund.created' && isDrained) await frail.setGas('settler', 0n)
      },
    },
  )
  shop = frail.shop
  buyer = await fundedWallet(shop)
})
after(() => frail.stop())

/** What is scraped before the fault and while it lasts. */
type Scene = { readonly rings: readonly string[]; readonly before: string; readonly during: string }
const scenes: Scene[] = []

const scraped = async (from: Pick<TestShop, 'url' | 'config'> = shop) => `${(await readFigures(from)).text}up 1\n`
/** Until the figures show it; the shop keeps what it found out for some seconds. */
const shown = (isShown: (figures: Figures) => boolean) =>
  until(
    (() => {
      // Buyers sign by the real clock, and what they sign lasts for five minutes: the shop's must not run away from it.
      let shifts = 0
      return async () => {
        if (shifts++ < 2) frail.later(5_500)
        return isShown(await readFigures(shop))
      }
    })(),
  )

async function scene(
  rings: readonly string[],
  { cause, mend = async () => {} }: { cause: () => Promise<unknown>; mend?: () => Promise<unknown> },
): Promise<void> {
  const before = await scraped()
  await cause()
  scenes.push({ rings, before, during: await scraped() })
  await mend()
}

const sql = (text: string) => shop.store.db.query(text)

test('the processor is busy with something else', () =>
  scene(['SutlerEventLoopSlow'], {
    async cause() {
      // The thread stands still, as one that is given no processor does; to keep a real one busy would be taken from other tests.
      const asleep = new Int32Array(new SharedArrayBuffer(4))
      // The figure is that of ten seconds, which may have begun under whoever used this process before.
      await until(async () => {
        for (let round = 0; round < 8; round++) {
          Atomics.wait(asleep, 0, 0, 300)
          await new Promise((resolve) => setTimeout(resolve, 1))
        }
        return (await readFigures(shop)).value('sutler_event_loop_delay_p99_seconds') > 0.2
      })
    },
  }))

test('a replica is gone', async () => {
  const replica = await shop.replica()
  const place = { url: replica.url, config: shop.config }
  const before = await scraped(place)
  await replica.stop()
  const isUp = await scraped(place).then(
    () => true,
    () => false,
  )
  assert.equal(isUp, false)
  scenes.push({ rings: ['SutlerDown'], before, during: 'up 0\n' })
})

test('the chain drops a payment for good', () =>
  scene(['SutlerPaymentMissing'], {
    async cause() {
      const rail = mppPullUnderTest
      const { body } = await buy(shop, rail, buyer)
      const order = () => shop.service.checkout.orders.byId(body.orderId)
      await until(async () => (await order())?.status === 'confirmed')
      const { transaction } = (await order())!.settlement!
      await reconcileRail(shop, rail, TOMORROW)
      const { tempo } = shop.chains
      const receipt = await tempo.request({ method: 'eth_getTransactionReceipt', params: [transaction] })
      const { blockNumber } = receipt as { blockNumber: Hex }
      const head = Number(await tempo.request({ method: 'eth_blockNumber', params: [] }))
      const depth = head - Number(blockNumber) + 1
      await tempo.request({ method: 'dev_reorg', params: [depth, { transactions: 'drop' }] })
      // As if it had been dropped before its block was final.
      await sql(`delete from arrivals where order_id = '${body.orderId}'`)
      await reconcileRail(shop, rail, TOMORROW)
    },
    mend: () => sql('delete from missing_settlements'),
  }))

test('nodes disagree about a payment while the float is nearly gone, and the order hangs', async () => {
  const { asset, treasuryKey } = shop.config.x402!
  const treasury = privateKeyToAccount((treasuryKey as Secret).reveal() as Hex)
  const float = await erc20Balance(shop.chains.native, asset, treasury.address)
  await scene(
    ['SutlerNodesDisagree', 'SutlerOrderStuck', 'SutlerFloatShort', 'SutlerOutcomeUnknown', 'SutlerWalletLow'],
    {
      async cause() {
        frail.second.lies = true
        const { response } = await buy(shop, x402UnderTest, buyer)
        assert.equal(response.status, 202)
        await sendFrom(shop.chains.native, treasury, asset, transfer(buyer.address, float - 300_000n))
        await sql(`update orders set created_at = created_at - interval '20 minutes' where status = 'settling'`)
        await shown(
          (figures) =>
            figures.value('sutler_unknown_outcomes') === 1 &&
            figures.value(`sutler_float_usd{network="${shop.config.x402!.network}"}`) < 1,
        )
      },
      async mend() {
        frail.second.lies = false
        await shop.chains.native.request({
          method: 'dev_mintToken',
          params: [asset, treasury.address, `0x${float.toString(16)}`],
        })
        await shown((figures) => figures.sum('sutler_orders_open') === 0)
      },
    },
  )
})

test('a refund cannot be sent, for a mint that reverted', () =>
  scene(['SutlerRefundStuck', 'SutlerTransactionsRevert', 'SutlerWalletLow'], {
    async cause() {
      isDrained = true
      await buy(shop, x402UnderTest, buyer, CURSED_LOT)
      await shown((figures) => figures.value('sutler_refunds_open') === 1)
    },
    async mend() {
      isDrained = false
      await frail.setGas('settler', 10n ** 20n)
      await until(async () => {
        // It is tried ever less often.
        await sql('update jobs set run_at = now() where lease is null')
        return (await readFigures(shop)).value('sutler_refunds_open') === 0
      })
      const lot = post({ ...LOT, beneficiary: buyer.address })
      await until(async () => (await fetch(buyUrl(shop, x402UnderTest), lot)).status === 402)
    },
  }))

test('a receiver of webhooks takes nothing', async () => {
  const receiver = createServer((_request, response) => response.writeHead(500).end())
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const { webhooks } = shop.service.operations
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  const { endpoint } = await webhooks.add(tester, { url, description: '', eventTypes: null })
  await scene(['SutlerWebhookUntold'], {
    async cause() {
      await buy(shop, x402UnderTest, buyer)
      await shown((figures) => figures.sum('sutler_webhook_pending') > 0)
      await sql(`update webhook_deliveries set created_at = created_at - interval '2 hours'`)
    },
    mend: () => webhooks.remove(tester, endpoint.id),
  })
  receiver.close()
})

test('the store is crowded', () => {
  const release = Promise.withResolvers<void>()
  let crowd: Promise<unknown> = Promise.resolve()
  return scene(['SutlerStoreCrowded'], {
    async cause() {
      const held = Promise.withResolvers<void>()
      const long = Array.from({ length: 3 }, () =>
        shop.store.db.transaction(async () => {
          held.resolve()
          await release.promise
        }),
      )
      await held.promise
      // On a busy machine some of them may be turned away; that is a crowd as well.
      crowd = Promise.allSettled([...long, ...Array.from({ length: 200 }, () => sql('select pg_sleep(0.01)'))])
    },
    async mend() {
      release.resolve()
      await crowd
    },
  })
})

test('somebody calls more often than anybody needs to', () =>
  scene(['SutlerLimitsHit'], {
    async cause() {
      for (let call = 0; call < 150; call++) await fetch(`${shop.url}/catalog`)
    },
  }))

test('money comes without a purchase, and waits', () =>
  scene(['SutlerStrayMoneyHeld', 'SutlerAttentionNeeded'], {
    async cause() {
      const stranger = await x402Stranger(shop)
      await stranger.give(1_000_000n)
      await until(async () => {
        const { items } = await reconcileRail(shop, stranger.rail, { ...TOMORROW, refundsOrphans: false })
        return items.some(({ kind }) => kind === 'held')
      })
      await shop.service.operations.lookout.look()
    },
    async mend() {
      await sql(`update arrivals set state = 'kept' where state = 'held'`)
      await until(async () => {
        frail.later(11_000)
        // The payment of the scene above is missing still, and found missing again whenever somebody looks.
        await sql('delete from missing_settlements')
        await shop.service.operations.lookout.look()
        return (await readFigures(shop)).value('sutler_troubles_open{kind="attention"}') === 0
      })
    },
  }))

test('no chain answers', () =>
  scene(['SutlerSellsNothing', 'SutlerErrors', 'SutlerPartPaused', 'SutlerNodeDown'], {
    async cause() {
      frail.chains.areSilent = true
      await shown((figures) => figures.value('sutler_ready') === 0)
      for (let call = 0; call < 5; call++)
        assert.ok(
          (await fetch(buyUrl(shop, x402UnderTest), post({ ...LOT, beneficiary: buyer.address }))).status >= 500,
        )
    },
    async mend() {
      frail.chains.areSilent = false
      await shown((figures) => figures.value('sutler_ready') === 1 && figures.sum('sutler_rpc_node_up') === 4)
    },
  }))

test('the sale contract is paused', () =>
  scene(['SutlerPartPaused'], {
    async cause() {
      await frail.pauseSale(true)
      await shown((figures) => figures.value('sutler_selling{surface="sale",rail="x402"}') === 0)
    },
    async mend() {
      await frail.pauseSale(false)
      await shown((figures) => figures.value('sutler_selling{surface="sale",rail="x402"}') === 1)
    },
  }))

test('a wallet runs dry', () =>
  scene(['SutlerWalletLow'], {
    async cause() {
      await frail.setGas('minter', 1_000n)
      await shown((figures) => figures.sum('sutler_wallet_low') === 1)
    },
    async mend() {
      await frail.setGas('minter', 10n ** 20n)
      await shown((figures) => figures.sum('sutler_wallet_low') === 0)
    },
  }))

test('the game is down', () =>
  scene(['SutlerGameDown', 'SutlerOutsideFailing', 'SutlerPartPaused'], {
    async cause() {
      frail.studio.fault = 'down'
      await until(async () => {
        frail.later(6_000)
        await shop.service.operations.lookout.look()
        return (await readFigures(shop)).value('sutler_troubles_open{kind="game"}') === 1
      })
    },
    async mend() {
      frail.studio.fault = null
      await until(async () => {
        frail.later(11_000)
        await shop.service.operations.lookout.look()
        return (await readFigures(shop)).value('sutler_troubles_open{kind="game"}') === 0
      })
    },
  }))

test('a node is silent, and one is slow', async () => {
  const node = `sutler_rpc_node_up{chain="${shop.chains.native.chainId}",node="2"}`
  await scene(['SutlerNodeDown'], {
    async cause() {
      frail.second.isSilent = true
      await shown((figures) => figures.value(node) === 0)
    },
    async mend() {
      frail.second.isSilent = false
      await shown((figures) => figures.value(node) === 1)
    },
  })
  await scene(['SutlerNodeSlow'], {
    async cause() {
      frail.second.slowMs = 3_000
      for (let look = 0; look < 5; look++) await shown(() => true)
    },
    mend: async () => {
      frail.second.slowMs = 0
    },
  })
})

test('nobody works on open orders', async () => {
  const idle = await startShop({
    withoutWorker: true,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 100, receiptWaitMs: 50 } }),
  })
  const before = await scraped(idle)
  const { asset } = idle.config.x402!
  await idle.chains.native.request({ method: 'dev_fault', params: [{ kind: 'drop', to: asset }] })
  const { response } = await buy(idle, x402UnderTest, await fundedWallet(idle))
  assert.equal(response.status, 202)
  await until(async () => {
    await idle.store.db.query(`update jobs set run_at = now() - interval '1 minute' where lease is null`)
    return (await readFigures(idle)).value('sutler_worker_lag_seconds') > 30
  })
  scenes.push({ rings: ['SutlerWorkerLag'], before, during: await scraped(idle) })
  await idle.stop()
})

test('promtool takes the rules, and each rings by its fault; a healthy shop is quiet', {
  skip: withoutPromtool,
}, () => {
  assert.deepEqual(new Set(scenes.flatMap(({ rings }) => rings)), new Set(alarms))
  const checked = promtool(['check', 'rules', RULES])
  assert.equal(checked.code, 0, checked.said)
  const folder = mkdtempSync(join(tmpdir(), 'sutler-rules-'))
  const healthy = { rings: [], before: scenes[0]!.before, during: scenes[0]!.before }
  const files = [
    { evaluation_interval: '2m', tests: [...scenes, healthy].map(judged) },
    { evaluation_interval: '10m', tests: [judgedForDays()] },
  ].map((part, at) => {
    const file = join(folder, `${at}.yml`)
    writeFileSync(file, JSON.stringify({ rule_files: [RULES], ...part }))
    return file
  })
  const { code, said } = promtool(['test', 'rules', ...files])
  rmSync(folder, { recursive: true })
  assert.equal(code, 0, said)
})

/** Five minutes of what was before, then more than half an hour of the fault: what was counted goes on growing as it grew. */
function judged({ rings, before, during }: Scene) {
  const earlier = seriesOf(before)
  const input_series = [...seriesOf(during)].map(([series, { value, isCounter }]) => {
    const first = earlier.get(series)?.value
    const growth = isCounter ? value - (first ?? 0) : 0
    const start = first === undefined ? '_x4' : `${plain(first)}+0x4`
    return { series, values: `${start} ${plain(value)}+${plain(growth)}x36` }
  })
  const fires = (name: string) => `count(ALERTS{alertname="${name}",alertstate="firing"}) > bool 0`
  const expected = rings.map((name) => ({ expr: fires(name), value: 1 }))
  const silence = { expr: 'count(ALERTS{alertstate="firing"}) or vector(0)', value: 0 }
  return {
    name: rings.join(),
    interval: '1m',
    input_series,
    promql_expr_test: (rings.length === 0 ? [silence] : expected).map(({ expr, value }) => ({
      expr,
      eval_time: '40m',
      exp_samples: [{ labels: '{}', value }],
    })),
  }
}

/** One payment is lost after a day, and another one two days later: nobody is woken for longer than a day by either. */
function judgedForDays() {
  const series = 'sutler_missing_settlements{state="lost",job="sutler",instance="one"}'
  const fires = 'count(ALERTS{alertname="SutlerPaymentMissing",alertstate="firing"}) or vector(0)'
  const at = (hours: number, value: number) => ({
    expr: fires,
    eval_time: `${hours}h`,
    exp_samples: [{ labels: '{}', value }],
  })
  return {
    name: 'what is lost',
    interval: '4m',
    input_series: [{ series, values: '_x359 1x719 2x719' }],
    promql_expr_test: [at(23, 0), at(25, 1), at(47, 1), at(50, 0), at(73, 1), at(95, 1), at(98, 0)],
  }
}

type Point = { readonly value: number; readonly isCounter: boolean }

/** As Prometheus would keep them: with the labels of the target. */
function seriesOf(text: string): ReadonlyMap<string, Point> {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]))
  const target = 'job="sutler",instance="one"'
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .filter((line) => wordsOfRules.has(/^\w+/.exec(line)![0]))
      .map((line) => {
        const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
        const type = types.get(name) ?? types.get(name.replace(/_(bucket|sum|count)$/, ''))
        const all = labels === '' ? target : `${labels},${target}`
        return [`${name}{${all}}`, { value: Number(value), isCounter: type === 'counter' || type === 'histogram' }]
      }),
  )
}

function plain(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en', { useGrouping: false }) : value.toFixed(9)
}
