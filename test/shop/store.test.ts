import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemRandom } from '../../src/base/id.ts'
import { createSandboxPlayers, seedSandboxGame } from '../../src/sandbox/players.ts'
import type { Database } from '../../src/store/db.ts'
import { createGameCalls, type GameCall } from '../../src/store/game/calls.ts'
import { createItems } from '../../src/store/game/items.ts'
import { createPlayers } from '../../src/store/game/players.ts'
import { engines, openStore, type TestStore } from '../support/database.ts'
import { leaseOn } from '../support/lease.ts'

for (const engine of engines) {
  describe(`the embedded game on the ${engine} engine`, () => {
    let store: TestStore
    before(async () => {
      store = await openStore(engine)
    })
    after(() => store.drop())

    const count = async (table: string) =>
      Number((await store.db.query<{ n: string }>(`select count(*) as n from ${table}`)).rows[0]!.n)
    const counts = async () =>
      Promise.all(['items', 'players', 'player_wallets', 'discounts'].map((table) => count(table)))
    const stockOf = async (id: string) =>
      (
        await store.db.query<{ stock: string; delivered: string }>('select stock, delivered from items where id = $1', [
          id,
        ])
      ).rows[0]!
    const addItem = (id: string, stock: number | null) =>
      store.db.query(`insert into items (id, name, description, price, stock) values ($1, '', '', 1, $2)`, [id, stock])
    const grant = (orderId: string, itemId: string, quantity = 1) => ({
      orderId,
      playerId: 'ply_ada',
      itemId,
      quantity,
    })

    test('a seeding that dies half way leaves nothing, and the next one does the whole', async () => {
      let statements = 0
      const dying: Database = {
        ...store.db,
        transaction: (work, options) =>
          store.db.transaction(
            (tx) =>
              work({
                ...tx,
                query(sql, values) {
                  if (++statements === 3) throw new RangeError('killed')
                  return tx.query(sql, values)
                },
              }),
            options,
          ),
      }
      await assert.rejects(seedSandboxGame(dying), RangeError)
      assert.deepEqual(await counts(), [0, 0, 0, 0])
      await seedSandboxGame(store.db)
      assert.deepEqual(await counts(), [6, 6, 6, 2])
    })

    test('an order is delivered once, however often and from however many processes it is asked for', async () => {
      await addItem('once', 10)
      const replica = await store.replica()
      const handles = [createItems(store.db), createItems(replica)]
      const lease = await leaseOn(store.db, 'ord_once')
      const grants = await Promise.all(
        Array.from({ length: 20 }, (_, n) => handles[n % 2]!.grant(lease, grant('ord_once', 'once', 2))),
      )
      assert.equal(new Set(grants.map((given) => given?.grantedAt)).size, 1)
      assert.deepEqual(await stockOf('once'), { stock: '8', delivered: '2' })
      assert.deepEqual(await handles[0]!.granted('ord_once'), grants[0])
      assert.equal(await handles[0]!.granted('ord_other'), null)
    })

    test('a stock that does not reach gives nothing at all', async () => {
      await addItem('scarce', 3)
      const items = createItems(store.db)
      const grants = await Promise.all(
        Array.from({ length: 5 }, async (_, n) =>
          items.grant(await leaseOn(store.db, `ord_s${n}`), grant(`ord_s${n}`, 'scarce', 2)),
        ),
      )
      assert.equal(grants.filter((given) => given !== null).length, 1)
      assert.deepEqual(await stockOf('scarce'), { stock: '1', delivered: '2' })
      const { rows } = await store.db.query<{ n: string }>(
        `select count(*) as n from inventory_ledger where item_id = 'scarce'`,
      )
      assert.equal(rows[0]?.n, '1')
    })

    test('a wallet belongs to one player at a time, and a nickname to one player for ever', async () => {
      const players = createPlayers(store.db)
      const sandbox = createSandboxPlayers(store.db, systemRandom)
      const address = '0x00000000000000000000000000000000000000aB' as const
      const first = await sandbox.create({ nickname: 'Zoe\u0308', address })
      const again = await sandbox.create({ nickname: 'Zo\u00eb', address })
      assert.deepEqual(again, first)
      const found = await players.find('address', address.toUpperCase().replace('0X', '0x'))
      assert.deepEqual([found?.nickname, found?.wallets.length], ['Zo\u00eb', 1])
      await sandbox.create({ nickname: 'Max', address })
      assert.equal((await players.find('address', address))?.nickname, 'Max')
      assert.deepEqual((await players.find('nickname', 'Zo\u00eb'))?.wallets, [])
      assert.ok((await sandbox.list()).some(({ nickname, address }) => nickname === 'Demo' && address !== null))
    })

    test('of two senders of the same order one may send, and only from where it looked', async () => {
      const calls = createGameCalls(store.db)
      assert.equal(await calls.find('ord_call'), null)
      const lease = await leaseOn(store.db, 'ord_call')
      const begin = (sentAt: number, seen: GameCall | null) => calls.begin(lease, { orderId: 'ord_call', sentAt, seen })
      const began = await Promise.all(Array.from({ length: 5 }, (_, n) => begin(1_000 + n, null)))
      assert.equal(began.filter(Boolean).length, 1)
      const seen = await calls.find('ord_call')
      const next = await Promise.all(Array.from({ length: 5 }, (_, n) => begin(2_000 + n, seen)))
      assert.equal(next.filter(Boolean).length, 1)
      // Only the very request that never left is withdrawn.
      await calls.withdraw('ord_call', 1_000)
      assert.notEqual(await calls.find('ord_call'), null)
    })
  })
}
