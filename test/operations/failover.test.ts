import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemRandom } from '../../src/base/id.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import type { Service } from '../../src/service/service.ts'
import { acceptStore } from '../../src/store/history.ts'
import { type Flow, flows, judge, nftsOf } from '../crash/flows.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { type Cluster, clusterBinaries, startCluster } from '../support/cluster.ts'
import { mppPushUnderTest } from '../support/credentials.ts'
import { storeIn } from '../support/database.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'

// A primary and a standby of PostgreSQL itself, two replicas that know both by one address, and buyers on every rail who repeat their payment
// until they hear what became of it. The servers are frozen, filled, killed and promoted under them; the chain judges.

const isRequired = process.env['TEST_POSTGRES_CLUSTER'] === 'required'
const skip = clusterBinaries === null && !isRequired ? 'PostgreSQL with pg_basebackup is not installed' : false
const bought = flows.filter(({ ends }) => ends === 'delivered')

let cluster: Cluster
let shop: TestShop
let replicas: readonly Service[]

if (!skip) {
  before(start)
  after(stop)
}

async function start(): Promise<void> {
  cluster = await startCluster({ onSmallDisk: true })
  // A server that dies takes its database with it.
  const store = await storeIn({ url: cluster.url, drop: async () => {} }, { poolSize: 4, statementMsMax: 1_500 })
  shop = await startShop({
    store,
    env: { SUTLER_RATE_REPLAY: '1000000' },
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 2_000, leaseSeconds: 5 } }),
  })
  replicas = [shop.service, await shop.replica()]
}

async function stop(): Promise<void> {
  await shop.stop()
  await cluster.stop()
}

type Paid = { readonly flow: Flow; readonly buyer: PrivateKeyAccount; readonly init: RequestInit }

/** Asks for the price until somebody can tell, and pays it. */
async function pay(flow: Flow, { url }: Service): Promise<Paid> {
  const buyer = await fundedWallet(shop)
  const init = post(flow.body(buyer, undefined))
  let unpaid = await fetch(url + flow.path, init)
  while (unpaid.status !== 402) {
    assert.ok(UNDECIDED.includes(unpaid.status), await unpaid.text())
    unpaid = await fetch(url + flow.path, init)
  }
  const credential = await flow.rail.pay(shop, buyer, unpaid)
  return { flow, buyer, init: { ...init, headers: { ...init.headers, [flow.rail.header]: credential } } }
}

type Answer = {
  readonly code: number
  readonly body: { readonly code?: string; readonly payment?: { taken: unknown } }
}

async function present({ flow, init }: Paid, { url }: Service): Promise<Answer> {
  const response = await fetch(url + flow.path, init)
  return { code: response.status, body: (await response.json()) as Answer['body'] }
}

/** Still moving; or nothing was taken, and it may be sent again. 408: on a busy machine even a short request may take long to arrive. */
const UNDECIDED = [202, 408, 503]

/** The same payment, now to the one and now to the other, until the answer is final. */
async function finish(paid: Paid): Promise<Answer> {
  for (let tries = 0; ; tries++) {
    const answer = await present(paid, replicas[tries % replicas.length]!)
    if (!UNDECIDED.includes(answer.code)) return answer
    if (answer.code === 503 && paid.flow.rail === mppPushUnderTest) assert.notEqual(answer.body.payment?.taken, false)
  }
}

async function buy(flow: Flow, at: Service): Promise<void> {
  const paid = await pay(flow, at)
  const { code, body } = await finish(paid)
  assert.equal(code, 200, JSON.stringify(body))
  await judge(shop, flow, paid.buyer, undefined, code)
}

/** Buyers on every rail, at both replicas, one purchase after the other. */
function crowd() {
  let isOver = false
  let sold = 0
  const buyers = bought.map(async (flow, i) => {
    while (!isOver) {
      await buy(flow, replicas[i % replicas.length]!)
      sold++
    }
  })
  // Nobody waits for more when one of them has failed.
  const all = Promise.all(buyers).finally(() => {
    isOver = true
  })
  return {
    async more(purchases = 3) {
      const goal = sold + purchases
      await Promise.race([until(() => isOver || sold >= goal), all])
    },
    async leave() {
      isOver = true
      await all
      return sold
    },
  }
}

const held = async () =>
  (await shop.store.db.query<{ n: number }>(`select count(*)::int as n from transfers where state = 'held'`)).rows[0]!.n

test('C-15: a database that hangs takes no money and loses none, and is forgiven when it answers again', {
  skip,
}, async () => {
  const { more, leave } = crowd()
  await more()
  const waiting = await pay(bought[0]!, replicas[0]!)
  cluster.primary.freeze()
  const { code, body } = await present(waiting, replicas[0]!)
  assert.equal(code, 503, JSON.stringify(body))
  await judge(shop, waiting.flow, waiting.buyer, undefined, 402)
  assert.equal((await fetch(`${replicas[0]!.url}/health/live`)).status, 200)
  await until(async () => (await fetch(`${replicas[0]!.url}/health/ready`)).status === 503)
  cluster.primary.thaw()
  assert.equal((await finish(waiting)).code, 200)
  await more()
  await leave()
})

test('C-15: a database whose disk is full refuses before money, and sells as soon as there is room', {
  skip: skip || (process.getuid?.() !== 0 && 'only root may mount a small disk'),
}, async () => {
  const { disk } = cluster
  assert.ok(disk)
  disk.fill()
  // The free places inside its files are used up first; a purchase that met the end half way waits for room.
  const begun: Paid[] = []
  await until(async () => {
    const paid = await pay(bought[0]!, replicas[0]!)
    const { code, body } = await present(paid, replicas[0]!)
    begun.push(paid)
    if (code !== 503) return false
    assert.equal(body.code, 'store_full')
    await judge(shop, paid.flow, paid.buyer, undefined, 402)
    return true
  })
  disk.free()
  for (const paid of begun) {
    assert.equal((await finish(paid)).code, 200)
    await judge(shop, paid.flow, paid.buyer, undefined, 200)
  }
  for (const flow of bought) await buy(flow, replicas[1]!)
})

test('C-13: a synchronous standby is promoted while the shop sells and the old primary is killed: nothing is lost or doubled', {
  skip,
}, async (t) => {
  await cluster.synchronous()
  // Its word is for all replicas.
  const told = await shop.replica({
    configure: (config) => ({ ...config, store: { ...config.store, standby: 'synchronous' } }),
  })
  const { more, leave } = crowd()
  await more()
  const before = await held()
  const { primary, standby } = cluster
  await primary.kill()
  const begun = performance.now()
  await standby.promote()
  const promoted = performance.now()
  await more(1)
  t.diagnostic(
    `sold again ${Math.round(performance.now() - begun)} ms after the kill, ${Math.round(performance.now() - promoted)} ms after the promotion`,
  )
  await more()
  await leave()
  assert.equal(await held(), before, 'no money was set aside')
  await told.stop()
  await cluster.rejoin()
})

test('C-13: a standby that lost the last purchases sells nothing before an operator has said so, and nothing twice afterwards', {
  skip,
}, async () => {
  await cluster.detach()
  const buyer = await fundedWallet(shop)
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'promoted', address: buyer.address })
  // A look-up that was pushed moves no key of ours: only who sold it knows of it. The others have left traces on the chain.
  const [first, second] = replicas as readonly [Service, Service]
  const ask = (at: Service, headers: Record<string, string> = {}) =>
    fetch(`${at.url}/shop/mpp/player-lookup`, post({}, headers))
  const authorization = await mppPushUnderTest.pay(shop, buyer, await ask(first))
  assert.equal((await ask(first, { authorization })).status, 200)
  const lost: Paid[] = []
  for (const flow of bought) {
    const paid = await pay(flow, first)
    assert.equal((await finish(paid)).code, 200)
    lost.push(paid)
  }
  await cluster.primary.kill()
  await cluster.standby.promote()
  await until(() => replicas.every(({ operations }) => operations.gate.trouble() !== null))
  for (const at of replicas) assert.equal((await ask(at, { authorization })).status, 202, 'it waits, and buys nothing')
  for (const at of replicas) assert.equal((await ask(at)).status, 503, 'no one is asked to pay meanwhile')
  await acceptStore(shop.store.db, { isComplete: false })
  await until(() => replicas.every(({ operations }) => operations.gate.trouble() === null))
  for (const at of [second, first]) {
    assert.equal((await ask(at, { authorization })).status, 409, 'what was lost buys nothing once more')
    for (const paid of lost) {
      const { code } = await finish(paid)
      assert.equal(code, 409, paid.flow.name)
      assert.equal(await nftsOf(shop.chains, shop.config.game.sale!.contract, paid.buyer.address), 2, paid.flow.name)
    }
  }
  for (const flow of bought) for (const at of replicas) await buy(flow, at)
})
