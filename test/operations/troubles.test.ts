import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { EventType } from '../../src/domain/event.ts'
import type { Service } from '../../src/service/service.ts'
import { readEvents } from '../../src/store/events.ts'
import { pumpEvents } from '../../src/webhooks/pump.ts'
import { post } from '../support/buyers.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { AT_ONCE, asOperator, reconcileRail, TOMORROW } from './desk.ts'
import { type FrailShop, startFrailShop } from './faults.ts'
import { x402Stranger } from './strangers.ts'

let frail: FrailShop
let replicas: readonly Service[]

before(async () => {
  frail = await startFrailShop()
  const { clock } = frail.shop.service.checkout
  replicas = [frail.shop.service, await frail.shop.replica({ clock })]
})
after(() => frail.stop())

/** Both replicas look around, at the same moment. */
const look = () => Promise.all(replicas.map(({ operations }) => operations.lookout.look()))

type Told = { readonly type: string; readonly about: unknown; readonly until: unknown; readonly subject: string }

/** Everything that was told of troubles so far, in the order of the log. */
async function told(): Promise<readonly Told[]> {
  const { db } = frail.shop.store
  await pumpEvents(db)
  const events = await readEvents(db, 0n, 1_000)
  return events
    .filter(({ subject }) => subject.startsWith('trb_'))
    .map(({ type, data, subject }) => ({ type, about: data['about'], until: data['until'], subject }))
}

type Case = {
  readonly begin: EventType
  readonly end: EventType
  readonly about: RegExp
  cause(): Promise<unknown>
  mend(): Promise<unknown>
}

/** Told once when it begins, whoever sees it and however long it lasts, and once when it is over. */
async function tellsOnce({ begin, end, about, cause, mend }: Case): Promise<void> {
  const before = (await told()).length
  const fresh = async () => (await told()).slice(before).filter(({ type }) => type === begin || type === end)
  await cause()
  // Health is kept for two seconds, and a balance for five; what comes and goes must be there twice.
  await until(async () => {
    frail.later(6_000)
    await look()
    return (await fresh()).length > 0
  })
  for (let again = 0; again < 3; again++) await look()
  const begun = await fresh()
  assert.deepEqual([begun.length, begun[0]!.type], [1, begin])
  assert.match(String(begun[0]!.about), about)
  assert.equal(begun[0]!.until, null)
  await mend()
  await until(async () => {
    frail.later(10_000)
    await look()
    return (await fresh()).length > 1
  })
  await look()
  const [, over, ...more] = await fresh()
  assert.deepEqual([over!.type, over!.subject, more], [end, begun[0]!.subject, []])
  assert.notEqual(over!.until, null)
}

test('a wallet that is low, and refilled', () =>
  tellsOnce({
    begin: 'wallet.low',
    end: 'wallet.refilled',
    about: /^minter on 84532 \(gas\)$/,
    cause: () => frail.setGas('minter', 1_000_000_000_000_000n),
    mend: () => frail.setGas('minter', 10n ** 20n),
  }))

test('a node that is down, and back', () =>
  tellsOnce({
    begin: 'node.down',
    end: 'node.back',
    about: /^node 2 of chain 84532$/,
    async cause() {
      frail.second.isSilent = true
      // The other chain has a second node too: it is told of by itself, and here only one is looked at.
      await frail.shop.store.db.query(
        `insert into troubles (id, kind, about, detail, began_at, seen_at) values ('trb_other', 'node', 'node 2 of chain 42431', '', now(), now() + interval '1 year')`,
      )
    },
    async mend() {
      frail.second.isSilent = false
      await frail.shop.store.db.query(`delete from troubles where id = 'trb_other'`)
    },
  }))

test('a game backend that is down, and back, with the goods that it hands over', async () => {
  verifies('D10.8')
  await tellsOnce({
    begin: 'game.down',
    end: 'game.back',
    about: /^the game backend$/,
    cause: async () => {
      frail.studio.fault = 'down'
    },
    mend: async () => {
      frail.studio.fault = null
    },
  })
  const figures = await (await asOperator(frail.shop, '/metrics')).text()
  assert.match(figures, /^sutler_outside_requests_total\{service="game",outcome="failed"\} \d+$/m)
  assert.match(figures, /^sutler_outside_requests_total\{service="game",outcome="answered"\} \d+$/m)
})

test('a sale contract that is paused, and sells again', () =>
  tellsOnce({
    begin: 'surface.paused',
    end: 'surface.resumed',
    about: /^sale$/,
    cause: () => frail.pauseSale(true),
    mend: () => frail.pauseSale(false),
  }))

test('a token that its issuer paused, and its rail', () =>
  tellsOnce({
    begin: 'rail.paused',
    end: 'rail.resumed',
    about: /^x402$/,
    cause: () => frail.pauseToken(true),
    mend: () => frail.pauseToken(false),
  }))

test('money that waits for a person, until they decide', async () => {
  verifies('D10.8')
  const { shop } = frail
  const stranger = await x402Stranger(shop)
  let transferId = ''
  await tellsOnce({
    begin: 'attention.needed',
    end: 'attention.over',
    about: /^trf_/,
    async cause() {
      await stranger.give(1_000_000n)
      const report = await reconcileRail(shop, stranger.rail, { ...AT_ONCE, returnsUnmatched: false })
      transferId = report.items[0]!.id
      await until(async () => {
        const { items } = await reconcileRail(shop, stranger.rail, { ...AT_ONCE, returnsUnmatched: false })
        return items.some(({ kind }) => kind === 'held')
      })
    },
    async mend() {
      const decision = JSON.stringify({ decision: 'keep', by: 'mara' })
      const headers = { 'content-type': 'application/json' }
      const answer = await asOperator(shop, `/operator/transfers/${transferId}`, {
        method: 'POST',
        headers,
        body: decision,
      })
      assert.equal(answer.status, 200)
    },
  })
})

test('M-26: money without a purchase that was to go back and does not leave, until it has', async () => {
  const { shop } = frail
  const stranger = await x402Stranger(shop)
  await tellsOnce({
    begin: 'attention.needed',
    end: 'attention.over',
    about: /^trf_/,
    async cause() {
      const paymentTx = await stranger.give(1_000_000n)
      const unmatched = async () => {
        const { items } = await reconcileRail(shop, stranger.rail, TOMORROW)
        return items.find(({ transaction }) => transaction === paymentTx)
      }
      await until(async () => (await unmatched()) !== undefined)
      await frail.pauseToken(true)
      const body = { decision: 'refund', by: 'mara' }
      const decided = await asOperator(shop, `/operator/transfers/${(await unmatched())!.id}`, post(body))
      assert.equal(decided.status, 200)
      frail.later(16 * 60_000)
    },
    async mend() {
      const { items } = (await (await asOperator(shop, '/operator/attention')).json()) as {
        items: { kind: string; subject: { type: string }; amount: string }[]
      }
      const stuck = items.filter(({ kind }) => kind === 'refund_stuck')
      assert.deepEqual(
        stuck.map(({ subject, amount }) => [subject.type, amount]),
        [['transfer', '1.00']],
      )
      await frail.pauseToken(false)
      await until(async () => (await reconcileRail(shop, stranger.rail, TOMORROW)).items.length === 0)
    },
  })
})

test('what could not be looked at is not over', async () => {
  const before = (await told()).length
  await frail.setGas('minter', 1_000n)
  await until(async () => {
    frail.later(6_000)
    await look()
    // Something else may be told after it.
    return (await told()).slice(before).some(({ type }) => type === 'wallet.low')
  })
  const unread = frail.shop.service.operations.lookout
  const { db } = frail.shop.store
  await frail.setGas('minter', 10n ** 20n)
  // All nodes are silent: nobody can say what a wallet holds.
  const transport = frail.shop.chains.native
  const ask = transport.request
  Object.assign(transport, { request: () => Promise.reject(new Error('connection refused')) })
  frail.later(60_000)
  await unread.look()
  Object.assign(transport, { request: ask })
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from troubles where kind = 'wallet' and ended_at is null`,
  )
  assert.equal(rows[0]!.n, 1)
})
