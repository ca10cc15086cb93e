import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemRandom } from '../../../src/base/id.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import { createSandboxPlayers } from '../../../src/sandbox/players.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import type { Database } from '../../../src/store/db.ts'
import { lookAtStore } from '../../../src/store/lineage.ts'
import { quarantines } from '../../../src/store/tills/till-trust.ts'
import { impatiently, LOT, LOT_PRICE, reconcileRail } from '../../operations/desk.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { openBackup } from '../../support/database.ts'
import { plainTransports, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { replaceable } from '../support/moving-store.ts'
import { stallingTransports } from '../support/stalling-transports.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// The primary dies, and a standby is promoted that never got the last purchase. That one was a look-up that was pushed: no key of ours has sent anything, so
// only the replica that sold it knows of it.

/** A shop that has left its store to those who come, and a player to look up. */
async function startOnPrimary(t: TestContext) {
  const parts = await startWithBackup(t)
  const { shop, buyer } = parts
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'promoted', address: buyer.address })
  const stop = new AbortController()
  t.after(() => stop.abort())
  const ask = ({ url }: Pick<Service, 'url'>, headers: Record<string, string> = {}) =>
    fetch(`${url}/shop/mpp/player-lookup`, post({}, headers))
  return {
    ...parts,
    ask,
    /** A replica whose server may be replaced. */
    async onPrimary() {
      return replaceable(await shop.store.replica())
    },
    watch: ({ operations }: Service) => operations.gate.watch(stop.signal),
    async sell(at: Pick<Service, 'url'>) {
      const authorization = await mppPushUnderTest.pay(shop, buyer, await ask(at))
      assert.equal((await ask(at, { authorization })).status, 200)
      return async (at: Pick<Service, 'url'>) => (await ask(at, { authorization })).status
    },
  }
}

/** What a standby has got by now. */
async function replicate(primary: Database, standby: Database): Promise<void> {
  await copyDatabase(primary, standby, silentLog)
  // It is no copy.
  await standby.query(`update tills set birth = store_birth() || ' '`)
}

async function untilLearned({ checkout }: Service, database: Database): Promise<void> {
  const { lineage } = await lookAtStore(database, [])
  await until(async () => checkout.memory.lineage() === lineage)
}

test('E175: what a replica missed after a first failover buys nothing after a second one, to another standby that never got it', async (t) => {
  const parts = await startOnPrimary(t)
  const { backup } = parts
  const other = await openBackup()
  t.after(() => other.drop())
  const { replica, show, moveTo } = await failOver(parts, [backup, other.db])
  await moveTo(other.db)
  assert.equal(await show(replica), 409)
})

test('E175: nothing is set aside once more after a second failover, to a standby that got all of the first', async (t) => {
  const parts = await startOnPrimary(t)
  const { backup } = parts
  const other = await openBackup()
  t.after(() => other.drop())
  const { moveTo } = await failOver(parts, [backup])
  await replicate(backup, other.db)
  const before = await quarantines(other.db)
  await moveTo(other.db)
  assert.deepEqual(await quarantines(other.db), before)
})

/** A replica sells, and its store moves to the first of these, which have all but that. */
async function failOver(
  { shop, onPrimary, watch, sell }: Awaited<ReturnType<typeof startOnPrimary>>,
  standbys: readonly [Database, ...Database[]],
) {
  const { database, replaceBy } = await onPrimary()
  await shop.service.operations.gate.leave()
  const replica = await shop.replica({ database, configure: impatiently })
  for (const standby of standbys) await replicate(shop.store.db, standby)
  const show = await sell(replica)
  async function moveTo(standby: Database): Promise<void> {
    replaceBy(standby)
    await untilLearned(replica, standby)
  }
  watch(replica)
  await moveTo(standbys[0])
  assert.equal(await show(replica), 409)
  return { replica, show, moveTo }
}

test('E176: what a replica sold, whose store has moved, buys nothing at another one after it was stopped', async (t) => {
  const { shop, backup, onPrimary, watch, sell } = await startOnPrimary(t)
  const servers = [await onPrimary(), await onPrimary()] as const
  await shop.service.operations.gate.leave()
  const [seller, other] = await Promise.all(
    servers.map(({ database }) => shop.replica({ database, configure: impatiently })),
  )
  await replicate(shop.store.db, backup)
  const show = await sell(seller!)
  for (const { replaceBy } of servers) replaceBy(backup)
  await seller!.stop()
  watch(other!)
  await untilLearned(other!, backup)
  assert.equal(await show(other!), 409)
})

test('E191: nor at one that is started later, if the word of the stopped replica had not come to the standby either', async (t) => {
  const { shop, backup, onPrimary, sell } = await startOnPrimary(t)
  const { database, replaceBy } = await onPrimary()
  await shop.service.operations.gate.leave()
  await replicate(shop.store.db, backup)
  const seller = await shop.replica({ database, configure: impatiently })
  const show = await sell(seller)
  replaceBy(backup)
  await seller.stop()
  assert.equal(await show(await shop.replica({ database: backup, configure: impatiently })), 409)
})

test('E177: what a replica missed, which ended before it had read anything, buys nothing at one that is started minutes later', async (t) => {
  const { shop, backup, onPrimary, watch, sell } = await startOnPrimary(t)
  const { database, replaceBy } = await onPrimary()
  let hasMoved = false
  const { transports, release, isStalled } = stallingTransports(
    shop,
    'native',
    ({ method }) => hasMoved && method === 'eth_getTransactionCount',
  )
  t.after(release)
  await shop.service.operations.gate.leave()
  const seller = await shop.replica({ database, configure: impatiently, transports })
  await replicate(shop.store.db, backup)
  const show = await sell(seller)
  hasMoved = true
  replaceBy(backup)
  watch(seller)
  await until(async () => isStalled())
  await backup.query(`update witnesses set seen_at = now() - interval '2 minutes'`)
  assert.equal(await show(await shop.replica({ database: backup, configure: impatiently })), 409)
})

test('E178: what was sold at a till that another replica has doubted meanwhile buys nothing at one that was still reading it', async (t) => {
  const { shop, backup, onPrimary, watch, sell } = await startOnPrimary(t)
  const servers = [await onPrimary(), await onPrimary()] as const
  const partial = await shop.replica({
    database: servers[0].database,
    configure: (config) => impatiently({ ...config, mpp: null }),
  })
  await replicate(shop.store.db, backup)
  // The first process, which dies with its server.
  const show = await sell(shop)
  const slow = stallingTransports(shop, 'tempo', ({ method }) => method === 'eth_getLogs')
  const starting = shop.replica({ database: servers[1].database, configure: impatiently, transports: slow.transports })
  await until(async () => slow.isStalled())
  for (const { replaceBy } of servers) replaceBy(backup)
  watch(partial)
  await untilLearned(partial, backup)
  slow.release()
  const started = await starting
  watch(started)
  await untilLearned(started, backup)
  assert.equal(await show(started), 409)
})

test('E180: whoever was asked to pay after a failover buys, though a replica hears of it only after the others have set aside what it sold', async (t) => {
  const { shop, backup, buyer, ask, onPrimary, watch, sell } = await startOnPrimary(t)
  const servers = [await onPrimary(), await onPrimary()] as const
  const [seller, other] = await Promise.all(
    servers.map(({ database }) => shop.replica({ database, configure: impatiently })),
  )
  await replicate(shop.store.db, backup)
  await sell(seller!)
  for (const { replaceBy } of servers) replaceBy(backup)
  watch(other!)
  await untilLearned(other!, backup)
  const authorization = await mppPushUnderTest.pay(shop, buyer, await ask(other!))
  watch(seller!)
  await untilLearned(seller!, backup)
  assert.equal((await ask(other!, { authorization })).status, 200)
})

/** Paid by MPP at another address than before; the earlier one is read last. */
const moved = (config: Config): Config =>
  impatiently({ ...config, mpp: { ...config.mpp!, recipient: '0x00000000000000000000000000000000005e11e2' } })

/** Two standbys that got all but the last purchase, and a node that does not search for what came to the earlier address. */
async function startBetweenStandbys(t: TestContext) {
  const parts = await startOnPrimary(t)
  const { shop, backup } = parts
  const other = await openBackup()
  t.after(() => other.drop())
  await shop.service.operations.gate.leave()
  const former = shop.config.mpp!.recipient.slice(2).toLowerCase()
  let hasMoved = false
  const node = stallingTransports(
    shop,
    'tempo',
    ({ method, params }) =>
      hasMoved && method === 'eth_getLogs' && JSON.stringify(params).toLowerCase().includes(former),
  )
  t.after(node.release)
  return {
    ...parts,
    other: other.db,
    node,
    /** From now on the node is slow. */
    async replicateAll() {
      for (const standby of [backup, other.db]) await replicate(shop.store.db, standby)
      hasMoved = true
    },
  }
}

test('E179: what a replica missed buys nothing after its store has moved once more while it was reading', async (t) => {
  const { shop, backup, other, node, replicateAll, onPrimary, watch, sell } = await startBetweenStandbys(t)
  const { database, replaceBy } = await onPrimary()
  const replica = await shop.replica({ database, configure: moved, transports: node.transports })
  await replicateAll()
  const show = await sell(replica)
  replaceBy(backup)
  watch(replica)
  await until(async () => node.isStalled())
  replaceBy(other)
  node.release()
  await untilLearned(replica, other)
  assert.equal(await show(replica), 409)
})

test('E179: nor does what only a key tells of, if the store has moved once more while a replica that starts was reading', async (t) => {
  const { shop, backup, other, buyer, node, replicateAll, watch } = await startBetweenStandbys(t)
  const seller = await shop.replica({ configure: moved })
  await replicateAll()
  for (const standby of [backup, other]) await standby.query('delete from witnesses')
  const request = { ...LOT, beneficiary: buyer.address }
  const at = ({ url }: Pick<Service, 'url'>) => `${url}/agentic/mpp/buy`
  const authorization = await mppPushUnderTest.pay(shop, buyer, await fetch(at(seller), post(request)))
  const show = async (service: Pick<Service, 'url'>) =>
    (await fetch(at(service), post(request, { authorization }))).status
  assert.equal(await show(seller), 200)
  const { database, replaceBy } = replaceable(backup)
  const starting = shop.replica({ database, configure: moved, transports: node.transports })
  await until(async () => node.isStalled())
  replaceBy(other)
  node.release()
  const started = await starting
  watch(started)
  await untilLearned(started, other)
  assert.equal(await show(started), 409)
})

/** More blocks than are read again each time. */
const BLOCKS = 140

test('E181: what a standby has not read yet is found there, though a replica ends a reading that began after it', async (t) => {
  const { shop, backup, onPrimary } = await startOnPrimary(t)
  const { database, replaceBy } = await onPrimary()
  let hasMoved = false
  const node = stallingTransports(shop, 'tempo', ({ method }) => hasMoved && method === 'eth_getLogs')
  t.after(node.release)
  const reader = await shop.replica({ database, transports: node.transports })
  await replicate(shop.store.db, backup)
  const transaction = await (await mppStranger(shop)).give(LOT_PRICE)
  for (let mined = 0; mined < BLOCKS; mined++) await shop.chains.tempo.request({ method: 'evm_mine', params: [] })
  await reconcileRail(shop, mppPushUnderTest)
  hasMoved = true
  const reading = reconcileRail({ service: reader }, mppPushUnderTest).catch(() => {})
  await until(async () => node.isStalled())
  replaceBy(backup)
  node.release()
  await reading
  await shop.replica({ database: backup, configure: impatiently })
  const { rows } = await backup.query('select from arrivals where transaction = $1', [transaction])
  assert.equal(rows.length, 1)
})

/** Nodes that cannot search at first, and from the moment on at which one was asked to do not say what a key has sent. */
function failingNodes({ chains }: TestShop, onSearched: () => void) {
  let isLooking = false
  let hasFailed = false
  let counts = 0
  let release = () => {}
  const go = new Promise<void>((resolve) => {
    release = resolve
  })
  const transports = new Map(
    [...plainTransports(chains)].map(([chainId, plain]) => {
      const transport: RpcTransport = async (request, max) => {
        const isAsked = (what: string) => [request].flat().some(({ method }) => method === what)
        if (isLooking && hasFailed && isAsked('eth_getTransactionCount')) {
          counts++
          await go
        }
        if (isLooking && isAsked('eth_getLogs')) {
          // At once: the next try begins a moment later.
          if (!hasFailed) onSearched()
          hasFailed = true
          throw new Error('429')
        }
        return (plain as RpcTransport)(request, max)
      }
      return [chainId, transport] as const
    }),
  )
  return {
    transports,
    release,
    /** From now on. */
    look() {
      isLooking = true
    },
    isCounting: () => counts > 0,
  }
}

/** The server does what it is told, and its answer to a replica that opens an order comes late. */
function answeringLate(database: Database) {
  let isHeld = false
  let release = () => {}
  const go = new Promise<void>((resolve) => {
    release = resolve
  })
  const late: Database = new Proxy(database, {
    get(one, name) {
      const member: unknown = Reflect.get(one, name)
      if (name !== 'query') return member
      return async (...asked: Parameters<Database['query']>) => {
        const answer = await one.query(...asked)
        if (JSON.stringify(asked[0]).includes('insert into payment_identities')) {
          isHeld = true
          await go
        }
        return answer
      }
    },
  })
  return { late, release, isHeld: () => isHeld }
}

/** A replica that starts when the words of those before it are forgotten. */
async function startLater(shop: TestShop, database: Database): Promise<Service> {
  await database.query(`update witnesses set seen_at = now() - interval '2 minutes'`)
  return shop.replica({ database, configure: impatiently })
}

test('E201: what a replica hears to be written only after it has looked once at the store that moved buys nothing at one that is started later', async (t) => {
  const { shop, backup, buyer, ask, onPrimary, watch } = await startOnPrimary(t)
  const { database, replaceBy } = await onPrimary()
  const wire = answeringLate(database)
  t.after(wire.release)
  const nodes = failingNodes(shop, wire.release)
  t.after(nodes.release)
  await shop.service.operations.gate.leave()
  const seller = await shop.replica({ database: wire.late, configure: impatiently, transports: nodes.transports })
  await replicate(shop.store.db, backup)
  const authorization = await mppPushUnderTest.pay(shop, buyer, await ask(seller))
  const selling = ask(seller, { authorization })
  await until(async () => wire.isHeld())
  nodes.look()
  replaceBy(backup)
  watch(seller)
  await until(async () => nodes.isCounting())
  await selling
  assert.equal((await ask(await startLater(shop, backup), { authorization })).status, 409)
})

/** Three servers, one in the place of the other, that do not tell which history they are part of. */
async function startUntold(t: TestContext) {
  const parts = await startOnPrimary(t)
  const { shop } = parts
  await shop.service.operations.gate.leave()
  const servers = await Promise.all([openBackup(), openBackup(), openBackup()])
  for (const server of servers) {
    t.after(() => server.drop())
    await server.db.query(
      'create or replace function store_lineage() returns text language sql as $$ select null::text $$',
    )
  }
  const [primary, ...standbys] = servers.map(({ db }) => db) as [Database, Database, Database]
  await replicate(shop.store.db, primary)
  return {
    ...parts,
    ...replaceable(primary),
    standbys,
    async replicateAll() {
      for (const standby of standbys) await replicate(primary, standby)
    },
  }
}

test('E201: what a replica missed, where the server tells no history, and misses in the next one too, buys nothing at one that is started later', async (t) => {
  const { shop, database, replaceBy, standbys, replicateAll, watch, sell } = await startUntold(t)
  const [first, second] = standbys
  const nodes = failingNodes(shop, () => replaceBy(second))
  t.after(nodes.release)
  const seller = await shop.replica({ database, configure: impatiently, transports: nodes.transports })
  await replicateAll()
  const show = await sell(seller)
  nodes.look()
  replaceBy(first)
  watch(seller)
  await until(async () => nodes.isCounting())
  assert.equal(await show(await startLater(shop, second)), 409)
})

for (const [what, configure] of [
  ['all', impatiently],
  ['its own till', (config: Config) => impatiently({ ...config, mpp: null })],
] as const)
  test(`E201: whoever was asked to pay by a replica that has set aside ${what} buys, though the one that misses something, where the server tells no history, begins anew`, async (t) => {
    const { shop, buyer, database, replaceBy, standbys, replicateAll, watch, sell } = await startUntold(t)
    let tries = 0
    let isDeaf = false
    const transports = new Map(
      [...plainTransports(shop.chains)].map(([chainId, plain]) => {
        const transport: RpcTransport = async (request, max) => {
          if (isDeaf && [request].flat().some(({ method }) => method === 'eth_getLogs')) {
            tries++
            throw new Error('429')
          }
          return (plain as RpcTransport)(request, max)
        }
        return [chainId, transport] as const
      }),
    )
    const seller = await shop.replica({ database, configure: impatiently, transports })
    await replicateAll()
    await sell(seller)
    isDeaf = true
    replaceBy(standbys[0])
    watch(seller)
    await until(() => tries > 0)
    const other = await shop.replica({ database: standbys[0], configure })
    const url = `${other.url}/agentic/x402/buy`
    const request = { ...LOT, beneficiary: buyer.address }
    const credential = await x402UnderTest.pay(shop, buyer, await fetch(url, post(request)))
    const before = tries
    await until(() => tries > before + 1)
    const answer = await fetch(url, post(request, { [x402UnderTest.header]: credential }))
    const { detail } = (await answer.json()) as { detail?: string }
    assert.deepEqual([answer.status, detail], [200, undefined])
  })
