import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { saleLots } from '../../../src/artifacts/SaleLots.ts'
import { fromHex, type Hex, toHex } from '../../../src/base/hex.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { WaypointName } from '../../../src/base/waypoint.ts'
import { invocation, roleId } from '../../../src/chain/act.ts'
import type { Config } from '../../../src/config/config.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { ended } from '../../checkout/counter.ts'
import { nftsOf, transfers } from '../../crash/flows.ts'
import { buy, CURSED_LOT, CURSED_PRICE, LOT_PRICE } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { plainTransports, startShop, type TestShop } from '../../support/shop.ts'

// A key is rotated replica by replica, so for a while the old key and the new one work on the same orders. What the old one has signed may
// land at any time, and the new one cannot take it back.

/** A shop whose nodes take what it sends from a moment on, and forget it. */
async function startForgotten(t: TestContext, from: WaypointName, limits: Partial<Config['limits']['delivery']> = {}) {
  let isForgotten = false
  const shop = await startShop({
    withoutWorker: true,
    waypoint(name) {
      isForgotten ||= name === from
    },
    wrapTransport: (_chainId, transport) => async (request, max) => {
      if (!isForgotten || request.method !== 'eth_sendRawTransaction') return transport(request, max)
      const { id, params } = request
      return { jsonrpc: '2.0', id, result: toHex(keccak256(fromHex(params[0] as Hex))) }
    },
    configure: (config) => ({
      ...config,
      limits: {
        ...config.limits,
        delivery: { ...config.limits.delivery, ...limits },
        leaseSeconds: 1,
        waitMsMax: 500,
        receiptWaitMs: 300,
      },
    }),
  })
  t.after(() => shop.stop())
  return shop
}

/** Somebody's node has them after all. */
async function bringBack({ store, chains }: TestShop, orderId: string): Promise<void> {
  const { rows } = await store.db.query<{ chain_id: string; versions: { raw: Hex }[] }>(
    'select chain_id, versions from sends where order_id = $1',
    [orderId],
  )
  for (const { chain_id, versions } of rows) {
    const chain = Number(chain_id) === chains.native.chainId ? chains.native : chains.tempo
    for (const { raw } of versions)
      await chain.request({ method: 'eth_sendRawTransaction', params: [raw] }).catch(() => {})
  }
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E15: a refund by ${rail.name} that the old key of the treasury has signed is not signed again by the new one`, async (t) => {
    const shop = await startForgotten(t, 'refund.created')
    const key = generatePrivateKey()
    const treasury = await fundedWallet(shop, 1_000n, privateKeyToAccount(key))
    const buyer = await fundedWallet(shop)
    const { body } = await buy(shop, rail, buyer, CURSED_LOT)
    const treasuryKey = new Secret(key)
    await shop.replica({
      configure: (config) => ({
        ...config,
        x402: { ...config.x402!, treasuryKey },
        mpp: { ...config.mpp!, treasuryKey },
      }),
      transports: plainTransports(shop.chains),
      withoutWorker: false,
    })
    assert.equal((await ended(shop, rail.rail, body.orderId)).status, 'refunded')
    await bringBack(shop, body.orderId)
    const sentBack = [demoAddressOf('treasury'), treasury.address].map((from) =>
      transfers(shop, rail, from, buyer.address),
    )
    assert.deepEqual((await Promise.all(sentBack)).flat(), [CURSED_PRICE])
  })

test('E15: a mint that the old key of the minter has signed is not paid back because the new one may not mint', async (t) => {
  const shop = await startForgotten(t, 'deliver.begun', { mintMs: 2_000 })
  const key = generatePrivateKey()
  await fundedWallet(shop, 1n, privateKeyToAccount(key))
  const buyer = await fundedWallet(shop)
  const { body } = await buy(shop, x402UnderTest, buyer)
  await shop.replica({
    configure: (config) => ({
      ...config,
      game: { ...config.game, sale: { ...config.game.sale!, minterKey: new Secret(key) } },
    }),
    transports: plainTransports(shop.chains),
    withoutWorker: false,
  })
  assert.equal((await ended(shop, 'x402', body.orderId)).status, 'confirmed')
  await bringBack(shop, body.orderId)
  const refunds = await transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address)
  assert.deepEqual([await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address), refunds], [1, []])
})

test('E15: a mint that the old key has signed and whose time is over is closed by the new one: its bytes deliver nothing any more', async (t) => {
  const shop = await startForgotten(t, 'deliver.begun', { mintMs: 60_000 })
  const { sale } = shop.world.contracts
  const key = generatePrivateKey()
  const { address } = await fundedWallet(shop, 1n, privateKeyToAccount(key))
  await shop.world.deployer.act(invocation(sale, saleLots.abi, 'grantRole', [roleId('MINTER_ROLE'), address]))
  const buyer = await fundedWallet(shop)
  const { body } = await buy(shop, x402UnderTest, buyer)
  await shop.replica({
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, delivery: { ...config.limits.delivery, mintMs: 1 } },
      game: { ...config.game, sale: { ...config.game.sale!, minterKey: new Secret(key) } },
    }),
    transports: plainTransports(shop.chains),
    withoutWorker: false,
  })
  assert.equal((await ended(shop, 'x402', body.orderId)).status, 'refunded')
  await bringBack(shop, body.orderId)
  const refunds = await transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address)
  assert.deepEqual([await nftsOf(shop.chains, sale, buyer.address), refunds], [0, [LOT_PRICE]])
})
