import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import type { WaypointName } from '../../src/base/waypoint.ts'
import { craftActionSchema } from '../../src/surfaces/craft/view.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { administer, burnOf, type Crafter, finalStatus, PRICE, readyCrafter, refunded } from './workshop.ts'

// Actions that take longer than a client waits: the payment is taken, and the answer is 202 until the end is known.

let shop: TestShop
/** The shop's clock goes ahead by this much: nobody has to wait until a time is up. */
let aheadMs = 0
const reactions = new Map<WaypointName, () => unknown>()
before(async () => {
  shop = await startShop({
    clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
    configure: (config) => ({ ...config, limits: { ...config.limits, receiptWaitMs: 100 } }),
    async waypoint(name) {
      const react = reactions.get(name)
      reactions.delete(name)
      await react?.()
    },
  })
})
after(() => shop.stop())

type Pending = {
  readonly code: string
  readonly statusUrl: string
  readonly payment: { readonly taken: unknown }
  readonly retry: { readonly action: string; readonly statusUrl: string }
}

/** Burns, and the time for an answer is up when the shop comes to this step. */
async function burnsSlowly(crafter: Crafter, step: WaypointName): Promise<Pending> {
  reactions.set(step, () => {
    aheadMs += shop.config.limits.waitMsMax
  })
  const response = await crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, crafter.nfts))
  assert.equal(response.status, 202)
  assert.ok(Number(response.headers.get('retry-after')) > 0)
  const pending = (await response.json()) as Pending
  assert.deepEqual([pending.code, pending.payment.taken, pending.retry.action], ['action_pending', true, 'poll'])
  const status = await fetch(pending.statusUrl)
  assert.equal(status.status, 202)
  assert.ok(Number(status.headers.get('retry-after')) > 0)
  return pending
}

async function endOf({ statusUrl }: Pending) {
  return craftActionSchema.parse(await finalStatus(statusUrl))
}

const ownerOfFirst = ({ nfts: [nft] }: Crafter) => nftOwner(shop.chains.native, nft!.contract, nft!.tokenId)

/** The chain takes the next transaction to the controller, and makes no block with it until the faults are cleared. */
const holdBack = () =>
  shop.chains.native.request({
    method: 'dev_fault',
    params: [{ kind: 'stick', to: shop.world.contracts.craftController }],
  })
const letGo = () => shop.chains.native.request({ method: 'dev_clearFaults' })

test('F-10: a block that is late in coming: 202 first, 200 when it is there', async () => {
  const crafter = await readyCrafter(shop)
  await holdBack()
  const pending = await burnsSlowly(crafter, 'order.submitted')
  assert.equal(await ownerOfFirst(crafter), crafter.address.toLowerCase())
  await letGo()
  assert.equal((await endOf(pending)).status, 'confirmed')
  assert.equal(await ownerOfFirst(crafter), shop.world.contracts.craftController.toLowerCase())
})

test('F-10: paused between payment and delivery, and unpaused in time: the action is carried out', async () => {
  const crafter = await readyCrafter(shop)
  reactions.set('order.settled', () => administer(shop, 'pause'))
  const pending = await burnsSlowly(crafter, 'deliver.done')
  await administer(shop, 'unpause')
  assert.equal((await endOf(pending)).status, 'confirmed')
  assert.equal(await ownerOfFirst(crafter), shop.world.contracts.craftController.toLowerCase())
})

test('F-10: never mined, or paused for too long: nothing can be burned any more, and only then the payments come back', async () => {
  const [stuck, paused] = [await readyCrafter(shop), await readyCrafter(shop)]
  await holdBack()
  const pending = [await burnsSlowly(stuck, 'order.submitted')]
  reactions.set('order.settled', () => administer(shop, 'pause'))
  pending.push(await burnsSlowly(paused, 'deliver.done'))
  aheadMs += shop.config.limits.delivery.craftMs
  for (const action of pending) {
    const ended = await endOf(action)
    assert.deepEqual([ended.status, ended.error?.code], ['refunded', 'fulfilment_failed'])
    assert.equal(await refunded(shop, 'x402', ended), PRICE)
  }
  // The nonce of the one that was stuck is used up: even now that the chain takes everything, it cannot land.
  await letGo()
  await administer(shop, 'unpause')
  for (const crafter of [stuck, paused]) assert.equal(await ownerOfFirst(crafter), crafter.address.toLowerCase())
})
