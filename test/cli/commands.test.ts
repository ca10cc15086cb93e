import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/base/hex.ts'
import { stringify } from '../../src/base/json.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { post, x402Payer } from '../support/buyers.ts'
import { freePort } from '../support/free-port.ts'
import { type Sandbox, startSandbox, sutler } from './sutler.ts'
import { asked, refusedStart, typed } from './typed.ts'

// Every command as somebody types it, against one shop as `sutler start` runs it. Most run in this process; each way in which a process of
// their own could make a difference (standard input, the exit code, a payment with a stock client) has one.

let shop: Sandbox

before(async () => {
  shop = await startSandbox({ SUTLER_WEBHOOK_LOOPBACK: 'true' })
})
after(async () => {
  await shop.stop()
  shop.remove()
})

const run = (...args: string[]) => typed(args, shop.env)
const ask = <Answer>(...args: string[]) => asked<Answer>(args, shop.env)

type Paid = {
  readonly paid: { readonly rail: string; readonly amount: string; readonly transaction: string }
  readonly body: { readonly status: string }
}

const keys = { itemId: 'keys:5', nickname: 'Demo' }

/** A purchase to look at, made in this process: how `pay` buys is for its own tests. */
async function buyKeys(): Promise<{ orderId: string; paymentTx: string; receipt: string }> {
  const response = await x402Payer(privateKeyToAccount(sandboxKey('demo').reveal() as Hex))(
    `${shop.url}/shop/x402/buy`,
    post(keys),
  )
  assert.equal(response.status, 200)
  return (await response.json()) as { orderId: string; paymentTx: string; receipt: string }
}

test('demo: an agent buys from every surface on both rails, and the table has a transaction for each', async () => {
  type Purchase = { surface: string; rail: string; path: string; paymentTx: string; deliveryTx: string | null }
  const { purchases } = await ask<{ purchases: Purchase[] }>('demo')
  assert.deepEqual(
    purchases.map(({ path }) => path).sort(),
    [
      '/agentic/mpp/buy',
      '/agentic/x402/buy',
      '/craft/mpp/accelerate',
      '/craft/mpp/burn',
      '/craft/x402/accelerate',
      '/craft/x402/burn',
      '/shop/mpp/buy',
      '/shop/mpp/player-lookup',
      '/shop/x402/buy',
      '/x402/cheap-health',
      '/x402/report-tx',
    ],
    'every paid route of the interface',
  )
  assert.equal(new Set(purchases.map(({ paymentTx }) => paymentTx)).size, purchases.length)
  const onChain = purchases.filter(({ surface }) => surface === 'sale' || surface === 'craft')
  for (const { path, deliveryTx } of onChain) assert.match(deliveryTx ?? '', /^0x[0-9a-f]{64}$/, path)
})

test('doctor: a sandbox that runs has grade A, and every paid route was asked for its price', async () => {
  const { grade, findings } = await ask<{ grade: string; findings: { what: string; severity: string }[] }>('doctor')
  assert.equal(grade, 'A', JSON.stringify(findings.filter(({ severity }) => severity !== 'ok')))
  assert.equal(findings.filter(({ what }) => what.startsWith('402 of ')).length, 11)
})

test('offers: everybody sees the shelves, and a player their own', async () => {
  type Catalog = { items: { id: string }[]; recipient: { value: string } | null }
  const [everybody, ada] = await Promise.all([ask<Catalog>('offers'), ask<Catalog>('offers', '--nickname', 'Ada')])
  assert.ok(everybody.items.some(({ id }) => id === 'keys:5'))
  assert.equal(ada.recipient?.value, 'Ada')
  const { code, stderr } = await run('offers', '--nickname', 'Nobody at all')
  assert.equal(code, 1)
  assert.match(stderr, /no player has this nickname/)
})

test('pay: says what is asked, pays it with the stock client of the rail, and shows the answer', async () => {
  const { code, stdout, stderr } = await sutler(['pay', `${shop.url}/x402/cheap-health`], { env: shop.env })
  assert.equal(code, 0, stderr)
  assert.match(
    stderr,
    /challenge +0\.001 USDC on eip155:84532[\s\S]*payment +signed by 0x[\s\S]*settlement +0x[0-9a-f]{64}/,
  )
  assert.equal((JSON.parse(stdout) as { settled: boolean }).settled, true)
  const url = `${shop.url}/shop/mpp/buy`
  const { paid, body } = await ask<Paid>('pay', url, '--body', stringify(keys), '--max', '1.50')
  assert.deepEqual([paid.rail, paid.amount, body.status], ['mpp', '1.50', 'confirmed'])
})

test('pay: never more than --max, and then nothing at all', async () => {
  const { orders: before } = await ask<{ orders: unknown[] }>('orders', 'list', '--limit', '500')
  const dear = ['--body', stringify(keys), '--max', '1.49']
  const refused = await Promise.all(['x402', 'mpp'].map((rail) => run('pay', `${shop.url}/shop/${rail}/buy`, ...dear)))
  for (const { code, stderr } of refused) {
    assert.equal(code, 1)
    assert.match(stderr, /it costs 1\.50 \w+, more than 1\.49; nothing was paid/)
  }
  const { orders } = await ask<{ orders: unknown[] }>('orders', 'list', '--limit', '500')
  assert.equal(orders.length, before.length)
})

test('pay: a wallet without money is told so on both rails, and that nothing was taken', async () => {
  const env = { ...shop.env, PRIVATE_KEY: generatePrivateKey() }
  const [x402, mpp] = await Promise.all([
    typed(['pay', `${shop.url}/x402/cheap-health`], env),
    typed(['pay', `${shop.url}/shop/mpp/player-lookup`, '--body', '{}'], env),
  ])
  assert.equal(x402.code, 1)
  assert.match(x402.stdout, /^402 insufficient_funds: .*\npayment: nothing was taken/)
  assert.equal(mpp.code, 1)
  assert.match(mpp.stderr, /the payment could not be made, and nothing was paid/)
  assert.doesNotMatch(mpp.stderr, /^\s+at /m)
})

test('pay: a purchase that fails after payment ends with 1 and names its refund', async () => {
  const body = stringify({ ...keys, nickname: 'fail_delivery' })
  const { code, stdout } = await run('pay', `${shop.url}/shop/x402/buy`, '--body', body, '--max', '2')
  assert.equal(code, 1)
  assert.match(stdout, /409 fulfilment_failed: [\s\S]*payment: the money was taken\nrefund: refunded by 0x/)
})

test('orders show: the whole story of one purchase, found by its payment too', async () => {
  const { orderId, paymentTx } = await buyKeys()
  const { code, stdout } = await run('orders', 'show', paymentTx)
  assert.equal(code, 0)
  assert.ok(stdout.startsWith(`${orderId}  confirmed`))
  assert.match(stdout, /order\.created\n.*payment\.settled\n.*order\.confirmed/)
  const missing = await run('orders', 'show', 'ord_nope')
  assert.deepEqual([missing.code, missing.stderr], [1, 'error: there is no order ord_nope\n'])
})

test('orders list and retry: filters, and nothing is hurried that has ended', async () => {
  const bought = await buyKeys()
  const { orders } = await ask<{ orders: { orderId: string }[] }>('orders', '--status', 'confirmed', '--limit', '1')
  assert.deepEqual(
    orders.map(({ orderId }) => orderId),
    [bought.orderId],
  )
  const { code, stdout } = await run('orders', 'retry', bought.orderId)
  assert.equal(code, 1)
  assert.match(stdout, /it is confirmed, and nothing is left to do/)
  const decided = await run('orders', 'decide', bought.orderId, 'not-delivered', '--by', 'mara')
  assert.equal(decided.code, 1)
  assert.match(decided.stdout, /is confirmed; there is no delivery of it to decide about/)
})

test('refund: needs a reason, gives the money back once, and shows in the story', async () => {
  const bought = await buyKeys()
  assert.equal((await run('refund', bought.orderId)).code, 2)
  const refunded = await run('refund', bought.orderId, '--reason', 'came too late', '--by', 'mara')
  assert.equal(refunded.code, 0, refunded.stderr)
  assert.match(refunded.stdout, /refunded: 1\.50 to 0x\w+ was sent by 0x/)
  const again = await run('refund', bought.orderId, '--reason', 'once more')
  assert.equal(again.code, 1)
  assert.match(again.stderr, /was refunded already/)
  assert.match((await run('orders', 'show', bought.orderId)).stdout, /refund .*by mara: came too late/)
})

test('reconcile: after all these purchases, chain and books agree', async () => {
  const { code, stdout } = await run('reconcile')
  assert.equal(code, 0, stdout)
  assert.equal(stdout.match(/agrees with the books/g)?.length, 2)
})

test('players: a new one is listed with the wallet, and a mistyped wallet is refused', async () => {
  const { address } = privateKeyToAccount(generatePrivateKey())
  assert.equal((await run('players', 'add', 'Nell', address)).code, 0)
  assert.match((await run('players')).stdout, new RegExp(`Nell +level 1 +${address}`))
  assert.equal((await run('players', 'add', 'Nell', '0x123')).code, 1)
})

test('verify-receipt: holds with the published keys and with saved ones, and not when a letter is changed', async () => {
  const { receipt } = await buyKeys()
  const [file, jwks] = [join(shop.dataDir, 'receipt.jws'), join(shop.dataDir, 'keys.json')]
  writeFileSync(file, receipt)
  writeFileSync(jwks, await (await fetch(`${shop.url}/.well-known/jwks.json`)).text())
  const online = await run('verify-receipt', file)
  assert.equal(online.code, 0, online.stderr)
  assert.match(online.stdout, /^valid: signed by http:\/\/localhost/)
  const offline = await sutler(['verify-receipt', '-', '--jwks', jwks], { input: receipt })
  assert.equal(offline.code, 0, offline.stderr)
  const [head, claims, signature] = receipt.split('.')
  const forged = [head, Buffer.from(`${Buffer.from(claims!, 'base64url')} `).toString('base64url'), signature].join('.')
  const refused = await run('verify-receipt', forged, '--jwks', jwks)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /this receipt is not valid/)
})

test('a wrong token, or nobody there, is told in a line', async () => {
  const wrong = await sutler(['orders', '--token', 'wrong'], { env: shop.env })
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /does not accept the operator token; set SUTLER_OPERATOR_TOKEN/)
  const silent = await run('orders', '--url', 'http://127.0.0.1:1')
  assert.equal(silent.code, 1)
  assert.match(silent.stderr, /nobody answers at http:\/\/127\.0\.0\.1:1; start the shop/)
  const busy = await run('migrate')
  assert.equal(busy.code, 1)
  assert.match(busy.stderr, /is in use by another process/)
})

test('C-10: a second shop on the folder of a running one refuses to start and says why, and the first goes on', async () => {
  // The second is this process: who runs it and from where is nothing that the folder knows.
  const { code, stderr } = await refusedStart({ ...shop.env, PORT: String(await freePort()) })
  assert.equal(code, 1)
  assert.match(stderr, /in use by another process; stop that one, or choose another folder/)
  assert.ok(stderr.includes(shop.dataDir), stderr)
  assert.equal((await fetch(`${shop.url}/health/ready`)).status, 200)
})
