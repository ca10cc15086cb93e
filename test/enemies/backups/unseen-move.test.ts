import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import type { Database } from '../../../src/store/db.ts'
import { said } from '../../checkout/counter.ts'
import { callTool } from '../../mcp/rpc.ts'
import { AT_ONCE, buy, LOT, LOT_PRICE, reconcileRail } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import type { TestShop } from '../../support/shop.ts'
import { replaceable } from '../support/moving-store.ts'
import { startWithBackup } from '../support/stepped-shop.ts'
import { forgetPurchase } from './forgotten-purchase.ts'

// E150, before the shop itself knows: whoever watches the store looks once in a second, and sees nothing while it does not answer. A payment may be shown
// meanwhile. Nobody watches here.

/** A shop that knew of all that was sold, under which an older copy of its store was put. */
async function openMoved({ shop, backup }: { readonly shop: TestShop; readonly backup: Database }): Promise<Service> {
  const { database, replaceBy } = replaceable(await shop.store.replica())
  const service = await shop.replica({ database })
  replaceBy(backup)
  return service
}

async function startMoved(t: TestContext, rail: RailUnderTest) {
  const forgotten = await forgetPurchase(t, rail)
  return { ...forgotten, service: await openMoved(forgotten) }
}

type Moved = Awaited<ReturnType<typeof startMoved>>

async function heard(t: TestContext, rail: RailUnderTest, ask: (moved: Moved) => Promise<Response>) {
  const moved = await startMoved(t, rail)
  const till = await rail.till(moved.shop)
  const answer = await ask(moved)
  await moved.bringAgain()
  const isAsked = answer.status === 402
  return { taken: (await rail.till(moved.shop)) - till, isAsked, said: (await said(answer)).payment.taken }
}

const MAY_BE_TAKEN = { taken: LOT_PRICE, isAsked: false, said: 'unknown' }

const PLACES: Readonly<Record<string, (rail: RailUnderTest, moved: Moved) => Promise<Response>>> = {
  'where it had bought': (rail, { showAgain, service }) => showAgain(service, rail.rail),
  'at the wrong address': (rail, { showAgain, service }) => showAgain(service, rail.rail === 'x402' ? 'mpp' : 'x402'),
  'for something else': (rail, { service: { url }, buyer, credential }) =>
    fetch(
      `${url}/agentic/${rail.rail}/buy`,
      post({ ...LOT, quantity: 2, beneficiary: buyer.address }, { [rail.header]: credential }),
    ),
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  for (const [where, show] of Object.entries(PLACES))
    test(`E154: an authorization by ${rail.name} that is shown ${where} in the moment in which the store has moved is not called free`, async (t) => {
      assert.deepEqual(await heard(t, rail, (moved) => show(rail, moved)), MAY_BE_TAKEN)
    })

test('E154: nor is it when somebody asks for it by its nonce', async (t) => {
  const byNonce = ({ service: { url }, credential }: { service: Service; credential: string }) => {
    const { nonce } = JSON.parse(Buffer.from(credential, 'base64').toString()).payload.authorization
    return fetch(`${url}/payments/${nonce}`)
  }
  assert.deepEqual(await heard(t, x402UnderTest, byNonce), MAY_BE_TAKEN)
})

for (const rail of [x402UnderTest, mppPushUnderTest])
  test(`E154: nor does what has bought by ${rail.name} go back, because somebody keeps the books in that moment`, async (t) => {
    const { shop, backup, buyer } = await startWithBackup(t)
    await copyDatabase(shop.store.db, backup, silentLog)
    // As a standby that is promoted, which is no copy.
    await backup.query(`update tills set birth = store_birth() || ' '`)
    assert.equal((await buy(shop, rail, buyer)).response.status, 200)
    const left = await rail.balance(shop, buyer.address)
    const service = await openMoved({ shop, backup })
    await reconcileRail({ service }, rail, AT_ONCE).catch(() => {})
    assert.equal((await rail.balance(shop, buyer.address)) - left, 0n)
  })

const BENEFICIARY = '0x00000000000000000000000000000000000b0b00'
const ASKED = { ...LOT, beneficiary: BENEFICIARY }

for (const [what, path, headers] of [
  ['an MPP credential that is no JSON', 'mpp', { authorization: 'Payment abc' }],
  ['a payment by x402 where MPP is taken', 'mpp', { 'payment-signature': 'abc' }],
  ['a payment by MPP where x402 is taken', 'x402', { authorization: 'Payment abc' }],
] as const)
  test(`E182: whoever shows ${what}, which cannot be read, is not asked for another one in the moment in which the store has moved`, async (t) => {
    const parts = await startWithBackup(t)
    await copyDatabase(parts.shop.store.db, parts.backup, silentLog)
    const { url } = await openMoved(parts)
    const answer = await fetch(`${url}/agentic/${path}/buy`, post(ASKED, headers))
    assert.deepEqual([answer.status, (await said(answer)).payment.taken], [503, 'unknown'])
  })

test('E182: nor is it when it comes over MCP', async (t) => {
  const parts = await startWithBackup(t)
  await copyDatabase(parts.shop.store.db, parts.backup, silentLog)
  const { url } = await openMoved(parts)
  const meta = { 'x402/payment': { x402Version: 2 } }
  const { _meta: told } = await callTool(`${url}/mcp`, 'buy_sale_lot', ASKED, { meta })
  const { status, payment } = (told['sutler/problem'] ?? { status: 402, payment: {} }) as {
    status: number
    payment: { taken?: unknown }
  }
  assert.deepEqual([status, payment.taken], [503, 'unknown'])
})
