import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { plainTransports } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { isOpen, replaceable } from '../support/moving-store.ts'
import { stallingTransports } from '../support/stalling-transports.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// E164, where the two replicas do not begin with the same store before them, or one of them begins anew.

type Parts = Awaited<ReturnType<typeof startWithBackup>>

const RECIPIENT = '0x00000000000000000000000000000000005e11e2'
/** Paid by MPP at another address than before; the earlier one is read last. */
const moved = (config: Config): Config => impatiently({ ...config, mpp: { ...config.mpp!, recipient: RECIPIENT } })

async function buyAt({ url }: Pick<Service, 'url'>, { shop, buyer }: Parts, rail: RailUnderTest): Promise<Response> {
  return (await askedAt({ url }, { shop, buyer }, rail))()
}

/** Asks to be told the price, and pays it. What is returned shows the payment. */
async function askedAt(
  { url }: Pick<Service, 'url'>,
  { shop, buyer }: Pick<Parts, 'shop' | 'buyer'>,
  rail: RailUnderTest,
) {
  const request = { ...LOT, beneficiary: buyer.address }
  const at = `${url}/agentic/${rail.rail}/buy`
  const asked = await fetch(at, post(request))
  assert.equal(asked.status, 402)
  const credential = await rail.pay(shop, buyer, asked)
  return () => fetch(at, post(request, { [rail.header]: credential }))
}

async function assertBuys(show: () => Promise<Response>): Promise<void> {
  const answer = await show()
  const { detail } = (await answer.json()) as { detail?: string }
  assert.deepEqual([answer.status, detail], [200, undefined])
}

for (const rail of [mppPullUnderTest, mppPushUnderTest])
  test(`E169: whoever was asked to pay by ${rail.name} at a till that the backup does not know buys, though a replica that began before that till was known ends later`, async (t) => {
    const parts = await startWithBackup(t)
    const { shop, backup: database } = parts
    await copyDatabase(shop.store.db, database, silentLog)
    const original = await shop.replica({ configure: moved })
    assert.equal((await buyAt(original, parts, x402UnderTest)).status, 200)
    assert.equal((await buyAt(original, parts, mppPullUnderTest)).status, 200)
    const slow = stallingTransports(shop, 'native', ({ method }) => method === 'eth_getTransactionCount')
    const late = shop.replica({ database, configure: moved, transports: slow.transports })
    await until(slow.isStalled)
    const early = await shop.replica({ database, configure: moved })
    const show = await askedAt(early, parts, rail)
    slow.release()
    await late
    await assertBuys(show)
  })

for (const [what, method] of [
  ['counts what its keys have sent', 'eth_getTransactionCount'],
  ['reads the till', 'eth_getLogs'],
] as const)
  for (const rail of [mppPullUnderTest, mppPushUnderTest])
    test(`E170: whoever was asked to pay by ${rail.name} buys, though a replica that began when their till had been set aside, and others not yet, still ${what}`, async (t) => {
      const parts = await startWithBackup(t)
      const { shop, backup: database } = parts
      const original = await shop.replica({ configure: moved })
      await copyDatabase(shop.store.db, database, silentLog)
      assert.equal((await buyAt(original, parts, x402UnderTest)).status, 200)
      assert.equal((await buyAt(original, parts, mppPullUnderTest)).status, 200)
      const former = shop.config.mpp!.recipient.slice(2).toLowerCase()
      const first = stallingTransports(
        shop,
        'tempo',
        ({ method, params }) => method === 'eth_getLogs' && JSON.stringify(params).toLowerCase().includes(former),
      )
      const early = shop.replica({ database, configure: moved, transports: first.transports })
      await until(first.isStalled)
      const second = stallingTransports(shop, 'tempo', (asked) => asked.method === method)
      const late = shop.replica({ database, configure: moved, transports: second.transports })
      await until(second.isStalled)
      first.release()
      const show = await askedAt(await early, parts, rail)
      second.release()
      await late
      await assertBuys(show)
    })

/** At least as many as one look asks for. */
const KEYS = 10

/** Two replicas sold on a store that moved. One of them misses what it sold, and its node fails when it looks. */
async function moveUnder(t: TestContext) {
  const parts = await startWithBackup(t)
  const { shop, backup } = parts
  await copyDatabase(shop.store.db, backup, silentLog)
  const { database, replaceBy } = replaceable(await shop.store.replica())
  let hears = true
  let tries = 0
  const transports = new Map(
    [...plainTransports(shop.chains)].map(([chainId, plain]) => {
      const transport: RpcTransport = async (request, max) => {
        const isAsked = (what: string) => [request].flat().some(({ method }) => method === what)
        if (!hears && isAsked('eth_getTransactionCount')) tries++
        if (!hears && isAsked('eth_getLogs')) throw new Error('429')
        return (plain as RpcTransport)(request, max)
      }
      return [chainId, transport] as const
    }),
  )
  const seller = await shop.replica({ database, configure: impatiently, transports })
  assert.equal((await buyAt(seller, parts, mppPullUnderTest)).status, 200)
  const stop = new AbortController()
  t.after(() => stop.abort())
  hears = false
  replaceBy(backup)
  seller.operations.gate.watch(stop.signal)
  return {
    parts,
    seller,
    /** Until it has begun anew. */
    async again() {
      const before = tries
      await until(() => tries > before + KEYS)
    },
    hear() {
      hears = true
    },
  }
}

for (const rail of [mppPullUnderTest, mppPushUnderTest])
  test(`E171: whoever was asked to pay by ${rail.name} buys, though a replica that misses what it sold could not read the chain at first, and begins anew`, async (t) => {
    const { parts, seller, again, hear } = await moveUnder(t)
    const { shop, backup } = parts
    const isDoubted = async () => (await backup.query(`select from tills where birth = 'put back'`)).rows.length > 0
    await until(isDoubted)
    const other = await shop.replica({ database: backup, configure: impatiently })
    const show = await askedAt(other, parts, rail)
    await again()
    hear()
    await until(() => isOpen(seller))
    await assertBuys(show)
  })
