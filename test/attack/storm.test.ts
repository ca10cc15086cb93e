import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Config } from '../../src/config/config.ts'
import type { Said } from '../checkout/counter.ts'
import { flows, judge } from '../crash/flows.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { createWeather } from '../support/weather.ts'

// M-02 at large: identical paid calls at once, over three replicas on one store, while a node lags or gas is dear. `npm test -- --only=storm --storms=100` for a long run.

const STORMS = Number(process.env['TEST_STORMS'] ?? 1)
const CALLS = 50

/** Nobody has to wait for the end of a bad day. */
const configure = (config: Config): Config => ({ ...config, limits: { ...config.limits, waitMsMax: 3_000 } })

let shop: TestShop
const weather = createWeather(() => shop.chains)
const WEATHERS = ['calm', 'lagging', 'dear'] as const
let urls: readonly string[]
before(async () => {
  // This is about money, not about how often a payment may be shown.
  shop = await startShop({ env: { SUTLER_RATE_REPLAY: '100000' }, wrapTransport: weather.wrap, configure })
  urls = [shop.service.url, (await shop.replica()).url, (await shop.replica()).url]
})
after(() => shop.stop())

test(`M-02: ${STORMS} storms of ${CALLS} identical paid calls: one settlement and one mint each`, {
  timeout: 600_000 + STORMS * 10_000,
}, async (t) => {
  const delivered = flows.filter(({ ends }) => ends === 'delivered')
  let waited = 0
  for (let storm = 0; storm < STORMS; storm++) {
    const flow = delivered[storm % delivered.length]!
    const buyer = await fundedWallet(shop)
    const init = post(flow.body(buyer, undefined))
    const credential = await flow.rail.pay(shop, buyer, await fetch(urls[0] + flow.path, init))
    const headers = { ...(init.headers as Record<string, string>), [flow.rail.header]: credential }
    const call = (index: number) => fetch(urls[index % urls.length] + flow.path, { ...init, headers })
    await weather.turn(WEATHERS[storm % WEATHERS.length]!)
    const answers = await Promise.all(Array.from({ length: CALLS }, (_, index) => call(index)))
    const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<Said>))
    await weather.turn('calm')
    // On a busy machine a caller may have waited long enough: 202 names the order, and the next call has its answer. In bad weather one may
    // be refused as well, before money and with the same payment still good; nobody is ever told to pay again.
    for (const [index, { status }] of answers.entries()) {
      assert.ok([200, 202, 503].includes(status), `answered ${status}`)
      const { payment, retry } = bodies[index]!
      if (status === 503) assert.deepEqual([payment.taken, retry.action], [false, 'wait_same_credential'])
    }
    waited += answers.filter(({ status }) => status !== 200).length
    const named = bodies.filter((_, index) => answers[index]!.status !== 503)
    assert.equal(new Set(named.map(({ orderId }) => orderId)).size, named.length > 0 ? 1 : 0)
    await until(async () => (await call(0)).status === 200)
    await judge(shop, flow, buyer, undefined, 200)
  }
  t.diagnostic(`${STORMS * CALLS} calls, ${STORMS} settlements; ${waited} callers were told to wait`)
})
