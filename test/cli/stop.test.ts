import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { post, x402Payer } from '../support/buyers.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { type Sandbox, startSandbox } from './sutler.ts'
import { asked, typed } from './typed.ts'

// One shop that is stopped in the middle of a purchase, looked into while it is down, opened again, and moved to PostgreSQL.

let shop: Sandbox

before(async () => {
  shop = await startSandbox({ SUTLER_WAIT_MS: '1000' })
})
after(() => shop.remove())

type Order = { readonly orderId: string; readonly status: string }
const operator = { headers: { authorization: 'Bearer sandbox-operator' } }
const ordersOf = async (query: string) =>
  ((await (await fetch(`${shop.url}/operator/orders?${query}`, operator)).json()) as { orders: Order[] }).orders

// Docker and Kubernetes kill what has not ended by itself; `limit` is the promise of 25 seconds.
test('SIGTERM: who was let in is answered, the rest is handed over, can be read while the shop is down, and is delivered by the next start', async () => {
  verifies('D12.8')
  const buyer = privateKeyToAccount(generatePrivateKey())
  await fetch(`${shop.url}/sandbox/faucet`, post({ address: buyer.address }))
  const request = post({ itemId: 'keys:5', nickname: 'slow_delivery' })
  const answer = x402Payer(buyer)(`${shop.url}/shop/x402/buy`, request)
  await until(async () => (await ordersOf('open=true')).length === 1)
  const stopping = shop.stop()
  const limit = AbortSignal.timeout(25_000)
  const { status } = await answer
  assert.equal(status, 202, 'paid, and the delivery takes longer than anybody waits for an answer')
  const { code, stderr } = await stopping
  assert.equal(limit.aborted, false, 'within 25 seconds')
  assert.deepEqual([code, stderr], [0, ''])

  const down = await typed(['orders'], shop.env)
  assert.equal(down.code, 0, down.stderr)
  assert.match(down.stderr, /the shop is not running; this is what its store says/)
  const [handedOver, ...others] = [...down.stdout.matchAll(/(ord_\w+) +(\w+) +keys:5/g)]
  const [, orderId, state] = handedOver!
  assert.deepEqual(others, [])
  assert.notEqual(state, 'confirmed')
  shop = await shop.restart()
  await until(async () => (await ordersOf('status=confirmed')).length === 1)
  assert.deepEqual(
    (await ordersOf('')).map((order) => order.orderId),
    [orderId],
  )
  assert.equal((await shop.stop()).code, 0)
})

test('a shop that is down gives nothing back', async () => {
  const refused = await typed(['refund', 'ord_1', '--reason', 'x'], shop.env)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /nobody answers at/)
})

test('doctor: a shop that is down is graded F, its store is looked at, and the next thing is to start it', async () => {
  const { code, stdout } = await typed(['doctor', '--json'], shop.env)
  const { grade, next, findings } = JSON.parse(stdout) as {
    grade: string
    next: string
    findings: { area: string; what: string; detail: string }[]
  }
  assert.deepEqual([code, grade], [1, 'F'])
  assert.match(next, /sutler start/)
  assert.ok(findings.some(({ area, what, detail }) => area === 'store' && what === 'tables' && detail === 'up to date'))
})

test('C-12: restored writes down when, and that nothing is missing changes nothing of it', async () => {
  const { restoredAt } = await asked<{ restoredAt: string }>(['restored'], shop.env)
  assert.ok(Math.abs(Date.parse(restoredAt) - Date.now()) < 600_000)
  assert.deepEqual(
    await asked<{ restoredAt: string }>(['restored', '--complete'], shop.env).then((said) => said.restoredAt),
    restoredAt,
  )
})

test('migrate: the store is up to date', async () => {
  assert.equal((await typed(['migrate', '--check'], shop.env)).code, 0)
})
