import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemRandom } from '../../../src/base/id.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { Config } from '../../../src/config/config.ts'
import { createSandboxPlayers } from '../../../src/sandbox/players.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { areTillsPutBack, doubtTills } from '../../../src/store/tills/till-trust.ts'
import { said } from '../../checkout/counter.ts'
import { AT_ONCE, impatiently, LOT, LOT_PRICE, reconcileRail } from '../../operations/desk.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { until } from '../../support/until.ts'
import { isOpen, replaceable } from '../support/moving-store.ts'
import { stallingTransports } from '../support/stalling-transports.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// A replica has found that the store has forgotten what it sold, has doubted the tills, and its node does not answer. Another one sells on the same store, and has
// noticed nothing: it has sold nothing that is missing, and has been there all the time.

type Parts = Awaited<ReturnType<typeof startWithBackup>>

const lookUp =
  (rail: RailUnderTest) =>
  (at: Pick<Service, 'url'>, headers: Record<string, string> = {}) =>
    fetch(`${at.url}/shop/${rail.rail}/player-lookup`, post({}, headers))

async function startBesideDoubt(t: TestContext, rail: RailUnderTest) {
  const parts = await startWithBackup(t)
  const { shop, backup, buyer } = parts
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'doubted', address: buyer.address })
  const { database, replaceBy } = replaceable(await shop.store.replica())
  let hasMoved = false
  const node = stallingTransports(shop, 'tempo', ({ method }) => hasMoved && method === 'eth_getTransactionCount')
  t.after(node.release)
  const seller = await shop.replica({ database, configure: impatiently, transports: node.transports })
  await copyDatabase(shop.store.db, backup, silentLog)
  // As a standby that has got all until now, which is no copy.
  await backup.query(`update tills set birth = store_birth() || ' '`)
  await backup.query('delete from witnesses')
  const other = await shop.replica({ database: backup, configure: impatiently })
  const ask = lookUp(rail)
  const credential = await rail.pay(shop, buyer, await ask(seller))
  const show = (at: Pick<Service, 'url'>) => ask(at, { [rail.header]: credential })
  assert.equal((await show(seller)).status, 200)
  const stop = new AbortController()
  t.after(() => stop.abort())
  hasMoved = true
  replaceBy(backup)
  seller.operations.gate.watch(stop.signal)
  await until(async () => node.isStalled())
  return { parts, seller, other, node, show, watch: () => other.operations.gate.watch(stop.signal) }
}

/** Only the gate of the other one reads the chain here: the first waits for its node, and no books are kept. */
async function untilRead(other: Service): Promise<void> {
  const { db, tills } = other.operations.reconcileContext
  const ids = tills.map(({ id }) => id)
  await until(async () => !(await areTillsPutBack(db, ids)) && isOpen(other))
}

test('E200: what was pushed, and has bought at a replica that misses it, buys nothing meanwhile at one that has noticed nothing, nor afterwards', async (t) => {
  const { seller, other, node, show } = await startBesideDoubt(t, mppPushUnderTest)
  const answer = await show(other)
  assert.deepEqual([answer.status, (await said(answer)).code], [202, 'payment_pending'])
  node.release()
  await until(() => isOpen(seller))
  assert.equal((await show(other)).status, 409)
})

test('E200: nor does what was pulled go back there', async (t) => {
  const { parts, seller, other, node, show } = await startBesideDoubt(t, mppPullUnderTest)
  const { shop, buyer } = parts
  const left = await mppPullUnderTest.balance(shop, buyer.address)
  const answer = await show(other)
  assert.deepEqual([answer.status, (await said(answer)).payment.taken], [503, 'unknown'])
  node.release()
  await until(() => isOpen(seller))
  await reconcileRail({ service: other }, mppPullUnderTest, AT_ONCE)
  assert.equal(await mppPullUnderTest.balance(shop, buyer.address), left)
})

test('E200: and that one closes as soon as it sees the doubt, and sells again when it has read the chain itself', async (t) => {
  const { other, show, watch } = await startBesideDoubt(t, mppPushUnderTest)
  watch()
  await untilRead(other)
  assert.equal((await show(other)).status, 409)
})

test('E200: nor does the one that doubts void, when it is done, what the other one has asked for since', async (t) => {
  const { parts, seller, other, node, watch } = await startBesideDoubt(t, mppPushUnderTest)
  const ask = lookUp(mppPushUnderTest)
  watch()
  await untilRead(other)
  const authorization = await mppPushUnderTest.pay(parts.shop, parts.buyer, await ask(other))
  node.release()
  await until(() => isOpen(seller))
  assert.ok(isOpen(other))
  assert.equal((await ask(other, { authorization })).status, 200)
})

/** Whoever pays by a rail at a shop without a worker, whose tills were doubted before the payment is shown. */
async function paidBeforeDoubt({ shop, buyer }: Parts, rail: RailUnderTest) {
  const request = { ...LOT, beneficiary: buyer.address }
  const url = `${shop.url}/agentic/${rail.rail}/buy`
  const credential = await rail.pay(shop, buyer, await fetch(url, post(request)))
  return () => fetch(url, post(request, { [rail.header]: credential }))
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E200: an authorization by ${rail.name} is not taken while the tills are doubted`, async (t) => {
    const parts = await startWithBackup(t)
    const { shop } = parts
    const show = await paidBeforeDoubt(parts, rail)
    await doubtTills(shop.store.db)
    const till = await rail.till(shop)
    const answer = await show()
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [503, 'unknown'])
    assert.equal(await rail.till(shop), till)
  })

test('E200: money that nobody claims stays where it is if its till is doubted while its refund begins', async (t) => {
  const { shop } = await startWithBackup(t)
  let begins = false
  const node = stallingTransports(shop, 'tempo', ({ method }) => begins && method === 'eth_getTransactionReceipt')
  t.after(node.release)
  const reader = await shop.replica({ transports: node.transports })
  const stranger = await mppStranger(shop)
  await stranger.give(LOT_PRICE)
  await reconcileRail({ service: reader }, mppPushUnderTest, { orphanAfterSeconds: 0, refundAfterSeconds: 86_400 })
  begins = true
  const reconciling = reconcileRail({ service: reader }, mppPushUnderTest, AT_ONCE)
  await until(async () => node.isStalled())
  await doubtTills(shop.store.db)
  node.release()
  await reconciling.catch(() => {})
  const { rows } = await shop.store.db.query<{ state: string }>(
    'select state from arrivals where lower(sender) = lower($1)',
    [stranger.address],
  )
  assert.deepEqual(rows, [{ state: 'orphaned' }])
})

test('E200: nor is it when a replica that starts finds that nobody has read them for long either', async (t) => {
  const parts = await startWithBackup(t)
  const { shop } = parts
  const show = await paidBeforeDoubt(parts, x402UnderTest)
  await doubtTills(shop.store.db)
  await shop.store.db.query(`update tills set alive_at = now() - interval '20 minutes'`)
  // It has doubted the first till for its silence, and sets nothing aside yet.
  const node = stallingTransports(shop, 'native', ({ method }) => method === 'eth_getLogs')
  t.after(node.release)
  const starting = shop.replica({ configure: impatiently, transports: node.transports })
  await until(async () => node.isStalled())
  // The other till is done.
  await shop.store.db.query(`update tills set birth = store_birth() || ' ' where id not like lower($1) || '/%'`, [
    shop.config.x402!.network,
  ])
  const answer = await show()
  node.release()
  await starting
  assert.equal(answer.status, 503)
})

test('E200: the next look at a doubted till sets aside what nobody claims, also where nobody watches', async (t) => {
  const parts = await startWithBackup(t)
  const { shop } = parts
  const show = await paidBeforeDoubt(parts, mppPushUnderTest)
  await doubtTills(shop.store.db)
  assert.equal((await show()).status, 202)
  for (const rail of [x402UnderTest, mppPushUnderTest]) await reconcileRail(shop, rail)
  assert.equal((await show()).status, 409)
})

const X402_ONLY = (config: Config): Config => impatiently({ ...config, mpp: null })

test('E200: a replica that has not got the till that is doubted sells on', async (t) => {
  const { shop, buyer } = await startWithBackup(t)
  const partial = await shop.replica({ configure: X402_ONLY })
  await shop.store.db.query(`update tills set birth = 'put back' where id not like lower($1) || '/%'`, [
    shop.config.x402!.network,
  ])
  const show = await paidBeforeDoubt({ shop: { ...shop, url: partial.url }, buyer } as Parts, x402UnderTest)
  assert.equal((await show()).status, 200)
})

test('E200: a till whose node was away for long, and that is doubted for this alone, keeps nobody from selling at another', async (t) => {
  const parts = await startWithBackup(t)
  const { shop } = parts
  const show = await paidBeforeDoubt(parts, mppPullUnderTest)
  await shop.store.db.query(`update tills set birth = 'silence' where id like lower($1) || '/%'`, [
    shop.config.x402!.network,
  ])
  assert.equal((await show()).status, 200)
})
