import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { asOperator } from './desk.ts'
import { addOperator, audit, codeOf, enter, joined, PAGE, tokenIn, visitor } from './people-desk.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

/** Failures are counted by address, and all of ours come from one. */
const forget = () => shop.store.db.query('delete from sign_in_failures')

describe('the door', () => {
  test('a link lets one person in, once, and the cookie is for our own pages only', async () => {
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
    await forget()
  })

  test('a link that ran out, of a revoked operator, of another shop, or made up opens nothing, and all are told the same', async () => {
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
    await forget()
  })

  test('five failures from an address are enough for a quarter of an hour, however many come at once and wherever', async () => {
    const replica = await shop.replica()
    const good = await addOperator(shop, 'Patient', 'viewer')
    const tries = Array.from({ length: 20 }, (_, index) =>
      enter(index % 2 ? replica.url : shop.url, { token: `sln_${String(index).padStart(43, 'x')}` }).then(codeOf),
    )
    const codes = Map.groupBy(await Promise.all(tries), (code) => code)
    assert.equal(codes.get('401 sign_in_refused')?.length, 5)
    assert.equal(codes.get('429 rate_limited')?.length, 15)
    assert.equal(
      await codeOf(await enter(shop.url, { token: tokenIn(good) })),
      '429 rate_limited',
      'not even a good one',
    )
    await shop.store.db.query(`update sign_in_failures set at = at - interval '15 minutes'`)
    assert.equal((await enter(shop.url, { token: tokenIn(good) })).status, 200, 'and it was not used up')
  })

  test('what a browser held before opens nothing afterwards', async () => {
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
    await forget()
  })
})
