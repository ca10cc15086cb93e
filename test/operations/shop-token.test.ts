import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { linkByStore } from '../../src/service/people-desk.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator } from './desk.ts'

// The token of the shop itself, as in production. In a sandbox it is an admin, because anybody is one there.

let shop: TestShop
const production = () =>
  startShop({
    configure: (config) => ({
      ...config,
      operators: { ...config.operators, tokenRole: 'viewer', secondPersonFrom: null },
    }),
  })

before(async () => {
  shop = await production()
})
after(() => shop.stop())

type Added = { readonly id: string; readonly token: { readonly token: string } }

const add = (name: string, role: string) => asOperator(shop, '/operator/operators', post({ name, role, token: true }))
const by = (token: string, path: string, init: RequestInit = {}) =>
  fetch(shop.url + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } })

test('O-13: the shop’s own token reads, makes the first admin, and does nothing else', async () => {
  verifies('D17.5')
  for (const path of ['/metrics', '/operator/orders', '/operator/attention'])
    assert.equal((await asOperator(shop, path)).status, 200, path)

  const refusals = async (when: string) => {
    for (const [path, body] of [
      ['/operator/orders/ord_none/refund', { reason: 'mine' }],
      ['/operator/approvals/apr_none/approve', {}],
      ['/operator/items', { id: 'free:1', name: 'Free', price: '0.01' }],
      ['/operator/sales/x402/pause', { reason: 'mine' }],
      ['/operator/operators/opr_none/link', {}],
      ['/operator/operators/opr_none/role', { role: 'admin' }],
    ] as const) {
      const { status, code, detail } = await refusal(await asOperator(shop, path, post(body)))
      assert.deepEqual([status, code], [403, 'role_too_low'], `${path} ${when}`)
      assert.match(detail, /the shop's own token only reads .* Send a personal token/)
    }
  }
  await refusals('while there is no admin')
  for (const role of ['viewer', 'support']) assert.equal((await add('Xen', role)).status, 403, role)

  // Of two who ask at once, one becomes the first.
  const both = await Promise.all([add('Ada', 'admin'), add('Eve', 'admin')])
  assert.deepEqual(both.map(({ status }) => status).toSorted(), [201, 403])
  const ada = (await both.find(({ status }) => status === 201)!.json()) as Added
  await refusals('while there is one')
  assert.equal((await add('Zoe', 'admin')).status, 403)
  assert.equal((await asOperator(shop, '/operator/operators/first', post({}))).status, 400)

  const zoe = await by(ada.token.token, '/operator/operators', post({ name: 'Zoe', role: 'viewer' }))
  assert.equal(zoe.status, 201, 'an admin lets the others in')
})

test('O-13: who has the store in hand lets an admin in again who cannot get in any more', async () => {
  const { config, store } = shop
  const parts = { config, database: store.db, clock: systemClock, random: systemRandom }
  const { operators } = (await (await asOperator(shop, '/operator/operators')).json()) as {
    operators: { name: string; role: string }[]
  }
  const admin = operators.find(({ role }) => role === 'admin')!.name
  const link = await linkByStore(parts, admin)
  const token = /#(sln_[\w-]{43})$/.exec(link!.url)![1]
  const headers = { 'content-type': 'application/json', 'x-sutler': 'console', 'sec-fetch-site': 'same-origin' }
  const entered = await fetch(`${shop.url}/operator/session`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ token }),
  })
  assert.equal(entered.status, 200)
  assert.equal(await linkByStore(parts, 'Nobody'), null)
  assert.equal(await linkByStore(parts, null), null, 'there is an admin')
})

async function refusal(response: Response) {
  const { code, detail } = (await response.json()) as { code: string; detail: string }
  return { status: response.status, code, detail }
}
