import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemRandom } from '../../src/base/id.ts'
import { silentLog } from '../../src/base/log.ts'
import { sandboxContracts } from '../../src/sandbox/foundation.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import type { Service } from '../../src/service/service.ts'
import { copyDatabase } from '../../src/store/copy.ts'
import { areTillsPutBack, doubtTills } from '../../src/store/tills/till-trust.ts'
import { challengeOf } from '../checkout/mpp-wallet.ts'
import { isOpen } from '../enemies/support/moving-store.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { openBackup, type TestStore } from '../support/database.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { AT_ONCE, asOperator, buy, impatiently, LOT, payFor, reconcileRail } from './desk.ts'

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  buyer = await fundedWallet(shop)
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'restored', address: buyer.address })
})
after(() => shop.stop())

/** How many lots the buyer holds, by the contract's own count (ERC-721 and ERC-20 ask for balances alike). */
const lotsHeld = () => erc20Balance(shop.chains.native, sandboxContracts(demoAddressOf('deployer')).sale, buyer.address)
const show = (service: Service, rail: RailUnderTest, credential: string) =>
  fetch(
    `${service.url}/agentic/${rail.rail}/buy`,
    post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: credential }),
  )

test('a shop that was down for a minute still takes a payment that was pushed meanwhile', async () => {
  const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
  const restarted = await shop.replica()
  const response = await fetch(`${restarted.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
  assert.equal(response.status, 200)
})

test('C-12: while the chain cannot be read nothing is sold, and as soon as it can be, everything is', async () => {
  const silent = { is: true }
  const transports = new Map(
    [shop.chains.native, shop.chains.tempo].map((chain) => [
      chain.chainId,
      async ({ method, params }: { method: string; params: readonly unknown[] }) => {
        if (silent.is && method === 'eth_getLogs') throw new Error('silent')
        return { result: await chain.request({ method, params }) }
      },
    ]),
  )
  const starting = await shop.replica({ transports })
  const { request, credential } = await payFor(shop, mppPullUnderTest, buyer)
  const send = () => fetch(`${starting.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
  const refused = await send()
  assert.equal(refused.status, 503)
  assert.deepEqual(((await refused.json()) as { payment: object }).payment, { taken: 'unknown' })
  const ready = await fetch(`${starting.url}/health/ready`)
  assert.equal(ready.status, 503)
  assert.match(await ready.text(), /"name":"ledger","status":"fail"/)
  silent.is = false
  await until(async () => (await fetch(`${starting.url}/health/ready`)).status === 200)
  assert.equal((await send()).status, 200)
})

// Last: shops on two copies of a store use the same keys, and neither journal knows what the other has sent.
describe('C-12, M-26: a store restored from an older backup', () => {
  let backup: TestStore
  afterEach(() => backup.drop())

  async function takeBackup(): Promise<void> {
    backup = await openBackup()
    await copyDatabase(shop.store.db, backup.db, silentLog)
  }

  /** As files that were copied, or a disk that was taken back: nothing in it shows that it is not the one that it was. */
  const looksUntouched = () => backup.db.query(`update tills set birth = store_birth() || ' '`)
  /** Whoever sold had gone when it was made. */
  const isQuiet = () => backup.db.query('delete from witnesses')

  /** On every rail, for what moves no key of ours: the chain tells of nothing but the money. */
  async function lookUpSinceBackup(): Promise<(service: { readonly url: string }) => Promise<readonly number[]>> {
    const ask = ({ url }: { readonly url: string }, credential?: string) =>
      fetch(`${url}/shop/mpp/player-lookup`, post({}, credential === undefined ? {} : { authorization: credential }))
    const credentials: string[] = []
    for (const rail of [mppPullUnderTest, mppPushUnderTest]) {
      const credential = await rail.pay(shop, buyer, await ask(shop))
      assert.equal((await ask(shop, credential)).status, 200)
      credentials.push(credential)
    }
    return (service) => Promise.all(credentials.map(async (credential) => (await ask(service, credential)).status))
  }

  test('is known for one by itself, at once, though everybody had gone and no key of ours has moved since', async () => {
    await takeBackup()
    await isQuiet()
    const showAgain = await lookUpSinceBackup()
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    assert.deepEqual(await showAgain(restored), [409, 409])
  })

  test('is known for one when somebody says so', async () => {
    await takeBackup()
    await isQuiet()
    await looksUntouched()
    await doubtTills(backup.db)
    const showAgain = await lookUpSinceBackup()
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    assert.deepEqual(await showAgain(restored), [409, 409])
  })

  test('under a shop that sells: it sets aside what it does not know, and sells on', async () => {
    const { credential } = await payFor(shop, mppPushUnderTest, buyer)
    await doubtTills(shop.store.db)
    const { reconcileContext } = shop.service.operations
    const ids = reconcileContext.tills.map(({ id }) => id)
    await until(async () => !(await areTillsPutBack(shop.store.db, ids)) && isOpen(shop.service))
    assert.equal((await show(shop.service, mppPushUnderTest, credential)).status, 409)
    await takeBackup()
  })

  test('that nobody has kept for an hour is not trusted either, even if no key of ours has moved since', async () => {
    const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
    await takeBackup()
    await isQuiet()
    await looksUntouched()
    await backup.db.query(`update tills set alive_at = now() - interval '1 hour'`)
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    const response = await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
    assert.equal(response.status, 409)
  })

  test('on which somebody sold who cannot be asked any more is not trusted either', async () => {
    const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
    await takeBackup()
    await looksUntouched()
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    const response = await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
    assert.equal(response.status, 409)
  })

  // These two sell from a copy, and what they send no other journal knows: from here on each is behind.
  test('takes no payment a second time that was spent after the backup, on any rail', async () => {
    await buy(shop, x402UnderTest, buyer)
    await reconcileRail(shop, mppPushUnderTest)
    await takeBackup()
    const known = await backup.db.query<{ transaction: string }>('select transaction from arrivals')
    const spent: [RailUnderTest, string][] = []
    for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) {
      const { response, credential } = await buy(shop, rail, buyer)
      assert.equal(response.status, 200)
      spent.push([rail, credential])
    }
    const held = await lotsHeld()
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    for (const [rail, credential] of spent) {
      const response = await show(restored, rail, credential)
      assert.equal(response.status, 409, `${rail.name}: ${await response.clone().text()}`)
      assert.equal(((await response.json()) as { code: string }).code, 'payment_conflict', rail.name)
    }
    assert.equal(await lotsHeld(), held, 'nothing was handed over again')
    const { tills } = (await (
      await asOperator({ ...shop, url: restored.url }, '/operator/reconcile', { method: 'POST' })
    ).json()) as {
      tills: { items: { kind: string; transaction: string }[] }[]
    }
    const isKnown = ({ transaction }: { transaction: string }) =>
      known.rows.some((row) => row.transaction === transaction)
    const items = tills.flatMap((till) => till.items).filter((item) => !isKnown(item))
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ['held', 'held', 'held'],
      'a person decides what was delivered',
    )
    // A shop that has learnt sells on.
    const { request, credential } = await payFor({ ...shop, url: restored.url }, mppPullUnderTest, buyer)
    assert.equal(
      (await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))).status,
      200,
    )
  })

  test('nor one that is too little to be sent back', async () => {
    const ask = ({ url }: { readonly url: string }, { rail, header }: RailUnderTest, credential?: string) => {
      const headers = credential === undefined ? {} : { [header]: credential }
      return rail === 'x402'
        ? fetch(`${url}/x402/cheap-health`, { headers })
        : fetch(`${url}/shop/mpp/player-lookup`, post({}, headers))
    }
    await shop.store.db.query(`insert into good_prices (good, amount) values ('playerLookup', 500)`)
    await until(async () => challengeOf(await ask(shop, mppPushUnderTest)).request.amount === '500')
    const pay = async (rail: RailUnderTest) => rail.pay(shop, buyer, await ask(shop, rail))
    // This one lay there unclaimed when the backup was taken, swept as dust, and bought something afterwards.
    const swept = await pay(mppPushUnderTest)
    await reconcileRail(shop, mppPushUnderTest, AT_ONCE)
    await takeBackup()
    const spent: [RailUnderTest, string][] = [[mppPushUnderTest, swept]]
    for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) spent.push([rail, await pay(rail)])
    for (const [rail, credential] of spent) assert.equal((await ask(shop, rail, credential)).status, 200, rail.name)
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    for (const [rail, credential] of spent) {
      assert.equal((await ask(restored, rail, credential)).status, 409, rail.name)
    }
  })
})
