import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { settingsOf } from '../../src/config/settings.ts'
import type { Service } from '../../src/service/service.ts'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator } from './desk.ts'

// The machine room, the players and the shelf as the console sees them.

type Json = Record<string, unknown>

describe('the machine room', () => {
  let shop: TestShop
  let other: Service
  before(async () => {
    shop = await startShop()
    const finding = { area: 'shop', what: 'health', severity: 'ok', detail: 'ready', fix: null }
    other = await shop.replica({ doctor: async () => ({ grade: 'A', next: null, findings: [finding] }) })
  })
  after(() => shop.stop())

  async function ask<Answer = Json>(path: string, init?: RequestInit, status = 200, url = shop.url): Promise<Answer> {
    const response = await asOperator({ ...shop, url }, path, init)
    assert.equal(response.status, status, `${path}: ${await response.clone().text()}`)
    return (await response.json()) as Answer
  }

  type System = {
    version: string
    replicas: (Json & { id: string; isSelf: boolean; rpc: { chainId: number; ms: number }[]; eventLoop: Json })[]
    migrations: { count: number; last: string }
    settings: { option: string; origin: string; shown: string | null }[]
    pauses: Json[]
    queue: { kind: string }[]
    limits: Json
  }

  test('every replica is there with how it is, and one that has left is not', async () => {
    await until(async () => (await ask<System>('/operator/system')).replicas.length === 2)
    await shop.service.operations.lookout.look()
    const { replicas, migrations, version, limits } = await ask<System>('/operator/system')
    assert.equal(replicas.filter(({ isSelf }) => isSelf).length, 1)
    const self = replicas.find(({ isSelf }) => isSelf)!
    assert.deepEqual(self.rpc.map(({ chainId }) => chainId).sort(), [42431, 84532])
    assert.ok('p99Ms' in self.eventLoop)
    const { rows } = await shop.store.db.query<{ name: string }>('select name from schema_migrations order by name')
    assert.deepEqual(migrations, { count: rows.length, last: rows.at(-1)!.name })
    assert.match(version, /^\d+\.\d+\.\d+/)
    assert.equal(limits['refundsPerDay'], shop.config.limits.refundsPerDay.toString())
    const leaving = await shop.replica()
    await until(async () => (await ask<System>('/operator/system')).replicas.length === 3)
    await leaving.stop()
    assert.equal((await ask<System>('/operator/system')).replicas.length, 2)
  })

  test('options are told with where they come from, and no secret among them', async () => {
    verifies('D17.25')
    const secret = 'wh4t-nobody-may-read-0123456789abcdef'
    const env = {
      PORT: '4999',
      SUTLER_OPERATOR_TOKEN: secret,
      DATABASE_URL: `postgres://shop:${secret}@db.example/shop`,
      SUTLER_LOG: 'debug',
      SUTLER_BASE_URL: `https://user:${secret}@shop.example/path/${secret}`,
      SUTLER_SERVICE_NAME: secret,
      SUTLER_BLOCKED_PAYERS: '0x00000000000000000000000000000000000000aa',
    }
    const settings = settingsOf(env, Object.keys(env).concat('SUTLER_DB_POOL'))
    assert.doesNotMatch(JSON.stringify(settings), new RegExp(secret))
    const shown = new Map(settings.map((one) => [one.option, one]))
    assert.deepEqual(shown.get('SUTLER_LOG'), { option: 'SUTLER_LOG', origin: 'set', shown: 'debug' })
    assert.deepEqual(shown.get('SUTLER_DB_POOL'), { option: 'SUTLER_DB_POOL', origin: 'default', shown: null })
    assert.equal(shown.get('SUTLER_BASE_URL')?.shown, 'https://shop.example')
    assert.equal(shown.get('SUTLER_BLOCKED_PAYERS')?.shown, env.SUTLER_BLOCKED_PAYERS)
    for (const option of ['SUTLER_OPERATOR_TOKEN', 'DATABASE_URL', 'SUTLER_SERVICE_NAME'])
      assert.deepEqual(shown.get(option), { option, origin: 'set', shown: null })
    const loaded = loadConfig({ PORT: '4999' })
    assert.ok(loaded.mode === 'sandbox' && loaded.common.settings.some(({ option }) => option === 'SUTLER_DATA_DIR'))
    const told = JSON.stringify(await ask('/operator/system'))
    for (const key of ['minter', 'treasury'] as const) assert.doesNotMatch(told, new RegExp(`"${key}Key"`))
    assert.ok(!told.includes(shop.config.operatorToken!.reveal()))
  })

  test('the doctor comes where the shop was started with one, and the asking is a deed', async () => {
    await ask('/operator/doctor', post({}), 404)
    const report = await ask<Json & { findings: Json[] }>('/operator/doctor', post({}), 200, other.url)
    assert.deepEqual([report['grade'], report.findings.length], ['A', 1])
    const { rows } = await shop.store.db.query(`select from events where data ->> 'deed' = 'doctor.asked'`)
    assert.equal(rows.length, 1)
  })

  test('players are paged, found by name and wallet, and shown with what they have', async () => {
    type Page = { players: { playerId: string; nickname: string; wallets: string[] }[]; next: string | null }
    await shop.store.db.query(
      `insert into players (id, nickname, created_at)
       select 'ply_' || i, 'crowd ' || i, timestamptz '2026-01-01T00:00:00Z' from generate_series(1, 23) i`,
    )
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const page = await ask<Page>(`/operator/players?limit=5${cursor}`)
      seen.push(...page.players.map(({ playerId }) => playerId))
      if (page.next === null) break
      cursor = `&cursor=${page.next}`
    }
    const { rows } = await shop.store.db.query<{ id: string }>('select id from players order by created_at, id')
    assert.deepEqual(
      seen,
      rows.map(({ id }) => id),
    )
    const buyer = await fundedWallet(shop)
    await ask('/operator/players', post({ nickname: 'Nell', address: buyer.address }), 201)
    for (const q of ['nel', buyer.address, buyer.address.toLowerCase()])
      assert.deepEqual(
        (await ask<Page>(`/operator/players?q=${q}`)).players.map(({ nickname }) => nickname),
        ['Nell'],
      )
    const body = post({ itemId: 'keys:5', quantity: 3, nickname: 'Nell' })
    assert.equal((await x402Payer(buyer)(`${shop.url}/shop/x402/buy`, body)).status, 200)
    await ask('/operator/discounts', post({ itemId: 'keys:5', nickname: 'Nell', percent: 10 }))
    type Player = { playerId: string; wallets: string[]; inventory: Json[]; discounts: Json[]; purchases: Json[] }
    const nell = await ask<Player>('/operator/players/Nell')
    assert.deepEqual(nell.inventory, [{ itemId: 'keys:5', name: 'Five Keys', quantity: 3 }])
    assert.deepEqual(nell.discounts, [{ itemId: 'keys:5', percent: 10 }])
    assert.deepEqual(
      nell.purchases.map(({ item, quantity, status }) => [item, quantity, status]),
      [['keys:5', 3, 'confirmed']],
    )
    const path = `/operator/players/${nell.playerId}/wallets/${buyer.address.toLowerCase()}`
    assert.deepEqual((await ask<Player & Json>(path, { method: 'DELETE' }))['wallets'], [])
    assert.equal((await ask<Json>(path, { method: 'DELETE' }))['did'], 'nothing')
    assert.equal((await ask<Player>(`/operator/players/${nell.playerId}`)).inventory.length, 1)
    await ask('/operator/players/nobody', {}, 404)
  })

  test('of two who change the same item at once the second is shown what the first did', async () => {
    verifies('D17.24')
    type Item = { id: string; price: string; version: string }
    const item = async () =>
      (await ask<{ items: Item[] }>('/operator/items')).items.find(({ id }) => id === 'lantern:1')!
    const change = (price: string, version: string, status: number) =>
      ask<Json & { now?: Json }>('/operator/items/lantern:1', post({ price }, { 'if-match': `"${version}"` }), status)
    const { version } = await item()
    await change('0.81', version, 200)
    const refused = await change('0.82', version, 409)
    assert.deepEqual([refused['code'], refused.now!['price']], ['changed_meanwhile', '0.81'])
    assert.equal((await item()).price, '0.81')
    await change('0.80', (await item()).version, 200)
    assert.equal((await item()).version, version, 'the same words are the same version')
    await ask('/operator/items/lantern:1', post({ price: '0.80' }))

    const [good] = (await ask<{ prices: (Json & { good: string; version: string })[] }>('/operator/prices')).prices
    await ask(`/operator/prices/${good!.good}`, post({ price: '0.5' }, { 'if-match': good!.version }))
    await ask(`/operator/prices/${good!.good}`, post({ price: '0.6' }, { 'if-match': good!.version }), 409)
    const { lots } = await ask<{ lots: { saleId: number; version: string }[] }>('/operator/lots')
    const path = `/operator/lots/${lots[0]!.saleId}`
    await ask(path, post({ hidden: true }, { 'if-match': lots[0]!.version }))
    await ask(path, post({ hidden: false }, { 'if-match': lots[0]!.version }), 409)
  })
})
