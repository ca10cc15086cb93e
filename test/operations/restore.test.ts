import assert from 'node:assert/strict'
import { after, afterEach, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemRandom } from '../../src/base/id.ts'
import { sandboxContracts } from '../../src/sandbox/foundation.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import type { Service } from '../../src/service/service.ts'
import { acceptStore } from '../../src/store/history.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { copyStore } from '../support/copy-store.ts'
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

const RAILS = [x402UnderTest, mppPullUnderTest, mppPushUnderTest]
/** How many lots the buyer holds, by the contract's own count (ERC-721 and ERC-20 ask for balances alike). */
const lotsHeld = () => erc20Balance(shop.chains.native, sandboxContracts(demoAddressOf('deployer')).sale, buyer.address)
const show = (service: { readonly url: string }, rail: RailUnderTest, credential: string) =>
  fetch(
    `${service.url}/agentic/${rail.rail}/buy`,
    post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: credential }),
  )
const codeOf = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code]
const isReady = async ({ url }: Service) => (await fetch(`${url}/health/ready`)).status === 200

test('a shop that was down for a minute still takes a payment that was pushed meanwhile', async () => {
  const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
  const restarted = await shop.replica()
  const response = await fetch(`${restarted.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
  assert.equal(response.status, 200)
})

test('C-12: while a chain cannot be asked what our keys have sent nothing is sold, and as soon as it can be, everything is', async () => {
  const silent = { is: true }
  const transports = new Map(
    [shop.chains.native, shop.chains.tempo].map((chain) => [
      chain.chainId,
      async ({ method, params }: { method: string; params: readonly unknown[] }) => {
        if (silent.is && method === 'eth_getTransactionCount') throw new Error('silent')
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
  assert.equal(await isReady(starting), false)
  silent.is = false
  await until(() => isReady(starting))
  assert.equal((await send()).status, 200)
})

// Last: shops on two copies of a store use the same keys, and neither journal knows what the other has sent.
describe('C-12, M-26: a store restored from an older backup', () => {
  let backup: TestStore
  afterEach(() => backup.drop())

  async function takeBackup(): Promise<void> {
    backup = await openBackup()
    await copyStore(shop.store.db, backup.db)
  }

  const restart = () => shop.replica({ database: backup.db, configure: impatiently })
  const troubleOf = (service: Service) => service.operations.gate.trouble()?.detail ?? ''

  test('keeps the shop closed, with the command to run, until an operator has said that it was restored', async () => {
    await takeBackup()
    const restored = await restart()
    const { credential } = await payFor(shop, mppPullUnderTest, buyer)
    assert.deepEqual(await codeOf(await show(restored, mppPullUnderTest, credential)), [503, 'store_unavailable'])
    assert.equal(await isReady(restored), false)
    assert.match(troubleOf(restored), /another history .* Run `sutler restored`/)
    await restored.operations.lookout.look()
    const { rows } = await backup.db.query(`select about from troubles where kind = 'attention' and ended_at is null`)
    assert.deepEqual(rows, [{ about: 'the store' }])
    await acceptStore(backup.db, { isComplete: true })
    await until(() => isReady(restored))
    assert.equal((await show(restored, mppPullUnderTest, credential)).status, 200)
  })

  test('in the same place is known by a key that has sent what its journal does not know', async () => {
    await takeBackup()
    await acceptStore(backup.db, { isComplete: true })
    // Its keys were counted there.
    await (await restart()).stop()
    await buy(shop, x402UnderTest, buyer)
    const restored = await restart()
    assert.equal(await isReady(restored), false)
    assert.match(troubleOf(restored), /has sent \d+ transactions .* more than the journal knows/)
    await acceptStore(backup.db, { isComplete: false })
    await until(() => isReady(restored))
  })

  test('takes no payment a second time that was spent after the backup, on any rail, and holds it for a person', async () => {
    await buy(shop, x402UnderTest, buyer)
    await reconcileRail(shop, mppPushUnderTest)
    await takeBackup()
    const unused = new Map<RailUnderTest, string>()
    const spent: [RailUnderTest, string][] = []
    for (const rail of RAILS) {
      const { response, credential } = await buy(shop, rail, buyer)
      assert.equal(response.status, 200)
      spent.push([rail, credential])
      if (rail !== mppPushUnderTest) unused.set(rail, (await payFor(shop, rail, buyer)).credential)
    }
    const held = await lotsHeld()
    const had = await Promise.all(RAILS.map((rail) => rail.balance(shop, buyer.address)))
    await acceptStore(backup.db, { isComplete: false })
    const restored = await restart()
    for (const [rail, credential] of spent)
      assert.deepEqual(await codeOf(await show(restored, rail, credential)), [409, 'payment_returned'], rail.name)
    for (const [rail, credential] of unused) {
      const response = await show(restored, rail, credential)
      assert.equal(response.status, 409, `${rail.name}: asked for before, and never sent`)
      const { payment } = (await response.json()) as { payment: { taken: unknown } }
      assert.equal(payment.taken, 'unknown')
    }
    assert.equal(await lotsHeld(), held, 'nothing was handed over again')
    for (const rail of [x402UnderTest, mppPushUnderTest])
      await reconcileRail({ ...shop, service: restored }, rail, AT_ONCE)
    assert.deepEqual(
      await Promise.all(RAILS.map((rail) => rail.balance(shop, buyer.address))),
      had,
      'nothing went back',
    )
    const { rows } = await backup.db.query<{ state: string; n: number }>(
      `select state, count(*)::int as n from transfers where state <> 'matched' group by state`,
    )
    assert.deepEqual(
      rows.map(({ state }) => state),
      ['held'],
    )
    assert.ok(rows[0]!.n >= spent.length)
    // Who is asked afterwards buys.
    const { request, credential } = await payFor({ ...shop, url: restored.url }, mppPullUnderTest, buyer)
    assert.equal(
      (await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))).status,
      200,
    )
    const desk = await asOperator({ ...shop, url: restored.url }, '/operator/reconcile', { method: 'POST' })
    assert.equal(desk.status, 200)
  })

  test('nor one that is too little to be sent back', async () => {
    const ask = ({ url }: { readonly url: string }, { rail, header }: RailUnderTest, credential?: string) => {
      const headers = credential === undefined ? {} : { [header]: credential }
      return rail === 'x402'
        ? fetch(`${url}/x402/cheap-health`, { headers })
        : fetch(`${url}/shop/mpp/player-lookup`, post({}, headers))
    }
    await takeBackup()
    const spent: [RailUnderTest, string][] = []
    for (const rail of RAILS) spent.push([rail, await rail.pay(shop, buyer, await ask(shop, rail))])
    for (const [rail, credential] of spent) assert.equal((await ask(shop, rail, credential)).status, 200, rail.name)
    await acceptStore(backup.db, { isComplete: false })
    const restored = await restart()
    for (const [rail, credential] of spent) assert.equal((await ask(restored, rail, credential)).status, 409, rail.name)
  })
})
