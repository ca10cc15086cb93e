import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId, systemRandom } from '../../src/base/id.ts'
import { usd } from '../../src/base/money.ts'
import type { Hold } from '../../src/domain/good.ts'
import type { Lease } from '../../src/domain/lease.ts'
import {
  isFinal,
  type LeasedOrder,
  type Order,
  type OrderStatus,
  type Refund,
  statuses,
  transitions,
} from '../../src/domain/order.ts'
import type { Payment } from '../../src/domain/rail.ts'
import { acceptStore, beginHistory } from '../../src/store/history.ts'
import { claim } from '../../src/store/jobs.ts'
import type { OrderChange } from '../../src/store/orders/change.ts'
import { createHoldReader } from '../../src/store/orders/holds.ts'
import type { Opening } from '../../src/store/orders/opening.ts'
import { createOrders, type Orders } from '../../src/store/orders/orders.ts'
import { createJournal } from '../../src/store/sends/journal.ts'
import { engines, openStore, type TestStore } from '../support/database.ts'
import { verifies } from '../support/verifies.ts'

// The state machine against the real store: every pair of states, on both engines.

const HASH = `0x${'ab'.repeat(32)}` as const
const ADDRESS = `0x${'cd'.repeat(20)}` as const
const LONG_SECONDS = 3_600

for (const engine of engines) {
  describe(`orders in the ${engine} store`, () => {
    let store: TestStore
    let orders: Orders
    before(async () => {
      store = await openStore(engine)
      orders = createOrders(store.db)
    })
    after(() => store.drop())

    async function open(
      changes: Partial<Payment> = {},
      more: Partial<Pick<Opening, 'holds' | 'idempotencyKey' | 'requestDigest' | 'leaseSeconds' | 'askedAt'>> = {},
    ) {
      const id = newId('ord', systemRandom)
      const payment: Payment = {
        identities: [`test:${id}`],
        proofDigest: 'proof',
        payer: ADDRESS,
        amount: usd(500n),
        asset: ADDRESS,
        network: 'test:1',
        payTo: ADDRESS,
        funds: 'authorized',
        expiresAt: Date.now() + 60_000,
        authorization: {},
        ...changes,
      }
      const {
        holds = [],
        idempotencyKey = null,
        requestDigest = id,
        leaseSeconds = LONG_SECONDS,
        askedAt = Date.now(),
      } = more
      return orders.open({
        id,
        flowId: 'flow',
        surface: 'sale',
        good: 'saleLot',
        rail: 'x402',
        requestDigest,
        shownForDigest: requestDigest,
        input: {},
        plan: {},
        holds,
        payment,
        idempotencyKey,
        openedAt: Date.now(),
        event: { type: 'order.created', data: {} },
        leaseSeconds,
        askedAt,
        exposure: {
          openOrdersMax: 1_000,
          means: 10n ** 18n,
          float: 10n ** 18n,
          refundsPerDayMax: 1_000,
          gasAtRisk: 0n,
          gasPerHour: 0n,
        },
      })
    }

    async function opened(...parameters: Parameters<typeof open>): Promise<LeasedOrder> {
      const outcome = await open(...parameters)
      assert.equal(outcome.kind, 'opened')
      return outcome as LeasedOrder & { kind: 'opened' }
    }

    const refusalOf = (outcome: Awaited<ReturnType<typeof open>>) =>
      outcome.kind === 'refused' ? outcome.problem.code : outcome.kind

    const refund: Refund = {
      id: '',
      amount: 500n,
      to: ADDRESS,
      name: '',
      reason: 'test',
      by: 'test',
      key: null,
      transaction: null,
      createdAt: 0,
      completedAt: null,
    }

    /** The change that leads to a status; `isLast` stays false so that the lease can be used again. */
    function changeTo(to: OrderStatus): OrderChange {
      const paid = to === 'settled' ? { paymentTx: HASH, settledAt: Date.now() } : {}
      const back =
        to === 'refunding'
          ? { refund: { ...refund, id: newId('rfd', systemRandom), name: newId('trf', systemRandom) } }
          : to === 'refunded'
            ? { refund: { ...refund, transaction: HASH, completedAt: Date.now() } }
            : {}
      return { to, at: Date.now(), release: 'none', isLast: false, ...paid, ...back }
    }

    function apply(held: LeasedOrder, change: OrderChange): Promise<Order | null> {
      const event = { type: 'order.confirmed', data: { to: change.to } } as const
      return change.refund
        ? orders.changeRefund(held, { ...change, refund: change.refund }, event)
        : orders.change(held, change, event)
    }

    const pathTo: Record<OrderStatus, readonly OrderStatus[]> = {
      settling: [],
      settled: ['settled'],
      submitted: ['settled', 'submitted'],
      confirmed: ['settled', 'confirmed'],
      failed: ['settled', 'failed'],
      refunding: ['settled', 'failed', 'refunding'],
      refunded: ['settled', 'failed', 'refunding', 'refunded'],
      expired: ['expired'],
    }

    async function walk(held: LeasedOrder, path: readonly OrderStatus[]): Promise<LeasedOrder> {
      let { order } = held
      for (const to of path) order = (await apply({ order, lease: held.lease }, changeTo(to)))!
      return { order, lease: held.lease }
    }

    async function eventsOf(id: string): Promise<readonly number[]> {
      const { rows } = await store.db.query<{ sequence: number }>(
        'select sequence from events where subject = $1 order by sequence',
        [id],
      )
      return rows.map(({ sequence }) => sequence)
    }

    for (const from of statuses) {
      test(`from ${from}: to ${transitions[from].join(', ') || 'nothing'}, and to nothing else`, async () => {
        verifies('D6.3')
        for (const to of statuses) {
          const held = await walk(await opened(), pathTo[from])
          const { id } = held.order
          const before = await eventsOf(id)
          if (transitions[from].includes(to)) {
            const next = await apply(held, changeTo(to))
            assert.equal(next?.status, to)
            assert.equal((await orders.byId(id))?.status, to)
            assert.deepEqual(await eventsOf(id), [...before, before.length + 1])
          } else {
            await assert.rejects(apply(held, changeTo(to)), TypeError)
            assert.equal((await orders.byId(id))?.status, from)
            assert.deepEqual(await eventsOf(id), before)
          }
        }
      })
    }

    test('every change writes one event, and their numbers have no gap', async () => {
      for (const status of statuses) {
        const { order } = await walk(await opened(), pathTo[status])
        assert.deepEqual(
          await eventsOf(order.id),
          Array.from({ length: pathTo[status].length + 1 }, (_, index) => index + 1),
        )
        assert.equal(order.sequence, pathTo[status].length + 1)
        assert.deepEqual(
          order.history.map((step) => step.status),
          ['settling', ...pathTo[status]],
        )
      }
    })

    test('C-03: whoever lost the lease changes nothing, and writes no event', async () => {
      for (const status of statuses.filter((one) => transitions[one].length > 0)) {
        const zombie = await walk(await opened(), pathTo[status])
        const { id } = zombie.order
        await store.db.query(`update jobs set run_at = now() - interval '1 second' where key = $1`, [id])
        const [lease] = await claim(store.db, { kinds: ['order'], limit: 1, leaseSeconds: LONG_SECONDS })
        assert.equal(lease?.key, id)
        const events = await eventsOf(id)
        assert.equal(await apply(zombie, changeTo(transitions[status][0]!)), null)
        assert.equal(await orders.countAttempt(zombie, 'late'), null)
        if (status === 'settling') assert.equal(await orders.markInDoubt(zombie, 'no answer'), null)
        if (status === 'settled') assert.equal((await orders.setPlan(zombie, { plan: {}, holds: [] })).kind, 'lost')
        assert.deepEqual(await eventsOf(id), events)
        assert.equal((await orders.byId(id))?.status, status)
      }
    })

    test('of two that hold an order as it was, one changes it', async () => {
      const held = await walk(await opened(), ['settled'])
      const both = await Promise.all([apply(held, changeTo('confirmed')), apply(held, changeTo('failed'))])
      assert.equal(both.filter((next) => next !== null).length, 1)
      assert.deepEqual(await eventsOf(held.order.id), [1, 2, 3])
    })

    test('what settle needed is gone as soon as the outcome is known', async () => {
      for (const status of statuses) {
        const { order } = await walk(await opened({ authorization: { signature: 'a secret' } }), pathTo[status])
        const { rows } = await store.db.query<{ data: unknown }>(
          'select authorization_data as data from orders where id = $1',
          [order.id],
        )
        assert.equal(rows[0]!.data === null, status !== 'settling')
      }
    })

    test('I1: a payment is claimed once, for ever, whatever became of its order', async () => {
      for (const status of statuses) {
        const first = await walk(await opened({ identities: [`once:${status}`, `also:${status}`] }), pathTo[status])
        for (const identities of [[`once:${status}`], [`also:${status}`, `new:${status}`]]) {
          const again = await open({ identities })
          assert.equal(again.kind === 'known' && again.order.id, first.order.id)
        }
        // The name that was free is still free: nothing is left of the refused opening.
        assert.equal((await open({ identities: [`new:${status}`] })).kind, 'opened')
      }
    })

    test('C-13: in a store with another history nothing is opened, nor what was asked for before an operator said that it was restored', async () => {
      const { db } = store
      await beginHistory(db)
      const askedAt = Date.now() - 60_000
      assert.equal((await open({}, { askedAt })).kind, 'opened')
      await db.query(`update store_state set lineage = lineage || '0'`)
      const identity = 'test:moved'
      assert.equal(refusalOf(await open({ identities: [identity] })), 'store_unavailable')
      assert.equal(await orders.byIdentities([identity]), null)
      await acceptStore(db, { isComplete: true })
      assert.equal((await open({ identities: [identity] }, { askedAt })).kind, 'opened')
      await acceptStore(db, { isComplete: false })
      assert.equal(refusalOf(await open({}, { askedAt })), 'store_unavailable')
      assert.equal((await open({}, { askedAt: Date.now() + 1_000 })).kind, 'opened')
      await db.query('update store_state set restored_at = null')
    })

    test('a key names one order of one payer, until that has expired', async () => {
      const other = `0x${'ef'.repeat(20)}` as const
      const first = await opened({}, { idempotencyKey: 'the key' })
      const again = await open({}, { idempotencyKey: 'the key' })
      assert.equal(again.kind === 'same_key' && again.order.id, first.order.id)
      assert.equal((await open({ payer: other }, { idempotencyKey: 'the key' })).kind, 'opened')
      await walk(first, ['expired'])
      assert.equal((await open({}, { idempotencyKey: 'the key' })).kind, 'opened')
    })

    test('M-14: an unresolved payment keeps a second one of the same payer for the same request out', async () => {
      verifies('D5.13')
      const requestDigest = 'the very same request'
      const other = `0x${'ef'.repeat(20)}` as const
      const first = await opened({}, { requestDigest })
      assert.equal((await open({}, { requestDigest })).kind, 'opened')
      await orders.markInDoubt(first, 'no answer')
      const second = await open({}, { requestDigest })
      assert.equal(second.kind, 'unresolved')
      // Whoever's money may have moved hears that, and not that nothing is sold to them.
      await store.db.query(
        `insert into sale_restrictions (kind, about, reason, author, since) select 'payer', lower(payer), 'x', 'x', now() from orders where id = $1`,
        [first.order.id],
      )
      await store.db.query(
        `insert into sale_restrictions (kind, about, reason, author, since) select 'rail', rail, 'x', 'x', now() from orders where id = $1`,
        [first.order.id],
      )
      const told = await open({}, { requestDigest })
      await store.db.query('delete from sale_restrictions')
      assert.equal(told.kind, 'unresolved')
      assert.equal((await open({ payer: other }, { requestDigest })).kind, 'opened')
      // Money that has moved cannot be kept out.
      assert.equal((await open({ funds: 'captured' }, { requestDigest })).kind, 'opened')
      await walk(first, ['settled'])
      assert.equal((await open({}, { requestDigest })).kind, 'opened')
    })

    describe('holds', () => {
      let lastResource = 0
      const hold = (limit: bigint, more: Partial<Hold> = {}): Hold => ({
        resource: `thing:${lastResource}`,
        quantity: 1n,
        limit,
        refusal: { code: 'sold_out', detail: 'none left' },
        ...more,
      })
      const heldOf = async (resource: string) =>
        (await createHoldReader(store.db).held([resource])).reduce((sum, { quantity }) => sum + quantity, 0n)

      test('F-03: the last five of a thing go to five of a hundred', async () => {
        lastResource++
        const holds = [hold(5n, { keptWhenDelivered: true })]
        const outcomes = await Promise.all(Array.from({ length: 100 }, () => open({}, { holds })))
        assert.equal(outcomes.filter(({ kind }) => kind === 'opened').length, 5)
        assert.equal(outcomes.filter((outcome) => refusalOf(outcome) === 'sold_out').length, 95)
        assert.equal(await heldOf(holds[0]!.resource), 5n)
      })

      test('what was refused leaves nothing: not the identity, not the other holds', async () => {
        verifies('D5.7')
        lastResource++
        const free = hold(10n, { resource: `free:${lastResource}` })
        const identities = [`refused:${lastResource}`]
        const refused = await open({ identities }, { holds: [free, hold(0n)] })
        assert.equal(refusalOf(refused), 'sold_out')
        assert.equal(await heldOf(free.resource), 0n)
        assert.equal((await open({ identities }, { holds: [free] })).kind, 'opened')
      })

      test('a payment that is known hears of its order though the shelf is empty by now', async () => {
        lastResource++
        const holds = [hold(1n)]
        const first = await opened({ identities: [`emptied:${lastResource}`] }, { holds })
        const again = await open({ identities: [`emptied:${lastResource}`] }, { holds })
        assert.equal(again.kind === 'known' && again.order.id, first.order.id)
      })

      for (const [ending, left] of [
        ['expired', 0n],
        ['failed', 0n],
        ['confirmed', 1n],
      ] as const) {
        test(`${ending}: what is held afterwards is ${left} of what was sold, and nothing of what was locked`, async () => {
          lastResource++
          const sold = hold(9n, { keptWhenDelivered: true })
          const locked = hold(9n, { resource: `lock:${lastResource}` })
          const held = await opened({}, { holds: [sold, locked] })
          const [before] = [...(await createHoldReader(store.db).versions([locked.resource])).values()]
          const path = pathTo[ending]
          const almost = await walk(held, path.slice(0, -1))
          const release = ending === 'confirmed' ? 'unkept' : 'all'
          await apply(almost, { ...changeTo(ending), release, isLast: isFinal(ending) })
          assert.equal(await heldOf(sold.resource), left)
          assert.equal(await heldOf(locked.resource), 0n)
          const [after] = [...(await createHoldReader(store.db).versions([locked.resource])).values()]
          assert.equal(after! - before!, 1n)
        })
      }

      test('a limit that was read before a hold ended is stale, and said to be', async () => {
        lastResource++
        const first = await opened({}, { holds: [hold(1n)] })
        const seenVersion = 0n
        const early = await open({}, { holds: [hold(1n, { seenVersion })] })
        assert.deepEqual([early.kind, early.kind === 'refused' && early.isStale], ['refused', false])
        await apply(first, { ...changeTo('expired'), release: 'all' })
        const stale = await open({}, { holds: [hold(1n, { seenVersion })] })
        assert.deepEqual([stale.kind, stale.kind === 'refused' && stale.isStale], ['refused', true])
        assert.equal((await open({}, { holds: [hold(1n, { seenVersion: 1n })] })).kind, 'opened')
      })

      test('what is known to be used counts, whatever our own rows say', async () => {
        lastResource++
        assert.equal(refusalOf(await open({}, { holds: [hold(5n, { used: 5n })] })), 'sold_out')
        assert.equal((await open({}, { holds: [hold(5n, { used: 4n })] })).kind, 'opened')
        assert.equal(refusalOf(await open({}, { holds: [hold(5n)] })), 'sold_out')
      })
    })

    test('C-03: nothing but the refund is signed for an order that was given up', async () => {
      const journal = createJournal(store.db)
      const version = {
        raw: '0x',
        hash: HASH,
        fees: { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n },
      } as const
      let nonce = 0
      const send = (lease: Lease, orderId: string, step: string, seen = 0) =>
        journal.record(
          lease,
          {
            chainId: engine === 'embedded' ? 1 : 2,
            signer: ADDRESS,
            nonce: nonce++,
            orderId,
            step,
            call: { to: ADDRESS, data: '0x', gas: 1n },
            versions: [version],
            landing: null,
          },
          seen,
        )
      for (const status of statuses) {
        const { order, lease } = await walk(await opened(), pathTo[status])
        const isGivenUp = ['failed', 'refunding', 'refunded', 'expired'].includes(status)
        if (isGivenUp) await assert.rejects(send(lease, order.id, 'mint'), /given up/)
        else assert.equal(await send(lease, order.id, 'mint'), null)
        assert.equal(await send(lease, order.id, 'refund'), null)
        assert.equal(await send(lease, order.id, 'refund', 1), null)
      }
      // A nonce that has a use already is not an error; the sender takes the next, behind the last.
      const { order, lease } = await opened()
      const lastNonce = nonce - 1
      nonce = 0
      assert.deepEqual(await send(lease, order.id, 'mint'), { kind: 'nonce_taken', lastNonce })
      nonce = lastNonce + 1
      assert.equal(await send(lease, order.id, 'mint'), null)
      assert.deepEqual(await send(lease, order.id, 'mint'), { kind: 'step_taken' })
    })
  })
}
