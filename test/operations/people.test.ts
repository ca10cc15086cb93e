import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { mayAct, type Role, roles } from '../../src/domain/operator.ts'
import { movableClock } from '../checkout/counter.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator } from './desk.ts'
import {
  type Added,
  addOperator,
  audit,
  codeOf,
  enter,
  joined,
  PAGE,
  tokenIn,
  type Visitor,
  visitor,
} from './people-desk.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

async function drained(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += Buffer.from(value).toString()
  }
}

describe('the door', () => {
  test('a link lets one person in, once, and the cookie is for our own pages only', async () => {
    verifies('D17.7', 'O-08')
    const added = await addOperator(shop, 'Ada', 'viewer')
    const response = await enter(shop.url, { token: tokenIn(added) })
    assert.equal(response.status, 200)
    const cookie = response.headers.get('set-cookie')!
    for (const word of ['HttpOnly', 'SameSite=Strict', 'Path=/', 'Max-Age=43200'])
      assert.ok(cookie.includes(word), word)
    assert.deepEqual((await response.json()) as object, {
      operator: { id: added.id, name: 'Ada', role: 'viewer', via: 'console' },
      session: (await audit(shop, '&deed=session.begun'))[0]!.about.id,
    })
    const me = visitor(shop.url, added, cookie.split(';')[0]!)
    const answer = (await (await me.call('GET', '/operator/me')).json()) as { operator: object; may: object }
    assert.deepEqual(answer.operator, { id: added.id, name: 'Ada', role: 'viewer', via: 'console' })
    assert.equal(await codeOf(await enter(shop.url, { token: tokenIn(added) })), '401 sign_in_refused')
  })

  test('a link that ran out, of a revoked operator, of another shop, or made up opens nothing, and all are told the same', async () => {
    verifies('D17.9', 'O-08')
    const old = await addOperator(shop, 'Old', 'admin')
    await shop.store.db.query(`update operator_tokens set expires_at = now() where operator_id = $1`, [old.id])
    const gone = await addOperator(shop, 'Gone', 'support')
    assert.equal((await asOperator(shop, `/operator/operators/${gone.id}/revoke`, post({}))).status, 200)
    const foreign = `sln_${'A'.repeat(43)}`
    const told = await Promise.all(
      [tokenIn(old), tokenIn(gone), foreign, 'nonsense'].map(async (token) => {
        const { requestId: _, ...body } = (await (await enter(shop.url, { token })).json()) as Record<string, unknown>
        return JSON.stringify(body)
      }),
    )
    assert.equal(new Set(told).size, 1, told.join('\n'))
  })

  test('however often a neighbour, or a thief of an old link, fails, a good link and a good token let in', async () => {
    verifies('D17.9', 'O-08')
    const replica = await shop.replica({
      configure: ({ limits, ...config }) => ({ ...config, limits: { ...limits, rate: { ...limits.rate, read: 5 } } }),
    })
    const ada = await addOperator(shop, 'Patient', 'viewer', true)
    const again = await asOperator(shop, `/operator/operators/${ada.id}/link`, post({}))
    const old = tokenIn((await again.json()) as Added)
    assert.equal(await codeOf(await enter(shop.url, { token: old })), '200')
    const tries = Array.from({ length: 50 }, (_, index) =>
      enter(replica.url, { token: index % 2 ? old : `sln_${String(index).padStart(43, 'x')}` }).then(codeOf),
    )
    const codes = Map.groupBy(await Promise.all(tries), (code) => code)
    assert.deepEqual([codes.get('401 sign_in_refused')?.length, codes.get('429 rate_limited')?.length], [5, 45])
    for (const token of [tokenIn(ada), ada.token!.token]) {
      const look = await fetch(`${replica.url}/operator/session/look`, post({ token }, PAGE))
      assert.equal(look.status, 200)
      assert.equal((await enter(replica.url, { token })).status, 200)
    }
  })

  test('what a browser held before opens nothing afterwards', async () => {
    verifies('O-08')
    const ada = await joined(shop, 'Fixed', 'viewer')
    const link = await asOperator(shop, `/operator/operators/${ada.id}/link`, post({}))
    const token = tokenIn((await link.json()) as { link: { url: string; expiresAt: string } })
    const again = await enter(shop.url, { token }, { ...PAGE, cookie: ada.cookie })
    const fresh = again.headers.get('set-cookie')!.split(';')[0]!
    assert.notEqual(fresh, ada.cookie)
    assert.equal(await codeOf(await ada.call('GET', '/operator/me')), '401 operator_only')
    assert.equal((await visitor(shop.url, ada, fresh).call('GET', '/operator/me')).status, 200)
    const planted = await enter(shop.url, { token: 'x' }, { ...PAGE, cookie: 'sutler=sse_chosen-by-somebody-else' })
    assert.equal(planted.status, 401)
  })
})

describe('a session', () => {
  let admin: Visitor
  before(async () => {
    admin = await joined(shop, 'Root', 'admin')
  })

  test('no other page can use it: not from elsewhere, not without our header, not as a form, not with a token beside it', async () => {
    verifies('D17.1', 'D17.8', 'O-07')
    const token = shop.config.operatorToken!.reveal()
    const wrong: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'x-sutler': '' },
      { 'x-sutler': 'background' },
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { authorization: `Bearer ${token}` },
      { authorization: 'Basic abc' },
    ]
    const before = (await audit(shop)).length
    for (const headers of wrong)
      for (const [method, path] of [
        ['POST', '/operator/operators'],
        ['DELETE', '/operator/session'],
      ] as const) {
        const answer = await admin.call(method, path, { name: 'Mallory', role: 'admin' }, headers)
        assert.equal(await codeOf(answer), '403 not_from_console', JSON.stringify(headers))
      }
    const bearer = { authorization: `Bearer ${token}` }
    assert.equal(await codeOf(await admin.call('GET', '/operator/me', undefined, bearer)), '403 not_from_console')
    assert.equal((await audit(shop)).length, before, 'and nothing was done')
  })

  test('where a browser does not say where it comes from, its origin counts', async () => {
    verifies('D17.8', 'O-07')
    const { 'sec-fetch-site': _, ...old } = PAGE
    const link = await addOperator(shop, 'Oldie', 'viewer')
    const from = (origin: string) => enter(shop.url, { token: tokenIn(link) }, { ...old, origin })
    for (const origin of ['https://evil.example', 'null', `${shop.url}.evil.example`])
      assert.equal(await codeOf(await from(origin)), '403 not_from_console', origin)
    assert.equal(await codeOf(await enter(shop.url, { token: tokenIn(link) }, old)), '403 not_from_console')
    assert.equal((await from(new URL(shop.url).origin)).status, 200)
  })

  test('of one replica is one of all; ended at one, it is over at all', async () => {
    verifies('D17.7', 'O-08')
    const replica = await shop.replica()
    const ada = await joined(shop, 'Wanderer', 'viewer')
    const there = visitor(replica.url, ada, ada.cookie)
    assert.equal((await there.call('GET', '/operator/me')).status, 200)
    const { sessions } = (await (await admin.call('GET', '/operator/sessions')).json()) as {
      sessions: { id: string; name: string; isThis: boolean }[]
    }
    assert.equal(sessions.find(({ isThis }) => isThis)?.name, 'Root')
    const { id } = sessions.find(({ name }) => name === 'Wanderer')!
    assert.equal((await admin.call('DELETE', `/operator/sessions/${id}`, {})).status, 200)
    assert.equal(await codeOf(await there.call('GET', '/operator/me')), '401 operator_only')
  })

  test('ends by signing out, when idle for an hour, after twelve hours, with another role and with a revocation', async () => {
    verifies('D17.7', 'O-08')
    const endings: Record<string, (one: Visitor) => Promise<unknown>> = {
      'signing out': (one) => one.call('DELETE', '/operator/session', {}),
      idle: ({ id }) =>
        shop.store.db.query(
          `update operator_sessions set seen_at = seen_at - interval '1 hour' where operator_id = $1`,
          [id],
        ),
      'twelve hours': ({ id }) =>
        shop.store.db.query(
          `update operator_sessions set expires_at = expires_at - interval '12 hours' where operator_id = $1`,
          [id],
        ),
      'another role': ({ id }) => admin.call('POST', `/operator/operators/${id}/role`, { role: 'support' }),
      revoked: ({ id }) => admin.call('POST', `/operator/operators/${id}/revoke`, {}),
    }
    for (const [how, end] of Object.entries(endings)) {
      const one = await joined(shop, `Ends by ${how}`, 'viewer')
      assert.equal((await one.call('GET', '/operator/me')).status, 200, how)
      await end(one)
      assert.equal(await codeOf(await one.call('GET', '/operator/me')), '401 operator_only', how)
    }
  })

  test('speaks for its own operator only, whatever the body says', async () => {
    verifies('O-11')
    const item = (id: string, more: object) => ({ id, name: id, price: '1.00', ...more })
    const lied = await admin.call('POST', '/operator/items', item('lie:1', { by: 'somebody else' }))
    assert.equal(await codeOf(lied), '400 invalid_request')
    assert.equal((await admin.call('POST', '/operator/items', item('own:1', {}))).status, 201)
    assert.equal((await admin.call('POST', '/operator/items', item('own:2', { by: 'Root' }))).status, 201)
    await asOperator(shop, '/operator/items', post(item('token:1', { by: 'mara' })))
    const told = await audit(shop, '&deed=item.added')
    assert.deepEqual(
      told.map(({ about, who, operatorId, via }) => [about.id, who, operatorId === admin.id, via]),
      [
        ['token:1', 'mara', false, 'token'],
        ['own:2', 'Root', true, 'console'],
        ['own:1', 'Root', true, 'console'],
      ],
    )
  })

  test('of an event stream ends with it, at the next heartbeat', async () => {
    verifies('D17.7', 'O-08')
    const clock = movableClock()
    const replica = await shop.replica({ clock })
    const ada = await joined(shop, 'Listener', 'viewer')
    const response = await visitor(replica.url, ada, ada.cookie).call('GET', '/events', undefined, {
      accept: 'text/event-stream',
    })
    assert.equal(response.status, 200)
    const reader = response.body!.getReader()
    await reader.read()
    clock.move(15_000)
    assert.match(Buffer.from((await reader.read()).value!).toString(), /still here/)
    await admin.call('POST', `/operator/operators/${ada.id}/revoke`, {})
    clock.move(15_000)
    assert.equal(await drained(reader), '', 'nothing more is told')
  })
})

describe('without a console', () => {
  test('there are no sessions: neither can one begin, nor does an old one open anything, and tokens go on', async () => {
    verifies('D17.1')
    const ada = await joined(shop, 'Switched off', 'admin')
    const replica = await shop.replica({
      configure: (config) => ({ ...config, operators: { ...config.operators, console: false } }),
    })
    const there = visitor(replica.url, ada, ada.cookie)
    assert.equal(await codeOf(await there.call('GET', '/operator/me')), '401 operator_only')
    assert.equal(await codeOf(await enter(replica.url, { token: 'x' })), '404 route_not_found')
    const token = await asOperator(
      { ...shop, url: replica.url },
      '/operator/operators',
      post({ name: 'By token', role: 'viewer' }),
    )
    const { link, token: given } = (await token.json()) as { link: null; token: { token: string } }
    assert.equal(link, null)
    const me = await fetch(`${replica.url}/operator/me`, { headers: { authorization: `Bearer ${given.token}` } })
    assert.equal(me.status, 200)
  })

  test('and without a token in the configuration, people alone run it, beginning with the first', async () => {
    const admins = await shop.store.db.query<{ id: string }>(
      `update operators set role = 'viewer' where role = 'admin' returning id`,
    )
    const replicas = await Promise.all(
      [1, 2].map(() => shop.replica({ configure: (config) => ({ ...config, operatorToken: null }) })),
    )
    const links = await Promise.all(replicas.map((replica) => replica.firstLink()))
    const printed = links.filter((link) => link !== null)
    assert.equal(printed.length, 1, 'of replicas that start at once, one prints a link')
    const [, token = ''] = /#(.*)&first$/.exec(printed[0]!) ?? []
    const { url } = replicas[0]!
    assert.equal(await codeOf(await asOperator({ ...shop, url }, '/operator/me')), '401 operator_only', 'no token')
    const both = await Promise.all([1, 2].map(() => enter(url, { token, name: 'Founder' }).then(codeOf)))
    assert.deepEqual(both.toSorted(), ['200', '401 sign_in_refused'], 'there is one first')
    assert.equal(await replicas[1]!.firstLink(), null, 'and no link any more')
    await shop.store.db.query(`update operators set role = 'admin' where id = any ($1)`, [
      admins.rows.map(({ id }) => id),
    ])
  })
})

describe('roles', () => {
  test('each route refuses every role below its own, and reading is for all whom it names', async () => {
    verifies('D17.5', 'O-11')
    const people = new Map<Role, Visitor>()
    for (const role of roles) people.set(role, await joined(shop, `Role ${role}`, role))
    const rows = shop.service.operatorRoutes.filter(({ role }) => role !== null)
    assert.ok(rows.length > 40, `${rows.length}`)
    for (const { method, path, role: needed } of rows) {
      const at = path.replaceAll(/\{\w+\}/g, 'nothing')
      for (const [role, visitor] of people) {
        const isRefused = !mayAct(role, needed!)
        if (!isRefused && method !== 'GET') continue
        const response = await visitor.call(method, at, method === 'GET' ? undefined : {})
        const code = response.ok ? '' : ((await response.json()) as { code: string }).code
        if (response.ok) await response.body?.cancel()
        assert.equal(code === 'role_too_low', isRefused, `${method} ${path} as ${role}: ${response.status} ${code}`)
        if (isRefused) assert.equal(response.status, 403)
      }
    }
  })

  test('a personal token has its owner’s role, ends with them, and is no session', async () => {
    verifies('D17.5')
    const { id, token } = await addOperator(shop, 'Scripted', 'viewer', true)
    const call = (path: string, init: RequestInit = {}) =>
      fetch(shop.url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token!.token}` } })
    const me = (await (await call('/operator/me')).json()) as { operator: object }
    assert.deepEqual(me.operator, { id, name: 'Scripted', role: 'viewer', via: 'token' })
    assert.equal(
      await codeOf(await call('/operator/operators', post({ name: 'X', role: 'admin' }))),
      '403 role_too_low',
    )
    await asOperator(shop, `/operator/operators/${id}/role`, post({ role: 'admin' }))
    assert.equal((await call('/operator/sessions')).status, 200, 'the role of now')
    await asOperator(shop, `/operator/operators/${id}/revoke`, post({}))
    assert.equal(await codeOf(await call('/operator/me')), '401 operator_only')
  })

  test('there is always an admin, also when the last two revoke each other at once', async () => {
    verifies('D17.5')
    const { rows } = await shop.store.db.query<{ id: string }>(
      `select id from operators where role = 'admin' and state = 'active'`,
    )
    const act = (id: string, what: string) =>
      asOperator(shop, `/operator/operators/${id}/${what}`, post(what === 'role' ? { role: 'viewer' } : {})).then(
        codeOf,
      )
    const codes = await Promise.all(rows.map(({ id }, index) => act(id, index % 2 ? 'role' : 'revoke')))
    assert.equal(codes.filter((code) => code === '400 invalid_request').length, 1, codes.join(', '))
    assert.equal(codes.filter((code) => code === '200').length, rows.length - 1)
  })

  test('names are not told apart by their letters’ size, and those that mean something else are refused', async () => {
    await addOperator(shop, 'Zoë', 'viewer')
    for (const name of ['zoë', 'Automatic', 'OPERATOR', 'sandbox', 'a\u202eb', ''])
      assert.equal(
        await codeOf(await asOperator(shop, '/operator/operators', post({ name, role: 'viewer' }))),
        '400 invalid_request',
        name,
      )
  })
})
