import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { saleLots } from '../../../src/artifacts/SaleLots.ts'
import { invocation } from '../../../src/chain/act.ts'
import { LeaseLost } from '../../../src/domain/lease.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import type { Database } from '../../../src/store/db.ts'
import { forget, release } from '../../../src/store/jobs.ts'
import { createJournal } from '../../../src/store/sends/journal.ts'
import { movableClock, said } from '../../checkout/counter.ts'
import { nftsOf, transfers } from '../../crash/flows.ts'
import { buyUrl, LOT, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, senderDesk } from '../../support/sender-desk.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { step } from '../support/stepped-shop.ts'

// A process that slept: it signed a mint, and its record reaches the store when another process has long taken over, found nothing on
// record, and given the money back.

test('C-03: a mint whose record is late by more than a lease is not on record, and never sent', async (t) => {
  const clock = movableClock()
  const { promise: awake, resolve: wake } = Promise.withResolvers<void>()
  let zombie: 'none' | 'asleep' | 'through' = 'none'
  let hasTakenOver = false
  /** Holds the first record of a mint back until the test wakes it. */
  const sleepy = (database: Database): Database => ({
    ...database,
    async query(sql, values = []) {
      const text = typeof sql === 'string' ? sql : sql.text
      if (zombie !== 'none' || !text.includes('insert into sends') || !values.includes('mint'))
        return database.query(sql, values)
      zombie = 'asleep'
      await awake
      return database.query(sql, values).finally(() => {
        zombie = 'through'
      })
    },
  })
  const shop = await startShop({
    clock,
    wrapDatabase: sleepy,
    withoutWorker: true,
    // Whoever took over has looked at the journal, found nothing, and is about to give the order up: now the record arrives.
    waypoint: async (name) => {
      if (name !== 'deliver.done' || !hasTakenOver) return
      wake()
      await until(() => zombie === 'through')
    },
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, receiptWaitMs: 30, waitMsMax: AS_FAR_AS_IT_CAN_MS },
    }),
  })
  t.after(() => shop.stop())
  const buyer = await fundedWallet(shop)
  const rail = x402UnderTest
  const { request, credential } = await payFor(shop, rail, buyer, LOT)
  const asked = fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  await until(() => zombie === 'asleep')

  const sale = shop.world.contracts.sale
  const act = (name: 'pause' | 'unpause') => shop.world.deployer.act(invocation(sale, saleLots.abi, name, []))
  clock.move(shop.config.limits.delivery.mintMs + 1_000)
  const { rows } = await shop.store.db.query<{ id: string }>('select id from orders')
  const orderId = rows[0]!.id
  hasTakenOver = true
  await act('pause')
  const takingOver = step(shop, orderId)
  await until(() => zombie === 'through')
  await act('unpause')
  let order = await takingOver
  while (order.status !== 'refunded') order = await step(shop, orderId)
  await said(await asked)
  await Promise.all(shop.service.checkout.running.values())

  assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), buyer.address), [250_000n])
  assert.equal(await nftsOf(shop.chains, sale, buyer.address), 0, 'refunded, and minted as well')
  const { rows: mints } = await shop.store.db.query(`select from sends where order_id = $1 and step = 'mint'`, [
    orderId,
  ])
  assert.equal(mints.length, 0)
})

describe('whoever lost the lease', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  test('signs nothing, and signs nothing again', async (t) => {
    const { sender, newErrand, fault, landed, meddler } = await senderDesk(t, store)
    const one = await sender({ waitMs: 30, stuckAfterMs: 60_000 })
    const gone = await newErrand()
    await forget(store.db, gone.lease)
    await assert.rejects(one.send(gone, callOf(1)), LeaseLost)
    assert.deepEqual([await landed(), meddler.seen('eth_sendRawTransaction').length], [[], 0])

    const stuck = await newErrand()
    await fault({ kind: 'stick' })
    assert.equal((await one.send(stuck, callOf(2))).state, 'pending')
    await release(store.db, stuck.lease, 0)
    const eager = await sender({ waitMs: 500, stuckAfterMs: 20 })
    await assert.rejects(eager.resume(stuck), LeaseLost)
    const journal = createJournal(store.db)
    const [send] = await journal.ofOrder(stuck.orderId)
    assert.equal(send!.versions.length, 1)
  })
})
