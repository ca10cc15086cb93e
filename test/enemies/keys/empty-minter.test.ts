import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hex } from '../../../src/base/hex.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { ended, orderCount, said } from '../../checkout/counter.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'

const hex = (value: bigint): Hex => `0x${value.toString(16)}`

test('a shop whose minter is emptied midway sells nothing more, and delivers what was paid when it is filled', async (t) => {
  let waypoint: Waypoint = noWaypoint
  const shop = await startShop({
    waypoint: (name) => waypoint(name),
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, receiptWaitMs: 300, waitMsMax: AS_FAR_AS_IT_CAN_MS },
    }),
  })
  t.after(() => shop.stop())
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  const [buyer, next] = [await fundedWallet(shop), await fundedWallet(shop)]
  waypoint = async (name) => {
    if (name !== 'order.settled') return
    waypoint = noWaypoint
    await native('dev_setBalance', demoAddressOf('minter'), '0x0')
  }
  const first = await buy(shop, x402UnderTest, buyer)
  assert.equal(first.response.status, 202)
  const orders = await orderCount(shop)
  const refused = await buy(shop, x402UnderTest, next)
  const { code, payment } = await said(refused.response)
  assert.deepEqual([refused.response.status, code, payment.taken], [503, 'relayer_unfunded', false])
  assert.equal(await orderCount(shop), orders)
  await native('dev_setBalance', demoAddressOf('minter'), hex(10n ** 20n))
  assert.equal((await ended(shop, 'x402', first.body.orderId)).status, 'confirmed')
  assert.ok([200, 202].includes((await buy(shop, x402UnderTest, next)).response.status))
})
