import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { keccak256, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { craftController } from '../../src/artifacts/CraftController.ts'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { invocation } from '../../src/chain/act.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { ended, said } from '../checkout/counter.ts'
import { typed } from '../cli/typed.ts'
import { startStudio } from '../shop/studio.ts'
import { json } from '../shop/support.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { buyUrl, payFor, status } from './desk.ts'

// What the shop itself must mend is never the buyer's fault: nothing is taken, the answer says when to come back, and the operator reads why.

type Told = { code: string; detail: string; payment: { taken: boolean }; retry: { afterSeconds: number | null } }
type Readiness = {
  status: string
  checks: { name: string; status: string; detail: string }[]
  sells: { surface: string; protocol: string; status: string; reasons: string[] }[]
}

const lines: string[] = []
const missing = new Set<number>()
/** How far time has been moved on, for the shop, its chains and the wallets that sign by it: what they sign lasts for 25 seconds. */
let aheadMs = 0
const now = Date.now
let shop: TestShop
before(async () => {
  Date.now = () => now() + aheadMs
  shop = await startShop({
    log: createLog({ level: 'warn', clock: systemClock, write: (line) => void lines.push(line) }),
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 400, leaseSeconds: 1 } }),
    wrapTransport: (chainId, transport) => async (request) => {
      if (missing.has(chainId)) throw new Error('connection refused')
      return transport(request)
    },
  })
})
after(async () => {
  await shop.stop()
  Date.now = now
})

const act = (name: string, args: readonly unknown[] = []) =>
  shop.world.deployer.act(invocation(shop.world.contracts.sale, saleLots.abi, name, args))
const craft = (name: string, args: readonly unknown[] = []) =>
  shop.world.deployer.act(invocation(shop.world.contracts.craftController, craftController.abi, name, args))
const role = (name: string) => keccak256(toHex(name))

async function ready(at = shop.url): Promise<{ code: number; body: Readiness }> {
  const response = await fetch(`${at}/health/ready`)
  return { code: response.status, body: (await response.json()) as Readiness }
}
const down = ({ sells }: Readiness) =>
  sells.flatMap(({ status, surface, protocol }) => (status === 'down' ? [`${surface} ${protocol}`] : [])).toSorted()

/**
 * Answers are kept for two seconds, and what a wallet holds for five; they pass at once here, because to wait for them was most of what these tests
 * cost. Resolves with the first answer that names exactly these.
 */
async function readyWithout(names: readonly string[], at = shop.url): Promise<{ code: number; body: Readiness }> {
  let last = await ready(at)
  const isSo = () => down(last.body).join() === names.join()
  for (let pass = 0; pass < 2 && !isSo(); pass++) {
    aheadMs += 5_500
    last = await ready(at)
  }
  await until(async () => {
    if (!isSo()) last = await ready(at)
    return isSo()
  })
  return last
}

const SALE = ['sale mpp', 'sale x402']
const CRAFT = ['craft mpp', 'craft x402']

// The first, while time has not been moved far: the studio is a process of its own, and whatever is signed for it or by it grows old.
test('a game backend that is down takes only the shop surface away', async () => {
  const studio = await startStudio(privateKeyToAccount(generatePrivateKey()).address)
  const replica = await shop.replica({
    configure: (config) => ({
      ...config,
      game: { ...config.game, backend: { kind: 'http', url: studio.url, secret: studio.secret } },
    }),
  })
  await readyWithout([], replica.url)
  studio.fault = 'down'
  assert.equal((await readyWithout(['shop mpp', 'shop x402'], replica.url)).code, 200)
  const lookup = await fetch(`${replica.url}/shop/mpp/player-lookup`, { method: 'POST' })
  assert.equal((await json<Told>(lookup, 503)).code, 'game_unavailable')
  const token = shop.config.operatorToken!.reveal()
  const players = await typed(['players', '--url', replica.url, '--token', token], {})
  assert.deepEqual([players.code, /kept by the game backend/.test(players.stderr)], [1, true], players.stderr)
  await replica.stop()
  await studio.stop()
})

const faults = [
  {
    name: 'a minter without its role',
    code: 'surface_closed',
    reason: /The shop may not mint right now/,
    logged: /the minter lacks its role on the sale contract.*grant MINTER_ROLE/,
    breaks: () => act('revokeRole', [role('MINTER_ROLE'), demoAddressOf('minter')]),
    mends: () => act('grantRole', [role('MINTER_ROLE'), demoAddressOf('minter')]),
  },
  {
    name: 'a paused sale contract',
    code: 'surface_closed',
    reason: /The sale contract is paused/,
    logged: /the sale contract is paused; no lot is sold.*unpause the sale contract/,
    breaks: () => act('pause'),
    mends: () => act('unpause'),
  },
] as const

for (const { name, code, reason, logged, breaks, mends } of faults)
  describe(name, () => {
    for (const rail of [x402UnderTest, mppPullUnderTest])
      test(`${rail.name}: 503 before money, and the same payment buys when it is mended`, async () => {
        verifies('D15.5')
        const buyer = await fundedWallet(shop)
        const till = await rail.till(shop)
        const { request, credential } = await payFor(shop, rail, buyer)
        const send = () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
        await breaks()
        const response = await send()
        const told = await json<Told>(response, 503)
        assert.deepEqual([told.code, told.payment.taken], [code, false])
        assert.match(told.detail, reason)
        assert.ok(Number(response.headers.get('retry-after')) > 0)
        assert.equal(await rail.till(shop), till)
        await mends()
        await readyWithout([])
        // A replica looks at its lots every other second.
        let bought = await send()
        await until(async () => {
          if (bought.status === 503) bought = await send()
          return bought.status !== 503
        })
        assert.ok([200, 202].includes(bought.status), await bought.clone().text())
        const { statusUrl } = (await bought.json()) as { statusUrl: string }
        await until(async () => (await status(statusUrl)).status === 'confirmed')
        const alarms = lines.filter((line) => logged.test(line))
        assert.equal(alarms.length, 1, 'told once, not for each buyer')
      })

    test('health tells it, everything else goes on being sold, and the routes that are down say so unasked', async () => {
      await breaks()
      const { code: answered, body } = await readyWithout(SALE)
      assert.deepEqual([answered, body.status], [200, 'degraded'])
      assert.match(body.sells.find(({ surface }) => surface === 'sale')!.reasons.join(), reason)
      const buyer = await fundedWallet(shop)
      const lot = { saleId: 392, beneficiary: buyer.address }
      for (const rail of [x402UnderTest, mppPullUnderTest]) {
        const refused = await fetch(buyUrl(shop, rail), post(lot))
        assert.equal((await json<Told>(refused, 503)).code, code)
        assert.ok(Number(refused.headers.get('retry-after')) > 0)
        const item = post({ itemId: 'keys:5', nickname: 'Demo' })
        assert.equal((await fetch(`${shop.url}/shop/${rail.rail}/buy`, item)).status, 402)
      }
      await mends()
      await readyWithout([])
      assert.equal((await fetch(buyUrl(shop, x402UnderTest), post(lot))).status, 402)
    })
  })

test('money that was pushed while the contract was paused waits for it, and buys when it is open again', async () => {
  const buyer = await fundedWallet(shop)
  const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
  await act('pause')
  const onSale = async () => {
    const { items } = (await (await fetch(`${shop.url}/agentic/x402/offers`)).json()) as {
      items: { id: string; available: boolean }[]
    }
    return items.find(({ id }) => id === '392')!.available
  }
  await until(async () => !(await onSale()))
  const response = await fetch(buyUrl(shop, mppPushUnderTest), post(request, { authorization: credential }))
  const { statusUrl } = await json<{ statusUrl: string }>(response, 202)
  await act('unpause')
  await until(onSale)
  await until(async () => (await status(statusUrl)).status === 'confirmed')
})

test('a crafter without its role is 503 on both rails; a paused controller stays the contract’s 409', async () => {
  const quote = (rail: string) =>
    fetch(`${shop.url}/craft/${rail}/quote`, post({ type: 'accelerate', user: demoAddressOf('demo') }))
  await craft('revokeRole', [role('OPERATOR_ROLE'), demoAddressOf('crafter')])
  for (const rail of ['x402', 'mpp']) assert.equal((await json<Told>(await quote(rail), 503)).code, 'surface_closed')
  await readyWithout(CRAFT)
  await craft('grantRole', [role('OPERATOR_ROLE'), demoAddressOf('crafter')])
  await readyWithout([])
  await craft('pause')
  await readyWithout(CRAFT)
  assert.equal((await quote('x402')).status, 200, 'a quote tells the reason, and is no refusal')
  await craft('unpause')
  await readyWithout([])
})

test('a chain that is down takes its rail away and leaves the other; only when nothing is left is the shop unready', async () => {
  verifies('D15.2', 'D15.3')
  missing.add(42431)
  const one = await readyWithout(['craft mpp', 'sale mpp', 'shop mpp'])
  assert.deepEqual([one.code, one.body.status], [200, 'degraded'])
  const item = post({ itemId: 'keys:5', nickname: 'Demo' })
  assert.equal((await json<Told>(await fetch(`${shop.url}/shop/mpp/buy`, item), 503)).code, 'chain_unavailable')
  assert.equal((await fetch(`${shop.url}/shop/x402/buy`, item)).status, 402)
  missing.add(84532)
  aheadMs += 5_500
  await until(async () => (await ready()).code === 503)
  const both = await ready()
  assert.deepEqual([both.code, both.body.status], [503, 'unready'])
  assert.equal((await fetch(`${shop.url}/health/live`)).status, 200)
  missing.clear()
  await readyWithout([])
})

test('a token that its issuer has paused is 503 on its rail, before money and never the buyer’s fault, and the other rail sells', async () => {
  const { asset } = shop.config.x402!
  const pause = (name: 'pause' | 'unpause') =>
    shop.chains.native.request({
      method: 'dev_systemCall',
      params: [asset, invocation(asset, testUsdc.abi, name, []).data],
    })
  const buyer = await fundedWallet(shop)
  const { request, credential } = await payFor(shop, x402UnderTest, buyer)
  const present = () => fetch(buyUrl(shop, x402UnderTest), post(request, { [x402UnderTest.header]: credential }))
  await pause('pause')
  // Whoever paid before anybody has looked at the shop's health hears the same.
  const first = await json<Told & { payment: { taken: unknown } }>(await present(), 503)
  assert.deepEqual([first.code, first.payment.taken], ['surface_closed', false])
  const { body, code } = await readyWithout(['craft x402', 'gateway x402', 'sale x402', 'shop x402'])
  assert.deepEqual([code, body.status], [200, 'degraded'])
  const item = post({ itemId: 'keys:5', nickname: 'Demo' })
  assert.equal((await json<Told>(await fetch(`${shop.url}/shop/x402/buy`, item), 503)).code, 'surface_closed')
  assert.equal((await fetch(`${shop.url}/shop/mpp/buy`, item)).status, 402)
  await pause('unpause')
  await readyWithout([])
  const { orderId } = await said(await present())
  assert.equal(
    (await ended(shop, 'x402', orderId)).status,
    'confirmed',
    'the same payment buys when the token moves again',
  )
})

test('a process that is told to stop is unready first, sells meanwhile, and then closes its port', async () => {
  verifies('D15.4')
  const patience = Promise.withResolvers<void>()
  const replica = await shop.replica({
    clock: {
      ...systemClock,
      sleep: (ms, signal) => (ms === 30_000 ? patience.promise : systemClock.sleep(ms, signal)),
    },
    configure: (config) => ({ ...config, operations: { ...config.operations, drainSeconds: 30 } }),
  })
  assert.equal((await ready(replica.url)).code, 200)
  const stopped = replica.stop()
  const { code, body } = await ready(replica.url)
  assert.deepEqual([code, body.status], [503, 'unready'])
  assert.ok(body.checks.some(({ name }) => name === 'process'))
  const item = post({ itemId: 'keys:5', nickname: 'Demo' })
  assert.equal((await fetch(`${replica.url}/shop/x402/buy`, item)).status, 402)
  patience.resolve()
  await stopped
  await assert.rejects(fetch(`${replica.url}/health/live`))
})
