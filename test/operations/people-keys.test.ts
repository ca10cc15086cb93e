import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { checkProxy } from '../../src/cli/doctor/proxy.ts'
import { typed } from '../cli/typed.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator, buy } from './desk.ts'
import { addOperator, audit, codeOf, enter, joined, signIn, type Visitor, visitor } from './people-desk.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

type Made = { readonly id: string; readonly name: string; readonly token: string; readonly expiresAt: string }
type Listed = Omit<Made, 'token'> & { readonly operator: string; readonly usedAt: string | null }

const DAY_MS = 86_400_000
const bearer = (token: string, path = '/operator/me', init: RequestInit = {}) =>
  fetch(shop.url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })
const make = async (by: Visitor, body: object = {}) =>
  (await (await by.call('POST', '/operator/tokens', body)).json()) as Made
const listed = async (by: Visitor, query = '') =>
  ((await (await by.call('GET', `/operator/tokens${query}`)).json()) as { tokens: Listed[] }).tokens

describe('a personal token', () => {
  let ada: Visitor
  let root: Visitor
  before(async () => {
    ada = await joined(shop, 'Ada', 'support')
    root = await joined(shop, 'Root', 'admin')
  })

  test('is listed by name, use and end, and never by what it is; only an admin sees those of others', async () => {
    verifies('D17.11')
    const made = await make(ada, { name: 'Laptop', days: 7 })
    const days = (Date.parse(made.expiresAt) - Date.now()) / DAY_MS
    assert.ok(days > 6.9 && days < 7.1, `${days}`)
    const answer = await (await ada.call('GET', '/operator/tokens')).text()
    assert.ok(!answer.includes(made.token) && !answer.includes('spt_'), answer)
    const [own] = await listed(ada)
    assert.deepEqual([own!.id, own!.name, own!.operator, own!.usedAt], [made.id, 'Laptop', 'Ada', null])
    assert.equal((await bearer(made.token)).status, 200)
    await until(async () => (await listed(ada))[0]!.usedAt !== null)
    assert.deepEqual(
      (await listed(root, `?of=${ada.id}`)).map(({ id }) => id),
      [made.id],
    )
    assert.ok((await listed(root, '?of=all')).some(({ id }) => id === made.id))
    assert.deepEqual(await listed(root), [], 'her own')
    for (const query of ['?of=all', `?of=${root.id}`])
      assert.equal(await codeOf(await ada.call('GET', `/operator/tokens${query}`)), '403 role_too_low')
  })

  test('is good for 90 days unless told, and for a year at most', async () => {
    verifies('D17.11')
    const { expiresAt } = await make(ada)
    const days = (Date.parse(expiresAt) - Date.now()) / DAY_MS
    assert.ok(days > 89.9 && days < 90.1, `${days}`)
    for (const wrong of [0, 366, 1.5, -1])
      assert.equal(await codeOf(await ada.call('POST', '/operator/tokens', { days: wrong })), '400 invalid_request')
  })

  test('ends when it is revoked, with each session that it let in; by its owner or an admin, and nobody else', async () => {
    verifies('D17.11', 'O-08')
    const replica = await shop.replica()
    const { id, token } = await make(ada, { name: 'Lost' })
    const thief = await signIn(shop, token)
    const there = visitor(replica.url, thief, thief.cookie)
    assert.equal((await there.call('GET', '/operator/me')).status, 200)
    const nosy = await joined(shop, 'Nosy', 'support')
    assert.equal(await codeOf(await nosy.call('DELETE', `/operator/tokens/${id}`, {})), '404 operator_not_found')
    assert.equal((await bearer(token)).status, 200)
    assert.equal((await root.call('DELETE', `/operator/tokens/${id}`, {})).status, 200)
    assert.equal(await codeOf(await bearer(token)), '401 operator_only')
    assert.equal(await codeOf(await there.call('GET', '/operator/me')), '401 operator_only')
    assert.equal(await codeOf(await enter(shop.url, { token })), '401 sign_in_refused')
    assert.equal((await ada.call('GET', '/operator/me')).status, 200, 'her own session goes on')
    assert.equal(await codeOf(await ada.call('DELETE', `/operator/tokens/${id}`, {})), '404 operator_not_found')
    const [entry] = await audit(shop, `&about=${id}`)
    assert.deepEqual(
      [entry!.deed, entry!.who, entry!.before, entry!.after],
      ['token.revoked', 'Root', { operatorId: ada.id, name: 'Lost' }, { sessionsEnded: 1 }],
    )
  })

  test('lets nobody stay at the console for longer than it lasts', async () => {
    verifies('D17.11')
    const { id, token } = await make(ada, { days: 1 })
    await shop.store.db.query(`update operator_tokens set expires_at = now() + interval '1 hour' where id = $1`, [id])
    const guest = await signIn(shop, token)
    const { sessions } = (await (await root.call('GET', '/operator/sessions')).json()) as {
      sessions: { operatorId: string; beganWith: string; expiresAt: string }[]
    }
    const session = sessions.find(
      ({ operatorId, beganWith }) => operatorId === guest.id && beganWith === 'personal token',
    )
    assert.ok(Date.parse(session!.expiresAt) <= Date.now() + DAY_MS / 24, session!.expiresAt)
  })

  test('makes no other key, nor does a session that it began, nor one in which nobody signed in just now', async () => {
    verifies('D17.12', 'O-08')
    const { token } = await make(ada)
    const begun = await signIn(shop, token)
    const open = await joined(shop, 'Left open', 'admin')
    await shop.store.db.query(
      `update operator_sessions set began_at = began_at - interval '15 minutes' where operator_id = $1`,
      [open.id],
    )
    const path = '/operator/tokens'
    assert.equal(await codeOf(await bearer(token, path, post({}))), '403 not_from_console')
    assert.equal(await codeOf(await begun.call('POST', path, {})), '403 not_from_console')
    assert.equal(await codeOf(await open.call('POST', path, {})), '401 sign_in_again')
    assert.equal((await open.call('GET', '/operator/orders')).status, 200, 'all else goes on')
    assert.equal((await bearer(token, '/operator/orders')).status, 200)
  })

  test('of somebody new is good for as long as the admin says', async () => {
    const { id, token } = await addOperator(shop, 'Bot', 'viewer', true)
    assert.equal((await bearer(token!.token)).status, 200)
    const body = { name: 'Short', role: 'viewer', token: true, tokenDays: 2 }
    const short = (await (await asOperator(shop, '/operator/operators', post(body))).json()) as { token: Made }
    assert.ok(Date.parse(short.token.expiresAt) < Date.now() + 3 * DAY_MS)
    const [own] = await listed(root, `?of=${id}`)
    assert.equal(own!.name, 'First token')
  })
})

describe('what ran out', () => {
  test('is forgotten without waiting for anybody who is at it: two deeds never wait for each other', async () => {
    verifies('O-14')
    const { db } = shop.store
    const old = await joined(shop, 'Long gone', 'viewer')
    await db.query(`update operator_tokens set expires_at = now() - interval '1 year' where operator_id = $1`, [old.id])
    await db.query(`update operator_sessions set expires_at = now() - interval '1 year' where operator_id = $1`, [
      old.id,
    ])
    const tables = ['operator_tokens', 'operator_sessions']
    // As a deed does that has forgotten them and waits for its turn in the audit log.
    await db.transaction(async (tx) => {
      for (const table of tables) await tx.query(`select from ${table} for update`)
      await joined(shop, 'Meanwhile', 'viewer')
      assert.equal(await codeOf(await enter(shop.url, { token: 'x' })), '401 sign_in_refused')
    })
    await joined(shop, 'Afterwards', 'viewer')
    const { rows } = await db.query('select from operator_tokens where operator_id = $1', [old.id])
    assert.equal(rows.length, 0, 'and by the next, when nobody is at them')
  })
})

describe('the address of a receiver', () => {
  test('is told whole to admins only; to others, and wherever it is but mentioned, who it is', async () => {
    verifies('D17.13', 'K-01')
    const admin = await joined(shop, 'Hooker admin', 'admin')
    const secret = 'T000-very-private-B000'
    const url = `https://93.184.215.14/services/${secret}?key=${secret}`
    const made = await admin.call('POST', '/operator/webhooks', { url })
    const { id } = (await made.json()) as { id: string }
    assert.equal(made.status, 201)
    await shop.store.db.query(
      `update webhook_endpoints
       set state = 'disabled', state_reason = 'The receiver answered 410: it is gone.'
       where id = $1`,
      [id],
    )
    const places = [
      '/operator/webhooks',
      '/operator/audit?limit=500',
      `/operator/audit?about=${id}`,
      '/operator/audit?format=csv',
      '/operator/attention',
      `/operator/webhooks/${id}/deliveries`,
      `/operator/search?q=${id}`,
      '/operator/system',
      '/metrics',
      '/events',
    ]
    for (const role of ['viewer', 'support'] as const) {
      const one = await joined(shop, `Hooked ${role}`, role)
      for (const path of places) {
        const response = await one.call('GET', path)
        const text = await response.text()
        assert.equal(response.status, 200, `${path} ${text}`)
        assert.ok(!text.includes(secret), `${path} as ${role}: ${text.slice(0, 400)}`)
      }
      const guessed = await (await one.call('GET', `/operator/search?q=${secret.slice(0, 6)}`)).text()
      assert.ok(!guessed.includes(id), 'nor is it found by guessing')
      const { webhooks } = (await (await one.call('GET', '/operator/webhooks')).json()) as {
        webhooks: { id: string; url: string }[]
      }
      assert.equal(webhooks.find((hook) => hook.id === id)!.url, 'https://93.184.215.14/…')
    }
    for (const path of ['/operator/webhooks', `/operator/audit?about=${id}`])
      assert.ok((await (await admin.call('GET', path)).text()).includes(url), path)
    assert.ok((await (await admin.call('GET', `/operator/search?q=${secret}`)).text()).includes(id))
    await admin.call('DELETE', `/operator/webhooks/${id}`, {})
  })
})

describe('the doctor', () => {
  test('warns when calls come through a proxy that the shop was not told of, or past one that it was', async () => {
    const proxy = createServer(async ({ url, headers }, response) => {
      const sent = { authorization: headers.authorization!, 'x-forwarded-for': '203.0.113.9' }
      const answer = await fetch(shop.url + url, { headers: sent })
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
    await once(proxy.listen(0, '127.0.0.1'), 'listening')
    const { port } = proxy.address() as AddressInfo
    const { http } = shop.config
    const behind = { ...shop.config, http: { ...http, baseUrl: `http://127.0.0.1:${port}` } }
    const found = await checkProxy(behind)
    proxy.close()
    assert.deepEqual([found.area, found.severity], ['shop', 'warn'])
    assert.match(found.detail, /SUTLER_PROXY_HOPS is 0/)
    assert.equal((await checkProxy(shop.config)).severity, 'ok')
    const told = await shop.replica({ configure: (config) => ({ ...config, http: { ...config.http, proxyHops: 1 } }) })
    const past = await checkProxy({ ...shop.config, http: { ...http, baseUrl: told.url } })
    assert.match(past.detail, /without X-Forwarded-For/)
    assert.equal((await checkProxy({ ...shop.config, operatorToken: null })).severity, 'skipped')
    let heard = 0
    const stranger = createServer(({ headers }, response) => {
      heard += headers.authorization === undefined ? 0 : 1
      response.end('{"keys":[]}')
    })
    await once(stranger.listen(0, '127.0.0.1'), 'listening')
    const elsewhere = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    const strange = await checkProxy({ ...shop.config, http: { ...http, baseUrl: elsewhere } })
    stranger.close()
    assert.deepEqual([strange.severity, heard], ['skipped', 0], 'who is not the shop is not told the token')
  })
})

describe('the commands', () => {
  const run = (...args: string[]) =>
    typed(args, { SUTLER_BASE_URL: shop.url, SUTLER_OPERATOR_TOKEN: shop.config.operatorToken!.reveal() })
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(...args)
    assert.equal(code, 0, `sutler ${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const told = async <Answer>(...args: string[]) => JSON.parse(await done(...args, '--json')) as Answer
  type Sales = { rails: string[]; pauses: { rail: string; reason: string; by: string; until: string | null }[] }

  test('pause and resume a protocol or all of them, and say why', async () => {
    verifies('D17.21')
    assert.match((await run('pause', 'x402')).stderr, /say why with --reason/)
    assert.match(await done('pause', 'x402', '--reason', 'no facilitator', '--by', 'mara'), /x402\s+paused.*mara/)
    const { pauses } = await told<Sales>('sales')
    assert.deepEqual(
      pauses.map(({ rail, reason, by, until }) => [rail, reason, by, until]),
      [['x402', 'no facilitator', 'mara', null]],
    )
    const until = new Date(Date.now() + 3_600_000).toISOString()
    const all = await told<Sales>('pause', '--reason', 'stock-taking', '--until', until)
    assert.deepEqual(
      all.pauses.map(({ rail, until }) => [rail, until]).toSorted(),
      all.rails.map((rail) => [rail, until]).toSorted(),
    )
    assert.match(await done('resume', 'mpp'), /mpp\s+sells/)
    assert.deepEqual((await told<Sales>('resume')).pauses, [])
    assert.match((await run('pause', 'cash', '--reason', 'x')).stderr, /nothing is sold on cash/i)
  })

  test('block and unblock a payer, and list them', async () => {
    verifies('D17.22')
    const payer = '0x00000000000000000000000000000000000000B5'
    assert.match((await run('block', payer)).stderr, /say why with --reason/)
    assert.match(await done('block', payer, '--reason', 'stolen'), /is served no more/)
    assert.match(await done('block', payer.toLowerCase(), '--reason', 'again'), /was blocked already, by operator/)
    const { blocks } = await told<{ blocks: { address: string; reason: string }[] }>('blocks')
    assert.deepEqual(
      blocks.filter(({ address }) => address === payer.toLowerCase()).map(({ reason }) => reason),
      ['stolen'],
    )
    assert.match(await done('unblock', payer), /is served again/)
    assert.match(await done('unblock', payer), /was not blocked/)
    assert.equal((await run('block', '0x12', '--reason', 'x')).code, 1)
  })

  test('write beside a purchase, list tokens and end them, and turn a receiver off and on', async () => {
    const buyer = await fundedWallet(shop)
    const { body } = await buy(shop, x402UnderTest, buyer)
    assert.match(await done('notes', body.orderId), /nobody wrote anything/)
    assert.match(await done('notes', body.orderId, 'Wrote to the player'), /operator\s+Wrote to the player/)
    assert.match((await run('notes', 'ord_nothing')).stderr, /no order/i)

    const ines = await joined(shop, 'Ines', 'support')
    const { id, token } = await make(ines, { name: 'Report' })
    assert.match(await done('tokens', 'list', 'ines'), new RegExp(`${id}\\s+Ines\\s+Report\\s+never used`))
    assert.match(await done('tokens', 'list', '--all'), new RegExp(id))
    const own = await typed(['tokens'], { SUTLER_BASE_URL: shop.url, SUTLER_OPERATOR_TOKEN: token })
    assert.match(own.stdout, new RegExp(id))
    assert.match(await done('tokens', 'revoke', id), /lets nobody in any more/)
    assert.equal((await run('tokens', 'revoke', id)).code, 1)

    const added = await told<{ id: string }>('webhooks', 'add', 'https://93.184.215.14/hook')
    assert.match(await done('webhooks', 'disable', added.id, '--reason', 'moving'), /is told nothing for now/)
    assert.match(await done('webhooks', 'list'), /disabled.*moving/)
    assert.match(await done('webhooks', 'enable', added.id), /is told of events again/)
    assert.match((await told<{ secret: string }>('webhooks', 'rotate', added.id)).secret, /^whsec_/)
    assert.match(await done('webhooks', 'replay', added.id, '--all'), /sent again/)
    await done('webhooks', 'remove', added.id)
  })
})
