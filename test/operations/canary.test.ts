import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { stringify } from '../../src/base/json.ts'
import { createLog } from '../../src/base/log.ts'
import type { Secret } from '../../src/base/secret.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import {
  edited,
  mppPullUnderTest,
  mppPushUnderTest,
  type RailUnderTest,
  x402UnderTest,
} from '../support/credentials.ts'
import { watchLeaks } from '../support/leaks.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { asOperator, buy, buyUrl, CURSED_LOT, LOT, payFor } from './desk.ts'

const OPERATOR_TOKEN = 'canary-operator-token-0123456789abcdef'
const WRONG_TOKEN = 'canary-wrong-token-fedcba9876543210'

/** Everything that must never be seen again, by what it is. */
const canaries = new Map<string, string>()
/** Everything that leaves the shop, but for what is handed to its owner. */
const outputs: string[] = []
let shop: TestShop
let buyer: PrivateKeyAccount

before(async () => {
  shop = await startShop({
    env: { SUTLER_OPERATOR_TOKEN: OPERATOR_TOKEN, SUTLER_WEBHOOK_LOOPBACK: 'true' },
    log: createLog({ level: 'debug', clock: systemClock, write: (line) => outputs.push(line) }),
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 500, receiptWaitMs: 100 } }),
  })
  buyer = await fundedWallet(shop)
  const { x402, mpp, game, receipts } = shop.config
  const plant = (name: string, value: string) => canaries.set(name, value)
  plant('operator token', OPERATOR_TOKEN)
  plant('wrong operator token', WRONG_TOKEN)
  plant('treasury key', (x402!.treasuryKey as Secret).reveal())
  if (x402!.facilitator.kind === 'inproc') plant('settler key', (x402!.facilitator.settlerKey as Secret).reveal())
  plant('minter key', (game.sale!.minterKey as Secret).reveal())
  plant('crafter key', (game.craft!.crafterKey as Secret).reveal())
  plant('receipt key', receipts.key.reveal())
  plant('challenge secret', mpp!.secrets[0].reveal())
})
after(() => shop.stop())

/** A credential as it travels, and the part of it that gives it its power. */
function plantCredential(rail: RailUnderTest, credential: string): string {
  const name = `${rail.name} credential ${canaries.size}`
  const encoded = credential.replace(/^Payment\s+/, '')
  canaries.set(name, encoded)
  const { payload } = JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8')) as {
    payload: { signature?: string }
  }
  if (payload.signature) canaries.set(`${name}, its signature`, payload.signature)
  return credential
}

async function record(response: Response): Promise<Response> {
  outputs.push(stringify(Object.fromEntries(response.headers)), await response.clone().text())
  return response
}

function assertUnseen(where: string): void {
  const all = outputs.join('\n').toLowerCase()
  for (const [name, value] of canaries) {
    // A piece is as bad as the whole: keys lose their 0x, credentials are cut.
    const piece = value.replace(/^0x/, '').slice(0, 60).toLowerCase()
    assert.equal(all.includes(piece), false, `${name} was seen in ${where}`)
  }
}

const fault = (chain: TestShop['chains']['native'], kind: string, more: object = {}) =>
  chain.request({ method: 'dev_fault', params: [{ kind, ...more }] })

test('K-01: whatever happens to a purchase, no key and no credential is in a log, an answer, an event, a webhook or a figure', async (context) => {
  const receiver = await startReceiver((_message, count) => (count % 2 ? 500 : 200))
  context.after(() => receiver.stop())
  const added = await asOperator(shop, '/operator/webhooks', post({ url: receiver.url }))
  const { id, secret } = (await added.json()) as { id: string; secret: string }
  canaries.set('webhook secret', secret)

  for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest]) {
    const chain = rail.rail === 'x402' ? shop.chains.native : shop.chains.tempo
    const send = async (request: object, credential: string) =>
      record(await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential })))
    const pay = async (lot = LOT) => {
      const { request, credential } = await payFor(shop, rail, buyer, lot)
      return { request, credential: plantCredential(rail, credential) }
    }
    await record(await fetch(buyUrl(shop, rail), post({ ...LOT, beneficiary: buyer.address })))
    for (const lot of [LOT, CURSED_LOT]) {
      const { request, credential } = await pay(lot)
      await send(request, credential)
      await send(request, credential)
      await send({ ...request, quantity: 2 }, credential)
    }
    // Credentials that are no good, in every way that has an answer of its own.
    const { request, credential } = await pay()
    await send(request, credential.slice(0, -7))
    await send(
      request,
      edited(credential, (value) => ({ ...value, more: 'members' })),
    )
    await send(
      request,
      edited(credential, () => []),
    )
    await send({ ...request, beneficiary: credential.slice(0, 200) }, credential)
    // The chain fails at every turn.
    for (const kind of ['refuse', 'lose', 'revert', 'drop']) {
      const { request, credential } = await pay()
      const method = kind === 'refuse' || kind === 'lose' ? { method: 'eth_sendRawTransaction' } : {}
      await fault(chain, kind, { ...method, message: 'insufficient funds for gas' })
      await send(request, credential)
      await chain.request({ method: 'dev_clearFaults' })
    }
  }
  for (const authorization of [`Bearer ${WRONG_TOKEN}`, WRONG_TOKEN])
    await record(await fetch(`${shop.url}/events`, { headers: { authorization } }))
  const open = async () => {
    const { rows } = await shop.store.db.query<{ n: string }>(
      `select count(*) as n from orders where status not in ('confirmed', 'refunded', 'expired', 'settling')`,
    )
    return Number(rows[0]!.n)
  }
  await until(async () => (await open()) === 0)
  await until(() => receiver.taken.length > 5)
  for (const { headers, body } of receiver.messages)
    outputs.push(body, stringify({ ...headers, 'webhook-signature': undefined }))
  for (const path of ['/events?limit=1000', '/metrics', '/operator/webhooks', `/operator/webhooks/${id}/deliveries`])
    await record(await asOperator(shop, path))
  await record(await asOperator(shop, '/operator/reconcile', { method: 'POST' }))
  assertUnseen('the outputs')
  assert.ok(outputs.length > 100 && canaries.size > 30, 'there was something to see')
})

test('the log names requests, flows and orders by their ids: what a buyer reports can be found', async () => {
  verifies('D6.6')
  const lines = (text: string) =>
    outputs.filter((line) => line.startsWith('{"time"') && line.includes(text)).map((line) => JSON.parse(line))
  // A buyer of its own: a payment before it that is not through yet would be in the way.
  const buyer = await fundedWallet(shop)
  const flow = { 'x-flow-id': 'flow-of-the-canary' }
  const url = buyUrl(shop, x402UnderTest)
  const body = { ...LOT, beneficiary: buyer.address }
  const credential = await x402UnderTest.pay(shop, buyer, await fetch(url, post(body)))
  const bought = await fetch(url, post(body, { ...flow, [x402UnderTest.header]: credential }))
  const { orderId, flowId } = (await bought.json()) as { orderId: string; flowId: string }
  assert.equal(flowId, flow['x-flow-id'])
  await until(() => lines(orderId).some(({ status }) => status === 'confirmed'))
  for (const line of lines(orderId)) assert.equal(line.flowId, flowId, JSON.stringify(line))
  const refused = await fetch(url, post({ ...body, quantity: 0 }, flow))
  const { requestId } = (await refused.json()) as { requestId: string }
  const [line] = lines(requestId)
  assert.deepEqual([line.flowId, line.status, line.path], [flowId, 400, '/agentic/x402/buy'])
})

test('K-01: nothing that could be spent again is kept in the store once its outcome is known', async () => {
  const { body, credential } = await buy(shop, mppPullUnderTest, await fundedWallet(shop))
  await until(async () => (await shop.service.checkout.orders.byId(body.orderId))!.status === 'confirmed')
  plantCredential(mppPullUnderTest, credential)
  const { rows } = await shop.store.db.query<{ row: string }>(
    `select to_jsonb(o)::text as row from orders o where status <> 'settling'
     union all select to_jsonb(e)::text from events e
     union all select to_jsonb(i)::text from payment_identities i`,
  )
  outputs.splice(0, outputs.length, ...rows.map(({ row }) => row))
  assertUnseen('the store')
})

test('K-01: every shop of this suite is watched for secrets and credentials in its log, and the watch sees them', () => {
  const key = sandboxKey('minter').reveal()
  for (const leak of [key, key.slice(2).toUpperCase(), `whsec_${'a'.repeat(32)}`]) {
    const watch = watchLeaks()
    watch.guard(shop.config)
    watch.log.with({ orderId: 'ord_1' }).info('a careless line', { error: new Error(`failed with ${leak}`) })
    assert.throws(() => watch.assertNothingLeaked(), leak)
  }
  const watch = watchLeaks()
  watch.guard(shop.config)
  watch.log.error('a line as it should be', { paymentTx: `0x${'ab'.repeat(32)}`, config: shop.config })
  watch.assertNothingLeaked()
})

test('K-01: no public document and no print of the configuration shows a secret', async () => {
  outputs.splice(0)
  for (const route of shop.service.routes)
    if (route.kind === 'free' && route.method === 'GET' && !route.path.includes('{'))
      await record(await fetch(shop.url + route.path))
  for (const path of ['/openapi.json', '/openapi.full.json', '/llms.txt', '/.well-known/x402', '/catalog'])
    await record(await fetch(shop.url + path))
  outputs.push(stringify(shop.config), inspect(shop.config, { depth: 10 }), String(shop.config.operatorToken))
  assertUnseen('a document')
})
