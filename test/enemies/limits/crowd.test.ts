import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openWire } from '../../http/wire.ts'
import { buyUrl, LOT_PRICE, payFor } from '../../operations/desk.ts'
import { fundedWallet, lotFor, mppxClient, post, x402Payer } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'
import { claimOf } from '../requests/money-claim.ts'
import { head } from './mute-socket.ts'

// Many agents behind one address, or one process with many wallets. Each of their connections hears an answer, and each wallet gets its goods.

const DEAD = '0x000000000000000000000000000000000000dEaD'

/** Purchases stop before their money moves, until they are let go. */
async function startCrowded(t: TestContext, connectionsPerClientMax: number) {
  const gate = Promise.withResolvers<void>()
  let held = 0
  const shop = await startShop({
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, connectionsPerClientMax, waitMsMax: 600_000, leaseSeconds: 600 },
    }),
    waypoint: async (name) => {
      if (name !== 'settle.begun') return
      held++
      await gate.promise
    },
  })
  t.after(async () => {
    gate.resolve()
    await shop.stop()
  })
  return { shop, held: () => held, letGo: gate.resolve }
}

async function turnedAway(shop: TestShop, what: string, wire = openWire(shop)): Promise<number> {
  wire.write(head('GET', '/metrics', { Authorization: `Bearer ${shop.config.operatorToken!.reveal()}` }))
  const { body } = await wire.next()
  wire.socket.destroy()
  return Number(new RegExp(`sutler_rate_limited_total\\{allowance="${what}"\\} (\\d+)`).exec(body)?.[1] ?? 0)
}

test('three hundred unpaid calls at once from one address are all told the price', async (t) => {
  verifies('D9.9')
  const shop = await startShop()
  t.after(() => shop.stop())
  const calls = Array.from({ length: 300 }, () => fetch(buyUrl(shop, x402UnderTest), post(lotFor({ address: DEAD }))))
  for (const answer of await Promise.all(calls)) assert.equal(answer.status, 402)
})

test('whose connection is one too many hears so, and with the same payment gets the goods', async (t) => {
  verifies('D9.9')
  const { shop, held, letGo } = await startCrowded(t, 4)
  // It takes long to load, and everybody else is here already.
  await mppxClient(shop.chains, await fundedWallet(shop), 'push')
  const tills = () => Promise.all([x402UnderTest.till(shop), mppPushUnderTest.till(shop)])
  const before = await tills()
  const late = await Promise.all(
    [x402UnderTest, mppPushUnderTest].map(async (rail) => {
      const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
      return () => fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
    }),
  )
  const early = Array.from({ length: 4 }, async () => {
    const buyer = await fundedWallet(shop)
    return x402Payer(buyer)(buyUrl(shop, x402UnderTest), post(lotFor(buyer)))
  })
  await Promise.race([until(() => held() === 4), Promise.all(early)])
  const refused = await Promise.all(late.map((buy) => buy()))
  for (const answer of refused) {
    assert.deepEqual([answer.headers.get('retry-after'), answer.headers.get('connection')], ['1', 'close'])
    assert.deepEqual(await claimOf(answer), { status: 503, code: 'overloaded', taken: 'unknown', isFree: false })
  }
  assert.equal((await fetch(`${shop.url}/health/live`)).status, 200)
  letGo()
  for (const answer of await Promise.all(early)) assert.equal(answer.status, 200)
  for (const buy of late) assert.equal((await buy()).status, 200)
  assert.deepEqual(await tills(), [before[0]! + 5n * LOT_PRICE, before[1]! + LOT_PRICE])
  assert.equal(await turnedAway(shop, 'connections'), 3)
})

test('sockets that say nothing take no place from one that asks; beyond four times as many they are cut and counted', async (t) => {
  verifies('D9.9')
  const { shop } = await startCrowded(t, 2)
  const open = Array.from({ length: 8 }, () => openWire(shop))
  await Promise.all(open.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))))
  for (const wire of [openWire(shop), openWire(shop)]) assert.deepEqual(await wire.answers(), [])
  assert.equal(await turnedAway(shop, 'sockets', open[0]), 2)
  for (const { socket } of open) socket.destroy()
})
