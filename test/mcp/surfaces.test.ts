import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { JsonObject } from '../../src/base/json.ts'
import { crafterAtWork, readyCrafter, TOKEN, timersOf } from '../craft/workshop.ts'
import { ledger, linkedBuyer } from '../shop/support.ts'
import { fundedWallet } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { mppCredential, mppxClient, x402Payload } from './payers.ts'
import { type CallResult, callTool, statusWhen } from './rpc.ts'

// The shop, the gateway and crafting through their tools. The sale, and everything that is the same for all of them, is in pay.test.ts.

const MPP_REQUIRED = 'org.paymentauth/payment-required'

let shop: TestShop
let mcp: string
before(async () => {
  shop = await startShop()
  mcp = `${shop.url}/mcp`
})
after(() => shop.stop())

/** Asks, pays the challenge of one rail with its stock client, and asks again with the payment. */
async function buy(
  rail: 'x402' | 'mpp',
  payer: PrivateKeyAccount,
  tool: string,
  input: JsonObject,
): Promise<CallResult> {
  const unpaid = await callTool(mcp, tool, input)
  const meta =
    rail === 'x402'
      ? { 'x402/payment': await x402Payload(payer, unpaid.structuredContent) }
      : { 'org.paymentauth/credential': await mppCredential(shop, payer, unpaid._meta[MPP_REQUIRED]) }
  const paid = await callTool(mcp, tool, input, { meta })
  assert.equal(paid.isError ?? false, false, paid.content[0]!.text)
  return paid
}

for (const [rail, recipient] of [
  ['x402', 'nickname'],
  ['mpp', 'address'],
  ['mpp', 'payer'],
] as const) {
  test(`an item for a player by ${recipient} is paid with ${rail} and stands in the game's ledger`, async () => {
    const { account, nickname } = await linkedBuyer(shop)
    const value = recipient === 'nickname' ? nickname : account.address
    const paid = await buy(rail, account, 'buy_shop_item', { itemId: 'lantern:1', quantity: 2, [recipient]: value })
    const { orderId } = paid.structuredContent as { orderId: string }
    const grants = (await ledger(shop, 'lantern:1')).filter((grant) => grant.orderId === orderId)
    assert.deepEqual(
      grants.map(({ nickname, quantity }) => ({ nickname, quantity })),
      [{ nickname, quantity: 2 }],
    )
  })
}

test('a recipient that only MPP can prove is offered on MPP alone', async () => {
  verifies('D19.4')
  const { account } = await linkedBuyer(shop)
  const input = { itemId: 'lantern:1', payer: account.address }
  const unpaid = await callTool(mcp, 'buy_shop_item', input)
  assert.ok(unpaid._meta[MPP_REQUIRED])
  assert.equal(unpaid._meta['x402/error'], undefined)
  assert.equal(unpaid.structuredContent, undefined)
  assert.match(unpaid.content[0]!.text, /0\.80 USD/)
})

test('a slow delivery answers with the receipt and the tool to poll, and ends delivered', async () => {
  const impatient = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 100 } }),
  })
  try {
    const buyer = await fundedWallet(impatient)
    const client = await mppxClient(impatient, buyer, 'client v2, modern')
    const till = await mppPullUnderTest.till(impatient)
    const result = await client.callTool('buy_shop_item', { itemId: 'keys:5', nickname: 'slow_delivery' })
    assert.equal(result.isError ?? false, false)
    assert.equal(result._meta[MPP_REQUIRED], undefined)
    const { status, next } = result.structuredContent as {
      status: string
      next: { tool: string; arguments: { reference: string } }
    }
    assert.ok(['settling', 'settled', 'submitted'].includes(status), status)
    assert.equal(next.tool, 'get_purchase_status')
    assert.match(result.content.at(-1)!.text, /Do not pay again/)
    const { purchase } = await statusWhen(`${impatient.url}/mcp`, next.arguments.reference, 'confirmed')
    assert.equal((purchase as { delivery: { state: string } }).delivery.state, 'delivered')
    assert.equal((await mppPullUnderTest.till(impatient)) - till, 1_500_000n)
    await client.close()
  } finally {
    await impatient.stop()
  }
})

test('lookup_player tells the payer about their own player, and a payer without one is not charged', async () => {
  const { account, nickname } = await linkedBuyer(shop)
  const paid = await buy('mpp', account, 'lookup_player', {})
  assert.equal((paid.structuredContent as { player: { nickname: string } }).player.nickname, nickname)
  const stranger = await fundedWallet(shop)
  const till = await mppPullUnderTest.till(shop)
  const unpaid = await callTool(mcp, 'lookup_player', {})
  const meta = { 'org.paymentauth/credential': await mppCredential(shop, stranger, unpaid._meta[MPP_REQUIRED]) }
  const refused = await callTool(mcp, 'lookup_player', {}, { meta })
  assert.match(refused.content[0]!.text, /player_not_linked/)
  assert.equal(refused._meta[MPP_REQUIRED], undefined)
  assert.equal(await mppPullUnderTest.till(shop), till)
})

test('a payment of the other protocol is not taken by a tool that has only one', async () => {
  const buyer = await fundedWallet(shop)
  const { structuredContent } = await callTool(mcp, 'check_payment_gateway', {})
  const payload = await x402Payload(buyer, structuredContent)
  const refused = await callTool(mcp, 'lookup_player', {}, { meta: { 'x402/payment': payload } })
  assert.equal(refused.isError, true)
  assert.match(refused.content[0]!.text, /takes no payment by x402/)
  assert.ok(refused._meta[MPP_REQUIRED])
})

test('check_payment_gateway proves a real settlement', async () => {
  const buyer = await fundedWallet(shop)
  const till = await x402UnderTest.till(shop)
  const paid = await buy('x402', buyer, 'check_payment_gateway', {})
  assert.equal((paid.structuredContent as { settled: boolean }).settled, true)
  assert.equal((await x402UnderTest.till(shop)) - till, 1_000n)
  const { paymentTx } = paid.structuredContent as { paymentTx: string }
  const status = await callTool(mcp, 'get_purchase_status', { paymentTx })
  assert.equal((status.structuredContent as { purchase: unknown }).purchase, null)
})

test('report_transaction records the hash, and only for money', async () => {
  const buyer = await fundedWallet(shop)
  const input = { userId: 'agent-7', txHash: `0x${'ab'.repeat(32)}` }
  const paid = await buy('x402', buyer, 'report_transaction', input)
  const { userId, txHash, duplicate } = paid.structuredContent as Record<string, unknown>
  assert.deepEqual({ userId, txHash, duplicate }, { ...input, duplicate: false })
})

for (const rail of ['x402', 'mpp'] as const) {
  test(`craft_burn paid with ${rail} moves the NFTs to the controller, as its quote said`, async () => {
    const crafter = await readyCrafter(shop)
    const input = { user: crafter.address, nfts: [...crafter.nfts] }
    const quote = await callTool(mcp, 'quote_craft_burn', input)
    assert.equal((quote.structuredContent as { executable: boolean }).executable, true, quote.content[0]!.text)
    const paid = await buy(rail, crafter.account, 'craft_burn', input)
    for (const { contract, tokenId } of crafter.nfts) {
      const owner = await nftOwner(shop.chains.native, contract, tokenId)
      assert.equal(owner.toLowerCase(), shop.world.contracts.craftController.toLowerCase())
    }
    const { actionId, status, actionTx, nfts } = paid.structuredContent as Record<string, unknown>
    for (const tool of ['get_craft_action', 'get_purchase_status']) {
      const { structuredContent } = await callTool(mcp, tool, { paymentTx: actionId as string })
      const action = (structuredContent!['purchase'] ?? structuredContent) as Record<string, unknown>
      assert.deepEqual([action['status'], action['actionTx'], action['nfts']], [status, actionTx, nfts])
    }
  })
}

test('craft_accelerate charges the craft token and shortens the timer, as its quote said', async () => {
  const crafter = await crafterAtWork(shop)
  const input = { user: crafter.address, amount: TOKEN.toString() }
  const quote = await callTool(mcp, 'quote_craft_accelerate', input)
  assert.equal((quote.structuredContent as { executable: boolean }).executable, true, quote.content[0]!.text)
  const before = await timersOf(shop, crafter)
  const paid = await buy('mpp', crafter.account, 'craft_accelerate', input)
  assert.equal((paid.structuredContent as { amount: string }).amount, TOKEN.toString())
  assert.notDeepEqual(await timersOf(shop, crafter), before)
})
