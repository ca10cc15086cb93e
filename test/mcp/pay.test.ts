import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inspect } from 'node:util'
import type { PrivateKeyAccount } from 'viem/accounts'
import { problemSchema } from '../../src/api/http/problem-body.ts'
import type { Log, LogFields } from '../../src/base/log.ts'
import { fundedWallet } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { mppCredential, mppxClient, stockClients, x402Payload } from './payers.ts'
import { type CallOptions, type CallResult, callTool, rpc, statusWhen } from './rpc.ts'

const LOT = 392
const UNIT_PRICE = 250_000n
const X402_REQUIRED = 'x402/error'
const MPP_REQUIRED = 'org.paymentauth/payment-required'

let shop: TestShop
let mcp: string
const logged: string[] = []

before(async () => {
  shop = await startShop({ log: recorder(logged) })
  mcp = `${shop.url}/mcp`
})
after(() => shop.stop())

/** Everything that is handed to the log, before the log itself hides what looks like a secret. */
function recorder(lines: string[]): Log {
  const note = (message: string, fields?: LogFields) => void lines.push(inspect({ message, fields }, { depth: null }))
  const log: Log = { debug: note, info: note, warn: note, error: note, with: () => log }
  return log
}

const buy = (beneficiary: string, quantity = 1) => ({ saleId: LOT, quantity, beneficiary })

async function assertOwnsAll(result: CallResult, owner: string, quantity: number): Promise<void> {
  const { nfts } = result.structuredContent as { nfts: { contract: `0x${string}`; tokenId: string }[] }
  assert.equal(nfts.length, quantity)
  for (const { contract, tokenId } of nfts)
    assert.equal((await nftOwner(shop.chains.native, contract, tokenId)).toLowerCase(), owner.toLowerCase())
}

/** Asks without money, then sends what the payer made of the challenge. */
async function askAndPay(
  input: ReturnType<typeof buy>,
  pay: (unpaid: CallResult) => Promise<Record<string, unknown>>,
  options: CallOptions = {},
): Promise<{ paid: CallResult; meta: Record<string, unknown> }> {
  const meta = await pay(await callTool(mcp, 'buy_sale_lot', input, options))
  return { paid: await callTool(mcp, 'buy_sale_lot', input, { ...options, meta }), meta }
}

const withX402 = (payer: PrivateKeyAccount) => async (unpaid: CallResult) => ({
  'x402/payment': await x402Payload(payer, unpaid.structuredContent),
})
const withMpp =
  (payer: PrivateKeyAccount, mode: 'pull' | 'push' = 'pull') =>
  async (unpaid: CallResult) => ({
    'org.paymentauth/credential': await mppCredential(shop, payer, unpaid._meta[MPP_REQUIRED], mode),
  })

function assertAsksForMoney(result: CallResult, code?: string): void {
  assert.equal(result.isError, true)
  assert.ok(result._meta[X402_REQUIRED])
  assert.ok(result._meta[MPP_REQUIRED])
  if (code !== undefined) assert.match(result.content.at(-1)!.text, new RegExp(code))
}

function assertAsksForNothing(result: CallResult): void {
  assert.equal(result._meta[X402_REQUIRED], undefined)
  assert.equal(result._meta[MPP_REQUIRED], undefined)
  assert.equal(result.structuredContent?.['accepts'], undefined)
}

for (const kind of stockClients) {
  test(`mppx on ${kind} pays a tool, and the NFTs are on the chain`, async () => {
    const buyer = await fundedWallet(shop)
    const till = await mppPullUnderTest.till(shop)
    const client = await mppxClient(shop, buyer, kind)
    assert.equal(client.revision, kind === 'client v2, modern' ? '2026-07-28' : '2025-11-25')
    const result = await client.callTool('buy_sale_lot', buy(buyer.address, 2))
    await client.close()
    assert.equal(result.isError ?? false, false)
    await assertOwnsAll(result, buyer.address, 2)
    assert.equal((await mppPullUnderTest.till(shop)) - till, 2n * UNIT_PRICE)
    const { status, method, reference, challengeId } = result.receipt!
    assert.deepEqual([status, method], ['success', 'tempo'])
    assert.equal(reference, result.structuredContent!['paymentTx'])
    assert.equal(typeof challengeId, 'string')
  })
}

test('mppx pays a tool by push, and on the error that its draft defines', async () => {
  const buyer = await fundedWallet(shop)
  for (const [mode, path] of [
    ['push', '/mcp'],
    ['pull', '/mcp?challenge=error'],
  ] as const) {
    const client = await mppxClient(shop, buyer, 'SDK v1', mode, path)
    const result = await client.callTool('buy_sale_lot', buy(buyer.address))
    await client.close()
    await assertOwnsAll(result, buyer.address, 1)
  }
})

for (const era of ['legacy', 'modern'] as const) {
  for (const form of ['object', 'base64 text, as Cloudflare sends it'] as const) {
    test(`an x402 payment as ${form} settles in the ${era} era`, async () => {
      const buyer = await fundedWallet(shop)
      const till = await x402UnderTest.till(shop)
      const { paid } = await askAndPay(
        buy(buyer.address, 3),
        async (unpaid) => {
          // Cloudflare's client knows only this key; it is the same challenge.
          assert.deepEqual(unpaid._meta[X402_REQUIRED], unpaid.structuredContent)
          assert.deepEqual(JSON.parse(unpaid.content[0]!.text), unpaid.structuredContent)
          const payload = await x402Payload(buyer, unpaid._meta[X402_REQUIRED])
          const sent = form === 'object' ? payload : Buffer.from(JSON.stringify(payload)).toString('base64')
          return { 'x402/payment': sent }
        },
        { era },
      )
      assert.equal(paid.isError ?? false, false)
      await assertOwnsAll(paid, buyer.address, 3)
      assert.equal((await x402UnderTest.till(shop)) - till, 3n * UNIT_PRICE)
      const { success, transaction } = paid._meta['x402/payment-response'] as Record<string, unknown>
      assert.deepEqual([success, transaction], [true, paid.structuredContent!['paymentTx']])
    })
  }
}

test('a modern client that declares org.x402/payment is asked with the result type it knows, and only then', async () => {
  verifies('D19.4')
  const buyer = await fundedWallet(shop)
  const input = { name: 'buy_sale_lot', arguments: buy(buyer.address) }
  const declared = { era: 'modern', clientCapabilities: { extensions: { 'org.x402/payment': {} } } } as const
  const { body } = await rpc(mcp, 'tools/call', input, declared)
  assert.equal(body.result!['resultType'], 'payment_required')
  assert.equal(body.result!['isError'], undefined)
  const payload = await x402Payload(buyer, body.result!['paymentRequired'])
  const paid = await callTool(mcp, 'buy_sale_lot', buy(buyer.address), {
    ...declared,
    meta: { 'x402/payment': payload },
  })
  assert.equal(paid.resultType, 'complete')
  await assertOwnsAll(paid, buyer.address, 1)
  const undeclared = await callTool(mcp, 'buy_sale_lot', buy(buyer.address), { era: 'modern' })
  assert.equal(undeclared.resultType, 'complete')
  assertAsksForMoney(undeclared)
})

test('the error of the MPP draft comes only when a legacy client asks for it', async () => {
  const buyer = await fundedWallet(shop)
  const input = { name: 'buy_sale_lot', arguments: buy(buyer.address) }
  const { status, body } = await rpc(`${mcp}?challenge=error`, 'tools/call', input)
  assert.equal(status, 200)
  assert.equal(body.error!.code, -32042)
  assert.equal(body.error!.data!['httpStatus'], 402)
  assert.equal((body.error!.data!['challenges'] as unknown[]).length, 1)
  assert.ok(body.error!.data!['x402'])
  const credential = await mppCredential(shop, buyer, body.error!.data)
  const later = { ...(credential['challenge'] as object), expires: '2099-01-01T00:00:00.000Z' }
  for (const [sent, code] of [
    [{ ...credential, challenge: later }, -32043],
    ['junk', -32602],
  ] as const) {
    const refused = await rpc(`${mcp}?challenge=error`, 'tools/call', input, {
      meta: { 'org.paymentauth/credential': sent },
    })
    assert.equal(refused.body.error!.code, code)
    assert.equal((refused.body.error!.data!['challenges'] as unknown[]).length, 1)
  }
  assertAsksForMoney(await callTool(`${mcp}?challenge=error`, 'buy_sale_lot', buy(buyer.address), { era: 'modern' }))
})

const impossible = [
  { what: 'a missing argument', input: { saleId: LOT }, says: /invalid_request.*\/beneficiary/ },
  {
    what: 'a lot that is sold out',
    input: { ...buy('0x00000000000000000000000000000000000000aa'), saleId: 398 },
    says: /sold_out/,
  },
  {
    what: 'a key that is too short',
    input: { ...buy('0x00000000000000000000000000000000000000aa'), idempotencyKey: 'short' },
    says: /idempotencyKey/,
  },
]
for (const { what, input, says } of impossible) {
  test(`${what} is told in words, and no price is named`, async () => {
    verifies('D19.5')
    const result = await callTool(mcp, 'buy_sale_lot', input)
    assert.equal(result.isError, true)
    assert.match(result.content[0]!.text, says)
    const problem = problemSchema().parse(result._meta['sutler/problem'])
    assert.deepEqual([says.test(`${problem.code} ${problem.detail}`), problem.payment.taken], [true, false])
    assertAsksForNothing(result)
  })
}

for (const [rail, pay] of [
  ['x402', withX402],
  ['mpp', withMpp],
] as const) {
  test(`P-08: the same ${rail} payment again gets the same answer, and the money moves once`, async () => {
    const buyer = await fundedWallet(shop)
    const underTest = rail === 'x402' ? x402UnderTest : mppPullUnderTest
    const before = await underTest.balance(shop, buyer.address)
    const { paid, meta } = await askAndPay(buy(buyer.address), pay(buyer))
    const again = await callTool(mcp, 'buy_sale_lot', buy(buyer.address), { meta })
    assert.equal(again.content[0]!.text, paid.content[0]!.text)
    assert.equal(again._meta['sutler/replayed'], true)
    assert.equal(paid._meta['sutler/replayed'], undefined)
    assert.ok(before - (await underTest.balance(shop, buyer.address)) < 2n * UNIT_PRICE)

    const other = await callTool(mcp, 'buy_sale_lot', buy(buyer.address, 2), { meta })
    assert.equal(other.isError, true)
    assert.match(other.content[0]!.text, /payment_conflict/)
    assertAsksForNothing(other)
  })

  test(`P-08: a ${rail} payment for one is no payment for two`, async () => {
    const buyer = await fundedWallet(shop)
    const till = await (rail === 'x402' ? x402UnderTest : mppPullUnderTest).till(shop)
    const meta = await pay(buyer)(await callTool(mcp, 'buy_sale_lot', buy(buyer.address)))
    const refused = await callTool(mcp, 'buy_sale_lot', buy(buyer.address, 2), { meta })
    assertAsksForMoney(refused, 'not accepted')
    assert.equal(await (rail === 'x402' ? x402UnderTest : mppPullUnderTest).till(shop), till)
    // What is offered anew can be paid, and the first payment still buys what it was made for.
    const fresh = await pay(buyer)(refused)
    await assertOwnsAll(await callTool(mcp, 'buy_sale_lot', buy(buyer.address, 2), { meta: fresh }), buyer.address, 2)
    await assertOwnsAll(await callTool(mcp, 'buy_sale_lot', buy(buyer.address), { meta }), buyer.address, 1)
  })
}

test('a challenge is bound to its arguments, whatever they cost', async () => {
  verifies('D19.3')
  const [buyer, thief] = [await fundedWallet(shop), await fundedWallet(shop)]
  const meta = await withMpp(buyer)(await callTool(mcp, 'buy_sale_lot', buy(buyer.address)))
  const refused = await callTool(mcp, 'buy_sale_lot', buy(thief.address), { meta })
  assertAsksForMoney(refused, 'body')
  const reordered = { beneficiary: buyer.address, quantity: 1, saleId: LOT }
  await assertOwnsAll(await callTool(mcp, 'buy_sale_lot', reordered, { meta }), buyer.address, 1)
})

const forgeries: readonly { what: string; rail: 'x402' | 'mpp'; forge: (value: never) => unknown }[] = [
  { what: 'an x402 payment that is no object', rail: 'x402', forge: () => 7 },
  {
    what: 'an x402 payment to somebody else',
    rail: 'x402',
    forge: (value: { accepted: object }) => ({
      ...value,
      accepted: { ...value.accepted, payTo: `0x${'1'.repeat(40)}` },
    }),
  },
  {
    what: 'an x402 payment for another tool',
    rail: 'x402',
    forge: (value: { resource: object }) => ({
      ...value,
      resource: { ...value.resource, url: 'mcp://tool/craft_burn' },
    }),
  },
  { what: 'an MPP credential that is no object', rail: 'mpp', forge: () => 'junk' },
  {
    what: 'an MPP challenge with a smaller amount',
    rail: 'mpp',
    forge: (value: { challenge: { request: object } }) => ({
      ...value,
      challenge: { ...value.challenge, request: { ...value.challenge.request, amount: '1' } },
    }),
  },
  {
    what: 'an MPP challenge of another realm',
    rail: 'mpp',
    forge: (value: { challenge: object }) => ({ ...value, challenge: { ...value.challenge, realm: 'evil.example' } }),
  },
]
for (const { what, rail, forge } of forgeries) {
  test(`${what} is refused with a fresh challenge, and nothing is taken`, async () => {
    const buyer = await fundedWallet(shop)
    const underTest = rail === 'x402' ? x402UnderTest : mppPullUnderTest
    const till = await underTest.till(shop)
    const unpaid = await callTool(mcp, 'buy_sale_lot', buy(buyer.address))
    const [[key, value]] = Object.entries(await (rail === 'x402' ? withX402 : withMpp)(buyer)(unpaid)) as [
      [string, never],
    ]
    const refused = await callTool(mcp, 'buy_sale_lot', buy(buyer.address), { meta: { [key]: forge(value) } })
    assertAsksForMoney(refused, 'not accepted')
    assert.equal(await underTest.till(shop), till)
  })
}

test('two payments at once are refused, and neither is taken', async () => {
  verifies('D19.3')
  const buyer = await fundedWallet(shop)
  const unpaid = await callTool(mcp, 'buy_sale_lot', buy(buyer.address))
  const tills = [await x402UnderTest.till(shop), await mppPullUnderTest.till(shop)]
  const meta = { ...(await withX402(buyer)(unpaid)), ...(await withMpp(buyer)(unpaid)) }
  const { status, body } = await rpc(
    mcp,
    'tools/call',
    { name: 'buy_sale_lot', arguments: buy(buyer.address) },
    { meta },
  )
  assert.equal(status, 200)
  assert.equal(body.error!.code, -32602)
  assert.deepEqual([await x402UnderTest.till(shop), await mppPullUnderTest.till(shop)], tills)
})

test('an idempotency key buys once, whatever it is paid with', async () => {
  const buyer = await fundedWallet(shop)
  const input = { ...buy(buyer.address), idempotencyKey: 'order-of-the-day-1' }
  const first = await askAndPay(input, withX402(buyer))
  const till = await x402UnderTest.till(shop)
  const second = await askAndPay(input, withX402(buyer))
  assert.equal(second.paid.structuredContent!['orderId'], first.paid.structuredContent!['orderId'])
  assert.equal(second.paid._meta['sutler/replayed'], true)
  assert.equal(await x402UnderTest.till(shop), till)
  const other = await callTool(
    mcp,
    'buy_sale_lot',
    { ...input, quantity: 2 },
    { meta: await withX402(buyer)(await callTool(mcp, 'buy_sale_lot', { ...input, quantity: 2 })) },
  )
  assert.match(other.content[0]!.text, /idempotency_conflict/)
  assert.equal(await x402UnderTest.till(shop), till)
})

test('once money moved nothing asks for it again: a failed delivery is told, and the refund can be followed', async () => {
  const buyer = await fundedWallet(shop)
  const before = await mppPullUnderTest.balance(shop, buyer.address)
  const client = await mppxClient(shop, buyer, 'SDK v1')
  const result = await client.callTool('buy_sale_lot', { saleId: 399, beneficiary: buyer.address })
  assert.equal(result.isError, true)
  assertAsksForNothing(result)
  assert.match(result.content[0]!.text, /fulfilment_failed/)
  const { next } = result.structuredContent as { next: { tool: string; arguments: { reference: string } } }
  assert.equal(next.tool, 'get_purchase_status')
  const status = await statusWhen(mcp, next.arguments.reference, 'refunded')
  assert.deepEqual(status['refund'], (status['purchase'] as { refund: unknown }).refund)
  await client.close()
  // The payer paid the fee of one transfer, and nothing else.
  assert.ok(before - (await mppPullUnderTest.balance(shop, buyer.address)) < UNIT_PRICE / 10n)
})
