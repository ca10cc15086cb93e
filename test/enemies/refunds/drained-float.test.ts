import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { Secret } from '../../../src/base/secret.ts'
import type { Config } from '../../../src/config/config.ts'
import { giveToken } from '../../../src/sandbox/world.ts'
import { ended, movableClock, said, setLot, verdict } from '../../checkout/counter.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { AT_ONCE, asOperator, buy, reconcileRail } from '../../operations/desk.ts'
import { mppStranger, transfer, x402Stranger } from '../../operations/strangers.ts'
import { startStudio } from '../../shop/studio.ts'
import { fundedWallet, post, x402Payer } from '../../support/buyers.ts'
import { nativeCall, pathUsdOf } from '../../support/chain-reads.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { erc20Balance, type ShopOptions, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'

// What leaves the float must come from a failure of the shop, or be a small part of it. Buyers can make a refund happen whenever they like.

const DOLLAR = 1_000_000n
const LOT = { saleId: 777 }

const treasuryOf = ({ config }: Pick<TestShop, 'config'>) =>
  privateKeyToAccount((config.x402!.treasuryKey as Secret).reveal() as Hex)

const floatOf = (shop: TestShop) => erc20Balance(shop.chains.native, shop.config.x402!.asset, treasuryOf(shop).address)

async function startWith(t: TestContext, float: bigint, options: ShopOptions = {}): Promise<TestShop> {
  const shop = await startShop({
    ...options,
    configure: (config) => {
      const common = { ...config, limits: { ...config.limits, receiverRefundPercent: 20 } }
      return options.configure?.(common) ?? common
    },
  })
  t.after(() => shop.stop())
  await setFloat(shop, float)
  await setLot(shop, LOT.saleId, { price: '1.00', supply: 100n })
  return shop
}

async function setFloat(shop: TestShop, float: bigint): Promise<void> {
  const { asset } = shop.config.x402!
  const treasury = treasuryOf(shop)
  const has = await floatOf(shop)
  if (has < float) return giveToken(shop.chains.native, asset, treasury.address, float)
  const elsewhere = privateKeyToAccount(generatePrivateKey()).address
  await sendFrom(shop.chains.native, treasury, asset, transfer(elsewhere, has - float))
}

/** Takes every token while its owner has money left, and none when that is spent: a trial before the payment goes well. */
function turncoat(owner: PrivateKeyAccount, asset: string): Hex {
  const [who, token] = [owner.address.slice(2), asset.slice(2)]
  const balance = `6370a0823160e01b5f5273${who}6004526020604060245f73${token}5afa50604051`
  return `0x${balance}604a575f5ffd5b7f${'150b7a02'.padEnd(64, '0')}5f5260205ff3`.toLowerCase() as Hex
}

/** Whoever pays is new, and so is the code that receives. */
async function refuseAfterPaying(shop: TestShop): Promise<Response> {
  const payer = await fundedWallet(shop, 1n)
  const beneficiary = privateKeyToAccount(generatePrivateKey()).address
  await nativeCall(shop, 'dev_setCode', beneficiary, turncoat(payer, shop.config.x402!.asset))
  return buyFor(shop, payer, { ...LOT, beneficiary })
}

async function buyFor(shop: TestShop, payer: PrivateKeyAccount, body: object): Promise<Response> {
  const url = `${shop.url}/agentic/x402/buy`
  const payment = await x402UnderTest.pay(shop, payer, await fetch(url, post(body)))
  return fetch(url, post(body, { [x402UnderTest.header]: payment }))
}

type Readiness = {
  readonly checks: readonly { readonly name: string; readonly status: string; readonly detail: string }[]
  readonly sells: readonly {
    readonly surface: string
    readonly protocol: string
    readonly reasons: readonly string[]
  }[]
}

const readiness = async ({ url }: TestShop) => (await (await fetch(`${url}/health/ready`)).json()) as Readiness

/** Why lots are not sold by x402. */
async function reasonsOf(shop: TestShop): Promise<readonly string[]> {
  const { sells } = await readiness(shop)
  return sells.find(({ surface, protocol }) => surface === 'sale' && protocol === 'x402')!.reasons
}

type Quote = {
  readonly executable: boolean
  readonly checks: readonly { check: string; code: string | null; detail: string }[]
}

const quoteOf = async (shop: TestShop, saleId = LOT.saleId, rail = 'x402') =>
  (await (
    await fetch(`${shop.url}/agentic/${rail}/quote`, post({ saleId, beneficiary: treasuryOf(shop).address }))
  ).json()) as Quote

test('E220: receivers that refuse after payment get a fifth of the float a day, and close the shop for nobody', async (t) => {
  verifies('D9.8', 'D9.12')
  // Of what the shop itself has failed at, one more could go back today.
  const limits = { refundsPerDay: 3n * DOLLAR }
  const shop = await startWith(t, 10n * DOLLAR, {
    configure: (config) => ({ ...config, limits: { ...config.limits, ...limits } }),
  })
  const told = []
  for (let i = 0; i < 12; i++) told.push(await said(await refuseAfterPaying(shop)))
  await until(async () => (await count(shop, `status <> 'refunded' and not ${WAITS}`)) === 0)
  assert.equal(await count(shop, `status = 'refunded'`), 2)
  assert.equal(await floatOf(shop), 8n * DOLLAR)

  const { orderId } = told.at(-1)!
  const waiting = await ended202(shop, orderId)
  assert.match(waiting.next.detail, /money was taken, and its refund waits for a person/)
  const { items } = (await (await asOperator(shop, '/operator/attention')).json()) as { items: { kind: string }[] }
  assert.equal(items.filter(({ kind }) => kind === 'refund_held').length, 10)

  const honest = await fundedWallet(shop)
  for (const lots of [1, 7]) {
    const body = { ...LOT, quantity: lots, beneficiary: honest.address }
    assert.deepEqual(await verdict(await buyFor(shop, honest, body)), [200, undefined])
  }
  assert.deepEqual([(await quoteOf(shop)).executable, await reasonsOf(shop)], [true, []])
  // What the shop itself fails at goes back as ever.
  const cursed = await buy(shop, x402UnderTest, honest, { saleId: 399 })
  assert.equal((await ended(shop, 'x402', cursed.body.orderId ?? '')).refund?.status, 'refunded')
  // A person's word is enough, and nothing else was needed.
  const asked = post({ reason: 'looked at', by: 'mara' })
  assert.equal((await asOperator(shop, `/operator/orders/${orderId}/refund`, asked)).status, 200)
})

/** Nothing happens to it before an operator says so, or for long. */
const WAITS = `(status = 'failed' and exists (
  select from jobs where key = orders.id and lease is null and run_at > now() + interval '10 minutes'))`

async function count({ store }: TestShop, where: string): Promise<number> {
  const { rows } = await store.db.query<{ n: number }>(`select count(*)::int as n from orders where ${where}`)
  return rows[0]!.n
}

async function ended202({ url }: TestShop, orderId: string) {
  const response = await fetch(`${url}/payments/${orderId}`)
  assert.equal(response.status, 202)
  return (await response.json()) as { next: { detail: string } }
}

test('E220: so do players whom a studio refuses after payment', async (t) => {
  verifies('D9.12')
  const studio = await startStudio(privateKeyToAccount(generatePrivateKey()).address)
  t.after(() => studio.stop())
  const shop = await startWith(t, 10n * DOLLAR, {
    env: { SUTLER_GAME_BACKEND: studio.url, SUTLER_GAME_BACKEND_SECRET: studio.secret.reveal() },
  })
  studio.fault = 'refused'
  const url = `${shop.url}/shop/x402/buy`
  for (let i = 0; i < 4; i++) {
    const answer = await x402Payer(await fundedWallet(shop))(url, post({ itemId: 'gems:100', nickname: 'Moss' }))
    assert.deepEqual(await verdict(answer), [409, 'fulfilment_failed'])
  }
  await until(async () => (await count(shop, `status <> 'refunded' and not ${WAITS}`)) === 0)
  assert.equal(await count(shop, `status = 'refunded'`), 2)
})

for (const stranger of [x402Stranger, mppStranger])
  test(`E220: so does money that is sent without a purchase, on each rail by itself (${stranger.name})`, async (t) => {
    const shop = await startWith(t, 10n * DOLLAR)
    const { rail, address, give } = await stranger(shop)
    const sum = rail === x402UnderTest ? DOLLAR : 900n * DOLLAR
    await giveToken(shop.chains.tempo, shop.config.mpp!.currency.address, address, 10n * sum)
    for (let i = 0; i < 4; i++) await give(sum)
    const states = async () =>
      (await shop.store.db.query<{ state: string }>('select state from transfers order by state')).rows.map(
        ({ state }) => state,
      )
    const policy = { ...AT_ONCE, refundsPerDay: 10_000n * DOLLAR }
    await until(async () => {
      await reconcileRail(shop, rail, policy)
      return (await states()).filter((state) => state !== 'unmatched').length === 4
    })
    assert.deepEqual(await states(), ['held', 'held', 'returned', 'returned'])
  })

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E220: where the treasury itself is paid it may be empty, and refunds leave from there (${rail.name})`, async (t) => {
    const shop = await startWith(t, 0n, { configure: paidAtTreasuries })
    const buyer = await fundedWallet(shop)
    assert.deepEqual(await reasonsOf(shop), [])
    const { difference } = await reconcileRail(shop, rail)
    const { response } = await buy(shop, rail, buyer, LOT)
    assert.deepEqual(await verdict(response), [200, undefined])
    if (rail === x402UnderTest) {
      for (let i = 0; i < 3; i++) {
        const { orderId } = await said(await refuseAfterPaying(shop))
        assert.equal((await ended(shop, 'x402', orderId)).refund?.status, 'refunded')
      }
      assert.equal(await floatOf(shop), DOLLAR, 'what was earned is still there')
    }
    const before = await pathUsdOf(shop, buyer.address)
    const { body } = await buy(shop, rail, buyer, { saleId: 399 })
    assert.equal((await ended(shop, rail.rail, body.orderId)).refund?.status, 'refunded')
    assert.ok(before - (await pathUsdOf(shop, buyer.address)) < DOLLAR / 10n)
    assert.equal((await reconcileRail(shop, rail)).difference, difference, 'the books know of all that came')
  })

test('E220: there what buyers bring about uses up no refund of a day', async (t) => {
  verifies('D9.12')
  const limits = { refundsPerDay: DOLLAR }
  const shop = await startWith(t, 0n, {
    configure: (config) => paidAtTreasuries({ ...config, limits: { ...config.limits, ...limits } }),
  })
  for (let i = 0; i < 3; i++) await refuseAfterPaying(shop)
  await until(async () => (await count(shop, `status <> 'refunded' and not ${WAITS}`)) === 0)
  assert.equal(await count(shop, `status = 'refunded'`), 3)
})

/** That of MPP has never had anything. */
function paidAtTreasuries(config: Config): Config {
  const treasuryKey = new Secret(generatePrivateKey())
  const addressOf = (key: Secret) => privateKeyToAccount(key.reveal() as Hex).address
  return {
    ...config,
    x402: { ...config.x402!, payTo: addressOf(config.x402!.treasuryKey as Secret) },
    mpp: { ...config.mpp!, treasuryKey, recipient: addressOf(treasuryKey) },
  }
}

test('E220: what the float does not cover is down in the readiness and in quotes, with what is missing', async (t) => {
  verifies('D15.2', 'D15.3')
  const clock = movableClock()
  const shop = await startWith(t, DOLLAR / 10n, { clock })
  // Cheaper lots are there; none is covered.
  const short = /float .* is 0\.15 USDC short on x402/
  const [reason = '', ...others] = await reasonsOf(shop)
  assert.match(reason, short)
  assert.deepEqual(others, [])
  const { executable, checks } = await quoteOf(shop)
  assert.equal(executable, false)
  assert.deepEqual(
    checks.filter(({ code }) => code !== null).map(({ check, code }) => [check, code]),
    [['float', 'shop_overcommitted']],
  )
  assert.match(checks.find(({ check }) => check === 'float')!.detail, /0\.90 USDC short/)
  assert.equal((await quoteOf(shop, LOT.saleId, 'mpp')).executable, true)
  const asked = await fetch(`${shop.url}/agentic/x402/buy`, post({ ...LOT, beneficiary: treasuryOf(shop).address }))
  assert.deepEqual(await verdict(asked), [503, 'shop_overcommitted'])
  const { checks: found } = await readiness(shop)
  assert.match(found.find(({ name }) => name === 'float')!.detail, short)

  await setFloat(shop, 10n * DOLLAR)
  clock.move(10_000)
  assert.deepEqual([await reasonsOf(shop), (await quoteOf(shop)).executable], [[], true])
})

test('E220: the float is read at this moment for a sale of more than a tenth of it', async (t) => {
  const [clock, now] = [movableClock(), Date.now()]
  const shop = await startWith(t, 10n * DOLLAR, { clock: { ...clock, now: () => now } })
  const buyer = await fundedWallet(shop)
  const small = await buy(shop, x402UnderTest, buyer)
  assert.equal(small.response.status, 200)
  await setFloat(shop, DOLLAR / 4n)
  const body = { ...LOT, quantity: 9, beneficiary: buyer.address }
  assert.deepEqual(await verdict(await buyFor(shop, buyer, body)), [503, 'shop_overcommitted'])
})
