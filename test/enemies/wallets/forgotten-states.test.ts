import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { said } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
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

const EMPTY = { result: '0x' }

const anybody = () => privateKeyToAccount(generatePrivateKey())
const url = () => `${shop.url}/agentic/x402/buy`

async function buyWith(wallet: PrivateKeyAccount, beneficiary: string) {
  const body = { saleId: 392, beneficiary }
  const payment = await paymentFor(wallet, requiredOf(await fetch(url(), post(body))))
  return { show: () => fetch(url(), post(body, { 'payment-signature': encoded(payment) })) }
}

/** Takes every token. */
const RECEIVER: Hex = `0x7f${'150b7a02'.padEnd(64, '0')}5f5260205ff3`
const BURNER: Hex = '0xfe'

test('E192: the money of a mint that reverted goes back though a node says that the state of its block is empty', async () => {
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
