import assert from 'node:assert/strict'
import { test } from 'node:test'
import { burnOf, readyCrafter } from '../../craft/workshop.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { step } from '../support/stepped-shop.ts'

// An order that could not be ended is worked on again, and its failure found again. It is one failure all the same.

/** The store takes everything but this state: what comes before it is written, and the rest of the step is lost. */
async function withoutState({ store: { db } }: TestShop, state: string, work: () => Promise<void>): Promise<void> {
  await db.query(`alter table orders add constraint lost check (status <> '${state}') not valid`)
  await work()
  await db.query('alter table orders drop constraint lost')
}

const strikes = async ({ store }: TestShop) =>
  (await store.db.query<{ subject: string; points: number }>('select subject, points from strikes')).rows

test('M-24: a payment that failed once counts once, however often its order had to be ended', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  const payer = await fundedWallet(shop)
  await shop.chains.native.request({
    method: 'dev_fault',
    params: [{ kind: 'revert', to: shop.config.x402!.asset }],
  })
  let orderId = ''
  await withoutState(shop, 'expired', async () => {
    orderId = (await buy(shop, x402UnderTest, payer)).body.orderId
    for (let i = 0; i < 2; i++) await assert.rejects(step(shop, orderId))
  })
  assert.equal((await step(shop, orderId)).status, 'expired')
  assert.deepEqual(await strikes(shop), [{ subject: `payer:${payer.address.toLowerCase()}`, points: 1 }])
})

test('M-24: so does a delivery', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  const crafter = await readyCrafter(shop)
  await shop.chains.native.request({
    method: 'dev_fault',
    params: [{ kind: 'revert', to: shop.world.contracts.craftController }],
  })
  let orderId = ''
  await withoutState(shop, 'failed', async () => {
    const answer = await crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, crafter.nfts))
    orderId = ((await answer.json()) as { orderId: string }).orderId
    for (let i = 0; i < 2; i++) await assert.rejects(step(shop, orderId))
  })
  assert.equal((await step(shop, orderId)).status, 'failed')
  const payer = crafter.account.address.toLowerCase()
  assert.deepEqual(await strikes(shop), [{ subject: `payer-today:${payer}`, points: 1 }])
})
