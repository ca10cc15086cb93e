import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { startWorker } from '../../src/checkout/worker.ts'
import { type Flow, flows, judge, rails } from '../crash/flows.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { createFaultLine } from '../support/faults.ts'
import { plainTransports, startShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { createWeather } from '../support/weather.ts'

// Every call to a chain and every commit fails in turn, before and after it happened, while a node lags or gas is dear. Charged once and delivered once, charged once and
// refunded once, or not charged.

/**
 * Every so many failures, where an effect that fails before and the same one that fails after are two. The rails begin at different ones: of
 * effects that they have in common, which are most, each kind fails on one of them. `--stride=1` takes them all.
 */
const STRIDE = Number(process.env['TEST_STRIDE'] ?? 17)
/** A refund has far more effects, most of them those of a purchase once more, or tries of a mint that fails. */
const REFUND_STRIDE = Number(process.env['TEST_STRIDE'] ?? 85)
/** Whoever waits asks the same again and again, and the oftener the busier the machine is: more of a name show nothing new. */
const OF_ONE_NAME_MAX = 6
const WEATHERS = ['calm', 'lagging', 'dear'] as const

// They mostly wait, for leases and for second tries: side by side they wait together. Each has a shop of its own, for its own faults.
describe('the n-th outside effect fails', { concurrency: true }, () => {
  for (const flow of flows) test(flow.name, (t) => failSome(t, flow, rails.indexOf(flow.rail)))
})

async function failSome(t: TestContext, flow: Flow, rank: number): Promise<void> {
  const weather = createWeather(() => shop.chains)
  const line = createFaultLine()
  const shop = await startShop({
    // Callers who are answered 202 ask again and again.
    env: { SUTLER_RATE_REPLAY: '100000' },
    wrapTransport: (chainId, transport) => weather.wrap(chainId, line.wrapTransport(transport)),
    wrapDatabase: line.wrapDatabase,
    // Its looks at the store would count too. It is started once the fault has struck.
    withoutWorker: true,
    configure: (config) => ({ ...config, limits: { ...config.limits, leaseSeconds: 2, waitMsMax: 2_000 } }),
  })
  t.after(() => shop.stop())
  // Whoever lost an answer asks another process.
  const replica = await shop.replica({ transports: plainTransports(shop.chains) })

  async function buy(
    buyer: PrivateKeyAccount,
    onPaid: () => void | Promise<void>,
  ): Promise<{ first: Response; resend: () => Promise<Response> }> {
    const init = post(flow.body(buyer, undefined))
    const unpaid = await fetch(shop.url + flow.path, init)
    const credential = await flow.rail.pay(shop, buyer, unpaid)
    const headers = { ...(init.headers as Record<string, string>), [flow.rail.header]: credential }
    const send = (at: string) => fetch(at + flow.path, { ...init, headers })
    await onPaid()
    return { first: await send(shop.url), resend: () => send(replica.url) }
  }

  const noOrderIsOpen = async () => {
    const { rows } = await shop.store.db.query<{ n: number }>(
      `select count(*)::int as n from jobs where kind = 'order'`,
    )
    return rows[0]!.n === 0
  }

  /** Works until there is nothing left to do, and tells something about that moment. */
  async function untilOver<Told>(tell: () => Told): Promise<Told> {
    const worker = startWorker(shop.service.checkout)
    await until(noOrderIsOpen)
    const told = tell()
    await worker.stop()
    return told
  }

  /** The same payment again, until the answer is final: the goods, the money back, or the promise that nothing was taken. */
  async function finish(first: Response, resend: () => Promise<Response>): Promise<number> {
    for (let answer = first; ; answer = await resend()) {
      const { code, refund } = (await answer.json()) as { code?: string; refund?: { status: string } | null }
      const isRefunding = code === 'fulfilment_failed' && refund?.status !== 'refunded'
      const isMoving = answer.status === 202 || answer.status >= 500 || isRefunding
      if (!isMoving) return answer.status
    }
  }

  const clean = await fundedWallet(shop)
  await buy(clean, () => line.disarm())
  const effects = (await untilOver(() => line.seen())).filter(({ nth }) => nth <= OF_ONE_NAME_MAX)
  assert.ok(effects.length > 5)
  const failures = effects.flatMap((effect) => [
    { effect, moment: 'before' as const },
    { effect, moment: 'after' as const },
  ])
  const stride = flow.ends === 'refunded' ? REFUND_STRIDE : STRIDE
  let failed = 0
  for (let n = rank * Math.floor(stride / rails.length); n < failures.length; n += stride) {
    const { effect, moment } = failures[n]!
    const buyer = await fundedWallet(shop)
    const { first, resend } = await buy(buyer, async () => {
      await weather.turn(WEATHERS[n % WEATHERS.length]!)
      line.arm(effect, moment)
    })
    const told = `${flow.name}: ${effect.name} no. ${effect.nth} failed ${moment}, answered ${first.status}`
    // A refund goes on after the answer, and so do the faults.
    const worker = startWorker(shop.service.checkout)
    // On chains that make a block for each transaction, whoever lags would lag until the next purchase, and the effect might never come.
    await weather.turn('calm')
    await until(async () => line.hasStruck() || (await noOrderIsOpen()))
    line.disarm()
    // A 5xx promises that nothing was taken, and that nothing will be unless the payment is sent again.
    if (first.status >= 500 && flow.rail.name !== 'mpp push') {
      await until(noOrderIsOpen)
      await judge(shop, flow, buyer, undefined, 402)
    }
    const last = await finish(first, resend)
    await until(noOrderIsOpen)
    await worker.stop()
    await judge(shop, flow, buyer, undefined, last).catch((error) => {
      throw new Error(told, { cause: error })
    })
    failed++
  }
  t.diagnostic(`${failed} of ${failures.length} failures: of ${effects.length} effects, before and after`)
}
