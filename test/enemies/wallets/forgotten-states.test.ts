import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { encodeFunctionData, type Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { said } from '../../checkout/counter.ts'
import { encoded, paidElsewhere, paymentFor, preempt, requiredOf, sendFrom } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// Who is to blame for a revert is asked as of its block. Nodes throw old states away: then they refuse, or say that there is nothing.

let shop: TestShop
let waypoint: Waypoint = noWaypoint
/** What the node says as of a block, to each question: nothing yet. */
let forgetful: object | null = null
before(async () => {
  shop = await startShop({
    waypoint: (name) => waypoint(name),
    wrapTransport: (_chainId, transport) => async (request, answerBytesMax) =>
      forgetful !== null && ['eth_call', 'eth_getCode'].includes(request.method) && request.params[1] !== 'latest'
        ? forgetful
        : transport(request, answerBytesMax),
  })
})
after(() => shop.stop())
beforeEach(async () => {
  waypoint = noWaypoint
  forgetful = null
  await shop.store.db.query('delete from strikes')
})

const REFUSAL = { error: { code: -32000, message: 'missing trie node' } }
const EMPTY = { result: '0x' }

const anybody = () => privateKeyToAccount(generatePrivateKey())
const url = () => `${shop.url}/agentic/x402/buy`

async function buyWith(wallet: PrivateKeyAccount, beneficiary: string, signature?: Hex) {
  const body = { saleId: 392, beneficiary }
  const { payload, ...terms } = await paymentFor(wallet, requiredOf(await fetch(url(), post(body))))
  const payment = { ...terms, payload: { ...payload, signature: signature ?? payload.signature } }
  const show = () => fetch(url(), post(body, { 'payment-signature': encoded(payment) }))
  return { payment, show }
}

/** Takes every token. */
const RECEIVER: Hex = `0x7f${'150b7a02'.padEnd(64, '0')}5f5260205ff3`
const BURNER: Hex = '0xfe'

test('E28: the money of a mint that reverted goes back though a node says that the state of its block is empty', async () => {
  const { address } = anybody()
  await nativeCall(shop, 'dev_setCode', address, RECEIVER)
  const { show } = await buyWith(await fundedWallet(shop), address)
  waypoint = (name) => {
    if (name !== 'order.settled') return
    waypoint = async (later) => {
      if (later === 'send.signed') await nativeCall(shop, 'dev_setCode', address, BURNER)
      if (later !== 'send.mined') return
      waypoint = noWaypoint
      forgetful = EMPTY
    }
  }
  assert.equal((await said(await show())).refund?.status, 'refunded')
})

/** Takes every signature, after honest work of some 200,000 gas. */
const DEAR: Hex = `0x620400005f20507f${'1626ba7e'.padEnd(64, '0')}5f5260205ff3`
const SIGNATURE: Hex = `0x${'5c'.repeat(96)}`

/** Its owner pays elsewhere first, and takes the second promise back; by the time that this is looked at the node has forgotten the block. */
async function runDryAndCancel(wallet: PrivateKeyAccount, answer: object): Promise<Response> {
  await nativeCall(shop, 'dev_setCode', wallet.address, DEAR)
  const elsewhere = anybody().address
  const { payment, show } = await buyWith(wallet, elsewhere, SIGNATURE)
  waypoint = async (name) => {
    if (name === 'send.signed') await preempt(shop, paidElsewhere(payment, elsewhere))
    if (name !== 'send.mined') return
    waypoint = noWaypoint
    const { from, nonce } = payment.payload.authorization
    const args = [from, nonce, SIGNATURE] as const
    const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'cancelAuthorization', args })
    await sendFrom(shop.chains.native, anybody(), shop.config.x402!.asset, data)
    forgetful = answer
  }
  return show()
}

for (const [id, what, answer] of [
  ['E28', 'no node can tell any more why it failed', REFUSAL],
  ['E28', 'a node says that there was not even a token where it failed', EMPTY],
] as const)
  test(`${id}: a dear wallet that ran dry and took its promise back counts as such where ${what}`, async () => {
    const wallet = await fundedWallet(shop, 1n)
    assert.equal((await runDryAndCancel(wallet, answer)).status, 402)
    const { rows } = await shop.store.db.query('select subject, points from strikes order by subject')
    const own = (kind: string) => ({ subject: `${kind}:${wallet.address.toLowerCase()}`, points: 1 })
    assert.deepEqual(rows, [own('payer-today'), own('payer')])
  })
