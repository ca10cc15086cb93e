import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { healthSchema } from '../../src/surfaces/gateway/probe.ts'
import { reportResultSchema } from '../../src/surfaces/gateway/report.ts'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { edited, mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

type Health = {
  ok: boolean
  settled: boolean
  network: string
  paymentTx: string
  payer: string
  latencyMs: number
  time: string
  orderId: string
}
type Report = {
  reportId: string
  userId: string
  txHash: string
  duplicate: boolean
  chain: { network: string; status: string } | null
  paymentTx: string
  recordedAt: string
  orderId: string
}
type Refusal = { code: string; payment: { taken: boolean } }

let shop: TestShop
let buyer: PrivateKeyAccount
/** Chains that do not answer. */
const silent = new Set<number>()
before(async () => {
  shop = await startShop({
    // Twenty at once may take a slow machine longer than a buyer would be made to wait.
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 600_000 } }),
    wrapTransport: (chainId, transport) => async (request) => {
      if (silent.has(chainId) && request.method === 'eth_getTransactionReceipt') throw new Error('nobody answers')
      return transport(request)
    },
  })
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())

const reportUrl = () => `${shop.url}/x402/report-tx`
const report = async (body: object, payer = buyer): Promise<Report> => {
  const response = await x402Payer(payer)(reportUrl(), post(body))
  assert.equal(response.status, 200)
  return (await response.json()) as Report
}
const unseen = (digits: string) => `0x${digits.repeat(32)}`

async function rows<Row>(sql: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
  return (await shop.store.db.query<Row>(sql, values)).rows
}
const reports = () => rows<{ id: string; payer: string; user_id: string }>('select * from reports')

test('a paid health probe settles for real and tells how long it took', async () => {
  verifies('1.4', '4.2.1', '5.1')
  const before = await x402UnderTest.till(shop)
  const response = await x402Payer(buyer)(`${shop.url}/x402/cheap-health`)
  assert.equal(response.status, 200)
  assert.ok(response.headers.get('payment-response'))
  const health = (await response.json()) as Health
  assert.equal((await x402UnderTest.till(shop)) - before, 1_000n)
  const { ok, settled, network, payer } = health
  assert.deepEqual(
    { ok, settled, network, payer },
    { ok: true, settled: true, network: 'eip155:84532', payer: buyer.address },
  )
  assert.ok(health.latencyMs >= 0 && !Number.isNaN(Date.parse(health.time)))
  const receipt = await shop.chains.native.request({ method: 'eth_getTransactionReceipt', params: [health.paymentTx] })
  assert.equal((receipt as { status: string }).status, '0x1')
  assert.deepEqual(healthSchema.parse(health), health)
})

test('a health probe has no parameters, and costs a thousandth of a dollar', async () => {
  verifies('4.2.1', '8.3')
  const unpaid = await fetch(`${shop.url}/x402/cheap-health`)
  assert.equal(unpaid.status, 402)
  const required = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString())
  assert.equal(required.accepts[0].amount, '1000')
  assert.equal((await fetch(`${shop.url}/x402/cheap-health`, { method: 'POST' })).status, 405)
})

test('M-05: the first call may be empty; only the paid one, with its body, records the report', async () => {
  verifies('1.4', '4.2.2', '4.2.3', '4.2.4', '5.1', '7.1')
  const body = { userId: 'user-7', txHash: unseen('a7') }
  for (const probe of [{ method: 'POST' }, post({})]) {
    const unpaid = await fetch(reportUrl(), probe)
    assert.equal(unpaid.status, 402)
    const before = (await reports()).length
    const credential = await x402UnderTest.pay(shop, buyer, unpaid)
    assert.equal((await reports()).length, before)
    const paid = await fetch(reportUrl(), post(body, { 'payment-signature': credential }))
    assert.equal(paid.status, 200)
  }
  assert.equal((await reports()).filter(({ user_id }) => user_id === 'user-7').length, 1)
})

test('a report is recorded with its payer and the chain’s word, and told in exactly one event', async () => {
  verifies('1.4', '4.2.2', '8.3')
  const health = (await (await x402Payer(buyer)(`${shop.url}/x402/cheap-health`)).json()) as Health
  const body = { userId: 'user-1', txHash: health.paymentTx.toUpperCase().replace('0X', '0x') }
  const before = await x402UnderTest.till(shop)
  const recorded = await report(body)
  assert.equal((await x402UnderTest.till(shop)) - before, 1_000n)
  assert.deepEqual(recorded.chain, { network: 'eip155:84532', status: 'success' })
  assert.deepEqual([recorded.userId, recorded.txHash, recorded.duplicate], ['user-1', health.paymentTx, false])
  assert.deepEqual(reportResultSchema.parse(recorded), recorded)
  const events = await rows<{ type: string; sequence: number; data: Report & { payer: string } }>(
    'select type, sequence, data from events where subject = $1',
    [recorded.reportId],
  )
  assert.deepEqual(
    events.map(({ type, sequence }) => [type, sequence]),
    [['report.recorded', 1]],
  )
  assert.deepEqual([events[0]!.data.txHash, events[0]!.data.payer], [health.paymentTx, buyer.address])
})

test('the same report again is paid for, recorded once and called a duplicate; another user’s is not', async () => {
  verifies('D6.9')
  const body = { userId: 'user-2', txHash: unseen('b2') }
  const first = await report(body)
  const second = await report({ ...body, txHash: unseen('B2') }, await fundedWallet(shop))
  assert.deepEqual([first.duplicate, second.duplicate, second.reportId], [false, true, first.reportId])
  assert.notEqual(second.paymentTx, first.paymentTx)
  assert.equal(second.recordedAt, first.recordedAt)
  const other = await report({ ...body, userId: 'user-3' })
  assert.deepEqual([other.duplicate, other.reportId === first.reportId], [false, false])
  const events = await rows(`select 1 from events where type = 'report.recorded' and subject = $1`, [first.reportId])
  assert.equal(events.length, 1)
})

test('twenty reports of the same transaction at once are one record and one event', async () => {
  const body = { userId: 'user-20', txHash: unseen('20') }
  const credentials = await Promise.all(
    Array.from({ length: 20 }, async () => x402UnderTest.pay(shop, buyer, await fetch(reportUrl(), post(body)))),
  )
  const answers = await Promise.all(
    credentials.map(async (credential) => fetch(reportUrl(), post(body, { 'payment-signature': credential }))),
  )
  const all = await Promise.all(answers.map((answer) => answer.json() as Promise<Report>))
  assert.equal(new Set(all.map(({ reportId }) => reportId)).size, 1)
  assert.equal(all.filter(({ duplicate }) => !duplicate).length, 1)
  const [first] = all
  assert.equal((await rows('select 1 from events where subject = $1', [first!.reportId])).length, 1)
})

test('a report is recorded whatever the chain says: reverted, unknown, or silent', async () => {
  verifies('D6.9')
  const reverted = await revertedTransaction()
  const onTempo = await mppPayment()
  assert.deepEqual((await report({ userId: 'user-4', txHash: reverted })).chain, {
    network: 'eip155:84532',
    status: 'reverted',
  })
  assert.equal((await report({ userId: 'user-4', txHash: unseen('0d') })).chain, null)
  assert.equal((await report({ userId: 'user-4', txHash: onTempo })).chain?.network, 'tempo:42431')
  silent.add(42431)
  assert.equal((await report({ userId: 'user-5', txHash: onTempo })).chain, null)
  silent.clear()
})

test('A-01: reporting for another user gives nobody any power: it is recorded with who paid', async () => {
  const stranger = await fundedWallet(shop)
  const recorded = await report({ userId: 'somebody-else', txHash: unseen('c8') }, stranger)
  const [row] = (await reports()).filter(({ id }) => id === recorded.reportId)
  assert.deepEqual([row?.user_id, row?.payer], ['somebody-else', stranger.address])
})

test('the body is two fields and nothing else', async () => {
  verifies('2.4.1', '2.4.2', '2.4.4')
  const fine = { userId: 'user-6', txHash: unseen('06') }
  for (const [body, code] of [
    [{ ...fine, note: 'hello' }, 'unknown_property'],
    [{ ...fine, txHash: '0x12' }, 'invalid_request'],
    [{ ...fine, txHash: unseen('zz') }, 'invalid_request'],
    [{ ...fine, userId: '' }, 'invalid_request'],
    [{ ...fine, userId: 'a\u0000b' }, 'invalid_request'],
    [{ ...fine, userId: 7 }, 'invalid_request'],
    [{ userId: 'user-6' }, 'invalid_request'],
  ] as const) {
    const response = await fetch(reportUrl(), post(body))
    assert.equal(response.status, 400)
    assert.equal(((await response.json()) as Refusal).code, code)
  }
})

test('a payment without `resource` or `accepted` is refused, and nothing is recorded', async () => {
  verifies('4.2.5')
  const body = { userId: 'user-9', txHash: unseen('99') }
  for (const member of ['resource', 'accepted']) {
    const credential = await x402UnderTest.pay(shop, buyer, await fetch(reportUrl(), post(body)))
    const without = edited(credential, (value) => {
      const { [member]: _left, ...rest } = value
      return rest
    })
    const response = await fetch(reportUrl(), post(body, { 'payment-signature': without }))
    assert.equal(response.status, 400)
    const refusal = (await response.json()) as Refusal
    assert.deepEqual([refusal.code, refusal.payment.taken], ['payment_payload_invalid', false])
  }
  assert.equal((await reports()).filter(({ user_id }) => user_id === 'user-9').length, 0)
})

test('A-05: what became of a report’s payment can be read by anybody, the report cannot', async () => {
  const recorded = await report({ userId: 'user-secret', txHash: unseen('5e') })
  const seen = await fetch(`${shop.url}/payments/${recorded.paymentTx}`)
  assert.equal(seen.status, 200)
  const text = await seen.text()
  for (const secret of ['user-secret', unseen('5e'), recorded.reportId, recorded.orderId])
    assert.ok(!text.includes(secret))
})

async function revertedTransaction(): Promise<string> {
  const count = (await shop.chains.native.request({
    method: 'eth_getTransactionCount',
    params: [buyer.address, 'latest'],
  })) as string
  const raw = await buyer.signTransaction({
    type: 'eip1559',
    chainId: shop.chains.native.chainId,
    nonce: Number(count),
    to: shop.config.x402!.asset,
    // A transfer of more than the buyer has.
    data: `0xa9059cbb${'11'.repeat(32)}${'ff'.repeat(32)}`,
    gas: 200_000n,
    maxFeePerGas: 10_000_000_000n,
    maxPriorityFeePerGas: 0n,
  })
  const receipt = await shop.chains.native.request({ method: 'eth_sendRawTransactionSync', params: [raw] })
  const { status, transactionHash } = receipt as { status: string; transactionHash: string }
  assert.equal(status, '0x0')
  return transactionHash
}

async function mppPayment(): Promise<string> {
  const url = `${shop.url}/agentic/mpp/buy`
  const body = { saleId: 392, beneficiary: buyer.address }
  const credential = await mppPullUnderTest.pay(shop, buyer, await fetch(url, post(body)))
  const bought = await fetch(url, post(body, { authorization: credential }))
  return ((await bought.json()) as { paymentTx: string }).paymentTx
}
