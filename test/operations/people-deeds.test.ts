import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { verifyAudit } from '../../src/store/people/audit.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { asOperator, buy } from './desk.ts'
import { audit, codeOf, joined, signIn, tokenIn, type Visitor } from './people-desk.ts'

const BUDGET = '2.00'
const SECOND_PERSON = '1.00'
const PRICE = 250_000n

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop({
    env: { SUTLER_SUPPORT_REFUNDS_PER_DAY: BUDGET, SUTLER_SECOND_PERSON_FROM: SECOND_PERSON },
    withSandboxRoutes: true,
  })
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

const bought = async (quantity = 1) => {
  const { body } = await buy(shop, x402UnderTest, buyer, { saleId: 392, quantity } as { saleId: number })
  assert.equal(body.status, 'confirmed', JSON.stringify(body))
  return body.orderId
}
const refund = (by: Visitor, orderId: string, more: object = {}) =>
  by.call('POST', `/operator/orders/${orderId}/refund`, { reason: 'it came too late', ...more })
const statusOf = async (orderId: string) => (await shop.service.checkout.orders.byId(orderId))!.status

type Asked = { code: string; approval: { id: string; state: string; by: string; can: { approve: { can: boolean } } } }

describe('what support gives back', () => {
  test('stays within the budget of the day, however many refunds begin at once and wherever', async () => {
    const support = await joined(shop, 'Spender', 'support')
    const replica = await shop.replica()
    const orders = await Promise.all(Array.from({ length: 20 }, () => bought()))
    const there: Visitor = { ...support, call: callAt(replica.url, support.cookie) }
    const answers = await Promise.all(orders.map((id, index) => refund(index % 2 ? there : support, id).then(codeOf)))
    const count = (start: string) => answers.filter((answer) => answer.startsWith(start)).length
    const refunded = (await Promise.all(orders.map(statusOf))).filter((status) => status.startsWith('refund')).length
    assert.equal(refunded, 8, answers.join(', '))
    assert.equal(count('403 refund_budget_spent'), 12, answers.join(', '))
    const told = await audit(shop, '&who=Spender&deed=order.refunded')
    assert.equal(told.length, 8, 'each that began is written down, and none that did not')
    const { rows } = await shop.store.db.query<{ sum: string }>('select sum(amount) from refund_spending')
    assert.equal(BigInt(rows[0]!.sum), 8n * PRICE)
    const refused = orders[answers.findIndex((answer) => answer.startsWith('403'))]!
    assert.equal(
      (await asOperator(shop, `/operator/orders/${refused}/refund`, post({ reason: 'an admin may' }))).status,
      200,
    )
  })

  test('is nothing when the order changed at that very moment', async () => {
    const support = await joined(shop, 'Racer', 'support')
    const orderId = await bought()
    await refund(support, orderId)
    assert.equal(await codeOf(await refund(support, orderId)), '409 refund_refused')
    const { rows } = await shop.store.db.query<{ count: number }>(
      'select count(*)::int as count from refund_spending where about = $1',
      [orderId],
    )
    assert.equal(rows[0]!.count, 1)
  })
})

describe('a second person', () => {
  let mara: Visitor
  let bob: Visitor
  before(async () => {
    mara = await joined(shop, 'Mara', 'admin')
    bob = await joined(shop, 'Bob', 'support')
  })

  test('is asked for, and is not the first, whichever way they come', async () => {
    const orderId = await bought(4)
    const response = await refund(mara, orderId)
    const asked = (await response.json()) as Asked
    assert.equal(response.status, 202)
    assert.equal(asked.code, 'approval_needed')
    assert.equal(await statusOf(orderId), 'confirmed', 'no money was sent')
    const again = (await (await refund(mara, orderId)).json()) as Asked
    assert.equal(again.approval.id, asked.approval.id, 'asked twice is asked once')

    const approve = (by: Visitor) => by.call('POST', `/operator/approvals/${asked.approval.id}/approve`, {})
    assert.equal(await codeOf(await approve(mara)), '409 approval_refused')
    const token = (await (await mara.call('POST', '/operator/tokens', {})).json()) as { token: string }
    const byToken = await fetch(`${shop.url}/operator/approvals/${asked.approval.id}/approve`, {
      ...post({}),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token.token}` },
    })
    assert.equal(await codeOf(byToken), '409 approval_refused', 'her token is she')
    const puppet = await mara.call('POST', '/operator/operators', { name: 'Puppet', role: 'admin' })
    const made = await signIn(shop, tokenIn((await puppet.json()) as { link: { url: string; expiresAt: string } }))
    assert.equal(await codeOf(await approve(made)), '409 approval_refused', 'nor is whom she let in today')
    assert.equal(await statusOf(orderId), 'confirmed')

    const open = (await (await bob.call('GET', '/operator/approvals')).json()) as { approvals: Asked['approval'][] }
    assert.deepEqual(
      open.approvals.map(({ id, by, can }) => [id, by, can.approve.can]),
      [[asked.approval.id, 'Mara', true]],
    )
    assert.equal((await approve(bob)).status, 200)
    assert.match(await statusOf(orderId), /^refund/)
    assert.equal(await codeOf(await approve(bob)), '409 approval_refused', 'once')
    const told = await audit(shop, '&deed=approval.approved')
    assert.deepEqual([told[0]!.who, told[0]!.after!.askedBy], ['Bob', 'Mara'])
    const [deed] = await audit(shop, `&about=${orderId}`)
    assert.deepEqual([deed!.deed, deed!.who, deed!.after!.askedBy], ['order.refunded', 'Bob', 'Mara'])
    const { rows } = await shop.store.db.query<{ requested_by: string }>(
      'select requested_by from refunds where order_id = $1',
      [orderId],
    )
    assert.equal(rows[0]!.requested_by, 'Mara, approved by Bob')
  })

  test('lets it begin once, when two approve at the same moment; what was refused or ran out stays so', async () => {
    const carl = await joined(shop, 'Carl', 'admin')
    const orderId = await bought(4)
    const { approval } = (await (await refund(mara, orderId)).json()) as Asked
    const approve = (by: Visitor, id = approval.id) =>
      by.call('POST', `/operator/approvals/${id}/approve`, {}).then((answer) => answer.status)
    const codes = await Promise.all([approve(bob), approve(carl), approve(bob), approve(carl)])
    assert.equal(codes.filter((code) => code === 200).length, 1, codes.join(', '))

    const other = await bought(4)
    const first = ((await (await refund(mara, other)).json()) as Asked).approval.id
    assert.equal((await mara.call('POST', `/operator/approvals/${first}/refuse`, {})).status, 200, 'she takes it back')
    assert.equal(await approve(bob, first), 409)
    const second = ((await (await refund(mara, other)).json()) as Asked).approval.id
    assert.notEqual(second, first)
    await shop.store.db.query(`update approvals set expires_at = now() - interval '1 second' where id = $1`, [second])
    assert.equal(await approve(bob, second), 409, 'too late')
    const third = ((await (await refund(mara, other)).json()) as Asked).approval.id
    await asOperator(shop, `/operator/operators/${mara.id}/revoke`, post({}))
    assert.equal(await approve(bob, third), 409, 'whoever asked is gone')
    assert.equal(await statusOf(other), 'confirmed')
  })

  test('is needed by the shop’s own token too; between two of support the budget of whoever asked counts', async () => {
    const orderId = await bought(4)
    const response = await asOperator(shop, `/operator/orders/${orderId}/refund`, post({ reason: 'x', by: 'ceo' }))
    const { approval } = (await response.json()) as Asked
    assert.deepEqual([response.status, approval.by], [202, 'ceo'])
    const own = await asOperator(shop, `/operator/approvals/${approval.id}/approve`, post({}))
    assert.equal(await codeOf(own), '409 approval_refused')

    const poor = await joined(shop, 'Poor', 'support')
    await shop.store.db.query(
      `insert into refund_spending (operator_id, about, amount, at) values ($1, 'before', 1900000, now())`,
      [poor.id],
    )
    const another = await bought(4)
    const asked = ((await (await refund(poor, another)).json()) as Asked).approval.id
    const byBob = await bob.call('POST', `/operator/approvals/${asked}/approve`, {})
    assert.equal(await codeOf(byBob), '403 refund_budget_spent')
    assert.equal(await statusOf(another), 'confirmed')
    const admin = await asOperator(shop, `/operator/approvals/${asked}/approve`, post({}))
    assert.equal(admin.status, 200, 'an admin’s word needs no budget')
    assert.match(await statusOf(another), /^refund/)
  })
})

describe('the audit log', () => {
  const verdict = () => verifyAudit(shop.store.db)
  /** As somebody with the store's own keys would, and back again. */
  async function tampered(change: string, values: readonly unknown[], look: () => Promise<void>): Promise<void> {
    const { db } = shop.store
    const kept = await db.query('select position, entry::text as entry, previous, hash from audit order by position')
    await db.query('alter table audit disable trigger all')
    try {
      await db.query(change, values)
      await look()
    } finally {
      await db.query('delete from audit')
      for (const { position, entry, previous, hash } of kept.rows as Record<string, string>[])
        await db.query('insert into audit values ($1, $2, $3, $4)', [position, entry, previous, hash])
      await db.query('alter table audit enable trigger all')
    }
    assert.deepEqual((await verdict()).faults, [], 'whole again')
  }

  test('cannot be changed, not even by the shop itself', async () => {
    for (const change of [`update audit set hash = hash`, 'delete from audit where position = 1', 'truncate audit'])
      await assert.rejects(shop.store.db.query(change), /only added to/, change)
  })

  test('tells what was changed, removed or slipped in, and which entry it was', async () => {
    const { entries, head } = await verdict()
    assert.ok(entries > 20)
    const faultsOf = (look: readonly [position: bigint, kind: string][]) => async () =>
      assert.deepEqual(
        (await verdict()).faults.map(({ position, kind }) => [position, kind]),
        look,
      )
    const last = head.position
    const lie = `set entry = replace(entry::text, '"who"', '"whom"')::json`
    await tampered(`update audit ${lie} where position = $1`, [7], faultsOf([[7n, 'changed']]))
    await tampered(`update audit ${lie} where position = $1`, [last], faultsOf([[last, 'changed']]))
    await tampered('delete from audit where position = $1', [5], faultsOf([[5n, 'removed']]))
    await tampered('delete from audit where position = $1', [last], faultsOf([[last, 'removed']]))
    await tampered(
      'insert into audit select $1::bigint, entry, hash, previous from audit where position = 3',
      [last + 1n],
      faultsOf([[last + 1n, 'inserted']]),
    )
    await tampered(
      'insert into audit select -1, entry, previous, hash from audit where position = $1',
      [3],
      faultsOf([[-1n, 'inserted']]),
    )
    // With its own hash made anew, an entry no longer fits the one after it.
    await tampered(
      `update audit set entry = entry::text::json, hash = encode(sha256(convert_to(previous || E'\\n' || replace(entry::text, '"reason"', '"season"'), 'utf8')), 'hex') where position = $1`,
      [9],
      faultsOf([[9n, 'changed']]),
    )
    // The whole rest written anew fits, but not what was noted elsewhere.
    const noted = await verdict()
    assert.deepEqual((await verifyAudit(shop.store.db, noted.head)).faults, [])
    const other = { position: noted.head.position, hash: 'f'.repeat(64) }
    assert.deepEqual((await verifyAudit(shop.store.db, other)).faults, [{ position: other.position, kind: 'changed' }])
    const beyond = { position: noted.head.position + 9n, hash: noted.head.hash }
    assert.deepEqual((await verifyAudit(shop.store.db, beyond)).faults, [
      { position: beyond.position, kind: 'removed' },
    ])
  })

  test('keeps its chain when many write at once on two replicas', async () => {
    const replica = await shop.replica()
    const add = (url: string, id: string) =>
      asOperator({ url, config: shop.config }, '/operator/items', post({ id, name: id, price: '1.00' }))
    await Promise.all(
      Array.from({ length: 30 }, (_, index) => add(index % 2 ? replica.url : shop.url, `many:${index}`)),
    )
    assert.equal((await audit(shop, '&deed=item.added')).length, 30)
    assert.deepEqual((await verdict()).faults, [])
  })
})

function callAt(url: string, cookie: string): Visitor['call'] {
  return (method, path, body, headers = {}) =>
    fetch(url + path, {
      method,
      headers: {
        'sec-fetch-site': 'same-origin',
        'x-sutler': 'console',
        'content-type': 'application/json',
        cookie,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
}
