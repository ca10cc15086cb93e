import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { verifyAudit } from '../../src/store/people/audit.ts'
import { typed } from '../cli/typed.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { AT_ONCE, asOperator, buy, reconcileRail } from './desk.ts'
import { audit, codeOf, joined, signIn, tokenIn, type Visitor } from './people-desk.ts'
import { x402Stranger } from './strangers.ts'

const BUDGET = '2.00'
const SECOND_PERSON = '1.00'
const PRICE = 250_000n

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop({
    env: {
      SUTLER_SUPPORT_REFUNDS_PER_DAY: BUDGET,
      SUTLER_SECOND_PERSON_FROM: SECOND_PERSON,
      SUTLER_RECONCILE_SECONDS: '300',
      SUTLER_WEBHOOK_LOOPBACK: 'true',
    },
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
    verifies('D17.10', 'O-12')
    const support = await joined(shop, 'Spender', 'support')
    const replica = await shop.replica()
    const orders: string[] = []
    // One after the other: two of the same at once could be one that is in doubt.
    while (orders.length < 8) orders.push(await bought(2))
    const there: Visitor = { ...support, call: callAt(replica.url, support.cookie) }
    const answers = await Promise.all(orders.map((id, index) => refund(index % 2 ? there : support, id).then(codeOf)))
    const count = (start: string) => answers.filter((answer) => answer.startsWith(start)).length
    const refunded = (await Promise.all(orders.map(statusOf))).filter((status) => status.startsWith('refund')).length
    assert.equal(refunded, 4, answers.join(', '))
    assert.equal(count('403 refund_budget_spent'), 4, answers.join(', '))
    const told = await audit(shop, '&who=Spender&deed=order.refunded')
    assert.equal(told.length, 4, 'each that began is written down, and none that did not')
    const { rows } = await shop.store.db.query<{ sum: string }>('select sum(amount) from refund_spending')
    assert.equal(BigInt(rows[0]!.sum), 4n * 2n * PRICE)
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
    verifies('D17.10', 'O-13')
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
    const string = await made.call('POST', '/operator/operators', { name: 'String', role: 'support' })
    const pulled = await signIn(shop, tokenIn((await string.json()) as { link: { url: string; expiresAt: string } }))
    assert.equal(await codeOf(await approve(pulled)), '409 approval_refused', 'nor whom those let in')
    assert.equal(await statusOf(orderId), 'confirmed')
    const turned = await bought(4)
    const { approval } = (await (await refund(pulled, turned)).json()) as Asked
    const back = await mara.call('POST', `/operator/approvals/${approval.id}/approve`, {})
    assert.equal(await codeOf(back), '409 approval_refused', 'and what they ask for she cannot approve')
    assert.equal((await pulled.call('POST', `/operator/approvals/${approval.id}/refuse`, {})).status, 200)
    assert.equal(await statusOf(turned), 'confirmed')

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
    verifies('D17.10')
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
    verifies('D17.10')
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

describe('every word by which money goes back', () => {
  let carl: Visitor
  let eve: Visitor
  before(async () => {
    carl = await joined(shop, 'Carla', 'admin')
    eve = await joined(shop, 'Eve', 'support')
  })

  test('passes the same guard: money without a purchase, and a delivery that is said not to have happened', async () => {
    verifies('D17.10', 'O-12')
    const [arrival] = await unmatchedTransfer(1_500_000n)
    const path = `/operator/transfers/${arrival}`
    const one = (await (await carl.call('POST', path, { decision: 'refund' })).json()) as Asked
    const many = await carl.call('POST', '/operator/transfers/decide', {
      ids: [arrival],
      decision: 'refund',
      reason: 'x',
    })
    const { results } = (await many.json()) as { results: { isDone: boolean; error: { code: string } }[] }
    assert.deepEqual(
      [one.code, results[0]!.isDone, results[0]!.error.code],
      ['approval_needed', false, 'approval_needed'],
    )
    assert.equal((await eve.call('POST', `/operator/approvals/${one.approval.id}/approve`, {})).status, 200)
    const { transfers } = (await (await carl.call('GET', path)).json()) as { transfers: { status: string }[] }
    assert.equal(transfers[0]!.status, 'returned')

    const small = await inDoubt(1)
    await shop.store.db.query(
      `insert into refund_spending (operator_id, about, amount, at) values ($1, 'before', 2000000, now())`,
      [eve.id],
    )
    const decide = (by: Visitor, id: string, outcome: string) =>
      by.call('POST', `/operator/orders/${id}/decide`, { outcome })
    assert.equal(await codeOf(await decide(eve, small, 'not_delivered')), '403 refund_budget_spent')
    assert.equal(await codeOf(await decide(eve, small, 'delivered')), '200', 'which gives nothing back')
    const large = await inDoubt(4)
    assert.equal(await codeOf(await decide(carl, large, 'not_delivered')), '202 approval_needed')
    const { rows } = await shop.store.db.query<{ verdict: string | null }>(
      'select verdict from game_calls where order_id = $1',
      [large],
    )
    assert.equal(rows[0]!.verdict, null, 'nothing was decided')
  })
})

describe('whoever asked', () => {
  test('must still be who may ask for it when another approves: as admin for money without a purchase, as support for orders', async () => {
    verifies('D17.10', 'O-20')
    const approver = await joined(shop, 'Approver', 'admin')
    const become = (id: string, role: string) =>
      asOperator(shop, `/operator/operators/${id}/role`, post({ role })).then(({ status }) => assert.equal(status, 200))
    const approve = (id: string) => approver.call('POST', `/operator/approvals/${id}/approve`, {}).then(codeOf)

    let boss = await joined(shop, 'Demoted boss', 'admin')
    const [arrival] = await unmatchedTransfer(1_600_000n)
    const path = `/operator/transfers/${arrival}`
    const { approval } = (await (await boss.call('POST', path, { decision: 'refund' })).json()) as Asked
    await become(boss.id, 'support')
    assert.equal(await approve(approval.id), '409 approval_refused')
    const { transfers } = (await (await approver.call('GET', path)).json()) as { transfers: { status: string }[] }
    assert.equal(transfers[0]!.status, 'held')
    const open = (await (await approver.call('GET', '/operator/approvals')).json()) as {
      approvals: Asked['approval'][]
    }
    assert.equal(open.approvals.find(({ id }) => id === approval.id)!.can.approve.can, false)
    await become(boss.id, 'admin')
    assert.equal(await approve(approval.id), '200', 'and they may again')
    const link = (await (await asOperator(shop, `/operator/operators/${boss.id}/link`, post({}))).json()) as {
      link: { url: string; expiresAt: string }
    }
    boss = await signIn(shop, tokenIn(link))

    // At the very same moment: who is being demoted is waited for, and then nothing is approved.
    const raced = await bought(4)
    const wish = (await (await refund(boss, raced)).json()) as Asked
    let approving: Promise<string> | null = null
    await shop.store.db.transaction(async (tx) => {
      await tx.query(`update operators set role = 'viewer' where id = $1`, [boss.id])
      approving = approve(wish.approval.id)
      const waiting = until(async () => {
        const { rows } = await tx.query(
          'select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))',
        )
        return rows.length > 0
      })
      await Promise.race([approving, waiting])
    })
    assert.equal(await approving, '409 approval_refused')
    assert.equal(await statusOf(raced), 'confirmed')
    await approver.call('POST', `/operator/approvals/${wish.approval.id}/refuse`, {})

    const clerk = await joined(shop, 'Demoted clerk', 'support')
    const order = await bought(4)
    const asked = (await (await refund(clerk, order)).json()) as Asked
    await become(clerk.id, 'viewer')
    assert.equal(await approve(asked.approval.id), '409 approval_refused')
    assert.equal(await statusOf(order), 'confirmed')
    assert.equal(
      (await approver.call('POST', `/operator/approvals/${asked.approval.id}/refuse`, {})).status,
      200,
      'so that somebody else can ask',
    )
  })
})

describe('the commands', () => {
  const run = (...args: string[]) =>
    typed([...args, '--url', shop.url, '--token', shop.config.operatorToken!.reveal()], {})

  test('add somebody, let them in again, give them another role, send them away, and verify what was written', async () => {
    const added = await run('operators', 'add', 'Nell', '--role', 'support', '--with-token')
    assert.equal(added.code, 0, added.stderr)
    const [, token = ''] = /token (spt_\S+)/.exec(added.stdout) ?? []
    assert.match(added.stdout, /Nell is support\nlink {2}http.*\/operator\/enter#sln_/)
    const asNell = await typed(['operators', '--url', shop.url, '--token', token], {})
    assert.match(asNell.stdout, /Nell\s+support\s+0 sessions\s+1 token/)
    assert.match((await run('operators', 'link', 'nell')).stdout, /enter#sln_/)
    await joined(shop, 'Somebody', 'admin')
    assert.equal((await run('operators', 'link')).code, 1, 'there is an admin already')
    assert.match((await run('operators', 'role', 'Nell', 'viewer')).stdout, /Nell is viewer/)
    const asked = await typed(['refund', await bought(4), '--reason', 'x', '--url', shop.url, '--token', token], {})
    assert.match(asked.stderr, /needs the role support/)
    const second = await run('refund', await bought(4), '--reason', 'x', '--by', 'ceo')
    assert.deepEqual([second.code, /another operator has to approve it/.test(second.stderr)], [1, true], second.stderr)
    assert.match((await run('approvals')).stdout, /1\.00 USDC\s+to 0x\w+\s+order ord_\w+\s+asked by ceo/)
    assert.match((await run('operators', 'revoke', 'Nell')).stdout, /let in no more/)
    const whole = await run('audit', 'verify')
    assert.equal(whole.code, 0, whole.stderr)
    const [, head = ''] = /head (\S+)/.exec(whole.stdout) ?? []
    assert.equal((await run('audit', 'verify', head)).code, 0)
    assert.equal(
      (
        await run(
          'audit',
          'verify',
          head.replace(/.$/, (end) => (end === '0' ? '1' : '0')),
        )
      ).code,
      1,
    )
    assert.match((await run('audit', 'list', '--deed', 'operator.revoked')).stdout, /operator\.revoked\s+operator opr_/)
  })
})

describe('the audit log', () => {
  const verdict = () => verifyAudit(shop.store.db)
  /** As somebody with the store's own keys would, and back again. */
  async function tampered(change: string, values: readonly unknown[], look: () => Promise<void>): Promise<void> {
    const { db } = shop.store
    await db.query('create table audit_kept as table audit')
    await db.query('alter table audit disable trigger all')
    try {
      await db.query(change, values)
      await look()
    } finally {
      await db.query('delete from audit')
      await db.query('insert into audit select * from audit_kept')
      await db.query('drop table audit_kept')
      await db.query('alter table audit enable trigger all')
    }
    assert.deepEqual((await verdict()).faults, [], 'whole again')
  }

  test('has an entry of its own for each route that is not only read', async () => {
    verifies('D17.6', 'O-14')
    const routes = shop.service.operatorRoutes.filter(({ method, role }) => method !== 'GET' && role !== null)
    const deeds = await deedsOf(shop)
    for (const { method, path } of routes) {
      const key = `${method} ${path}`
      const act = deeds[key]
      assert.ok(act, `${key} is new: say here how it is done, and see that it leaves an entry`)
      const { rows } = await shop.store.db.query<{ last: string }>('select max(position) as last from audit')
      const before = BigInt(rows[0]!.last)
      const response = await act()
      assert.ok(response.ok, `${key}: ${response.status} ${await response.clone().text()}`)
      const fresh = (await audit(shop)).filter(({ position }) => BigInt(position) > before)
      assert.ok(fresh.length > 0, `${key} left no entry`)
      const called = new RegExp(`^${key.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
      const forgot = fresh.some(({ deed, about }) => deed === 'route.called' && called.test(about.id))
      assert.ok(!forgot, `${key} forgot to record its deed`)
    }
  })

  test('tells also what was only exported, and what a route forgot', async () => {
    await (await asOperator(shop, '/operator/audit?format=csv')).text()
    const [entry] = await audit(shop)
    assert.deepEqual([entry!.deed, entry!.about.id], ['route.called', 'GET /operator/audit'])
  })

  test('cannot be changed, not even by the shop itself', async () => {
    verifies('D17.6', 'O-14')
    for (const change of [`update audit set hash = hash`, 'delete from audit where position = 1', 'truncate audit'])
      await assert.rejects(shop.store.db.query(change), /only added to/, change)
  })

  test('tells what was changed, removed or slipped in, and which entry it was', async () => {
    verifies('D17.6', 'O-14')
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
    const anew = `replace(entry::text, '"reason"', '"season"')`
    await tampered(
      `update audit set entry = ${anew}::json, hash = encode(sha256(convert_to(previous || E'\\n' || ${anew}, 'utf8')), 'hex') where position = $1`,
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
    verifies('D17.6')
    const replica = await shop.replica()
    const add = (url: string, id: string) =>
      asOperator({ url, config: shop.config }, '/operator/items', post({ id, name: id, price: '1.00' }))
    const ids = Array.from({ length: 30 }, (_, index) => `many:${index}`)
    const answers = await Promise.all(ids.map((id, index) => add(index % 2 ? replica.url : shop.url, id)))
    // Who waits too long for their turn is refused, and nothing is written of it.
    const done = ids.filter((_, index) => answers[index]!.ok)
    const added = (await audit(shop, '&deed=item.added')).map(({ about }) => about.id)
    assert.ok(done.length > 1)
    assert.deepEqual(
      done.filter((id) => !added.includes(id)),
      [],
    )
    assert.deepEqual((await verdict()).faults, [])
  })
})

const BLOCKED = '0x00000000000000000000000000000000000000d2'

type Act = () => Promise<Response>

/** How each is done, so that it does something. */
async function deedsOf(shop: TestShop): Promise<Readonly<Record<string, Act>>> {
  const admin = await joined(shop, 'Doer', 'admin')
  const asker = await joined(shop, 'Asker', 'admin')
  // Nobody listens there, and nobody has to.
  const hook = { url: 'http://127.0.0.1:9/hook' }
  const at = (method: string, path: string, body: object = {}) => admin.call(method, path, body)
  const to = (path: string, body: object = {}) => at('POST', path, body)
  const idOf = async (response: Response) => ((await response.json()) as { id: string }).id
  const added = (name: string) => to('/operator/operators', { name, role: 'viewer' }).then(idOf)
  const hooked = () => to('/operator/webhooks', hook).then(idOf)
  const asked = async () => ((await (await refund(asker, await bought(4))).json()) as Asked).approval.id
  return {
    'POST /operator/prices/{good}': () => to('/operator/prices/healthProbe', { price: '0.002' }),
    'POST /operator/prices.csv': () => to('/operator/prices.csv', { csv: 'good,price\nhealthProbe,0.003\n' }),
    'POST /operator/lots/{saleId}': () => to('/operator/lots/392', { hidden: true }),
    'POST /operator/lots/{saleId}/transaction': () => to('/operator/lots/392/transaction', { price: '0.30' }),
    'POST /operator/lots.csv': () => to('/operator/lots.csv', { csv: 'id,hidden\n392,no\n' }),
    'POST /operator/items': () => to('/operator/items', { id: 'deed:1', name: 'Deed', price: '1.00' }),
    'POST /operator/items/{id}': () => to('/operator/items/deed:1', { price: '2.00' }),
    'POST /operator/items.csv': () => to('/operator/items.csv', { csv: 'id,name,price\ndeed:1,Deed,3.00\n' }),
    'POST /operator/discounts.csv': () =>
      to('/operator/discounts.csv', { csv: 'item,player,percent\nkeys:5,Demo,7\n' }),
    'POST /operator/discounts': () => to('/operator/discounts', { itemId: 'keys:5', nickname: 'Demo', percent: 5 }),
    'POST /operator/players': () =>
      to('/operator/players', { nickname: 'Deedy', address: '0x00000000000000000000000000000000000000d1' }),
    'DELETE /operator/players/{id}/wallets/{address}': () =>
      at('DELETE', '/operator/players/Deedy/wallets/0x00000000000000000000000000000000000000d1'),
    'POST /operator/reconcile': () => to('/operator/reconcile'),
    'POST /operator/operators': () => to('/operator/operators', { name: 'Deed one', role: 'viewer' }),
    'POST /operator/operators/{id}/link': async () => to(`/operator/operators/${await added('Deed two')}/link`),
    'POST /operator/operators/{id}/role': async () =>
      to(`/operator/operators/${await added('Deed three')}/role`, { role: 'support' }),
    'POST /operator/operators/{id}/revoke': async () => to(`/operator/operators/${await added('Deed four')}/revoke`),
    'POST /operator/operators/first': () =>
      withoutAdmins(shop, () => asOperator(shop, '/operator/operators/first', post({}))),
    'POST /operator/tokens': () => to('/operator/tokens'),
    'DELETE /operator/tokens/{id}': async () =>
      at('DELETE', `/operator/tokens/${await to('/operator/tokens').then(idOf)}`),
    'POST /operator/approvals/{id}/approve': async () => to(`/operator/approvals/${await asked()}/approve`),
    'POST /operator/approvals/{id}/refuse': async () => to(`/operator/approvals/${await asked()}/refuse`),
    'DELETE /operator/session': async () =>
      (await joined(shop, 'Leaver', 'viewer')).call('DELETE', '/operator/session', {}),
    'DELETE /operator/sessions/{id}': async () => {
      const { id } = await joined(shop, 'Ended', 'viewer')
      const { sessions } = (await (await admin.call('GET', '/operator/sessions')).json()) as {
        sessions: { id: string; operatorId: string }[]
      }
      return at('DELETE', `/operator/sessions/${sessions.find(({ operatorId }) => operatorId === id)!.id}`)
    },
    'POST /operator/webhooks': () => to('/operator/webhooks', hook),
    'DELETE /operator/webhooks/{id}': async () => at('DELETE', `/operator/webhooks/${await hooked()}`),
    'POST /operator/webhooks/{id}/rotate': async () => to(`/operator/webhooks/${await hooked()}/rotate`),
    'POST /operator/webhooks/{id}/enable': async () => to(`/operator/webhooks/${await hooked()}/enable`),
    'POST /operator/webhooks/{id}/disable': async () => to(`/operator/webhooks/${await hooked()}/disable`),
    'POST /operator/webhooks/{id}/replay': async () => to(`/operator/webhooks/${await hooked()}/replay`),
    'POST /operator/webhooks/{id}/test': async () => to(`/operator/webhooks/${await hooked()}/test`),
    'POST /operator/webhooks/{id}/deliveries/{position}/resend': async () => {
      const id = await hooked()
      await bought()
      let deliveries: { position: string }[] = []
      await until(async () => {
        const log = await admin.call('GET', `/operator/webhooks/${id}/deliveries`)
        deliveries = ((await log.json()) as { deliveries: { position: string }[] }).deliveries
        return deliveries.length > 0
      })
      return to(`/operator/webhooks/${id}/deliveries/${deliveries[0]!.position}/resend`)
    },
    'POST /operator/sales/{rail}/pause': () => to('/operator/sales/mpp/pause', { reason: 'trial' }),
    'POST /operator/sales/{rail}/resume': () => to('/operator/sales/mpp/resume'),
    'POST /operator/blocks': () => to('/operator/blocks', { address: BLOCKED, reason: 'trial' }),
    'DELETE /operator/blocks/{address}': () => at('DELETE', `/operator/blocks/${BLOCKED}`),
    'POST /operator/orders/{id}/refund': async () => refund(admin, await bought()),
    'POST /operator/orders/{id}/retry': async () => to(`/operator/orders/${await stuck()}/retry`),
    'POST /operator/orders/{id}/decide': async () =>
      to(`/operator/orders/${await inDoubt(1)}/decide`, { outcome: 'delivered' }),
    'POST /operator/orders/{id}/notes': async () => to(`/operator/orders/${await bought()}/notes`, { text: 'seen' }),
    'POST /operator/transfers/{id}': async () =>
      to(`/operator/transfers/${(await unmatchedTransfer(500_000n))[0]}`, { decision: 'keep' }),
    'POST /operator/transfers/decide': async () =>
      to('/operator/transfers/decide', { ids: await unmatchedTransfer(510_000n), decision: 'keep', reason: 'ours' }),
  }
}

/** Money that nobody bought anything with, held for a person. */
async function unmatchedTransfer(amount: bigint): Promise<readonly string[]> {
  const stranger = await x402Stranger(shop)
  const transaction = await stranger.give(amount)
  await reconcileRail(shop, stranger.rail, { ...AT_ONCE, returnsUnmatched: false })
  const answer = await asOperator(shop, `/operator/transfers/${transaction}`)
  return ((await answer.json()) as { transfers: { transferId: string }[] }).transfers.map(
    ({ transferId }) => transferId,
  )
}

/** An order of which nobody knows whether the game has delivered it. */
async function inDoubt(quantity: number): Promise<string> {
  const id = await bought(quantity)
  await shop.store.db.query(`update orders set status = 'submitted' where id = $1`, [id])
  await shop.store.db.query(
    `insert into game_calls (order_id, sent_at) values ($1, date_trunc('milliseconds', now()) - interval '1 hour')`,
    [id],
  )
  return id
}

/** An order whose next turn is tomorrow. */
async function stuck(): Promise<string> {
  const id = await bought()
  await shop.store.db.query(`update orders set status = 'submitted' where id = $1`, [id])
  await shop.store.db.query(
    `insert into jobs (kind, key, run_at) values ('order', $1, now() + interval '1 day') on conflict do nothing`,
    [id],
  )
  return id
}

/** As on the first day. */
async function withoutAdmins(shop: TestShop, act: Act): Promise<Response> {
  const { rows } = await shop.store.db.query<{ id: string }>(
    `update operators set role = 'viewer' where role = 'admin' returning id`,
  )
  const response = await act()
  await shop.store.db.query(`update operators set role = 'admin' where id = any ($1)`, [rows.map(({ id }) => id)])
  return response
}

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
