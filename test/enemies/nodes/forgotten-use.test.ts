import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { payingCall } from '../../checkout/mpp-wallet.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { buyUrl, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'
import { forget } from '../support/pruned-nodes.ts'
import { startPull } from '../support/pull-payment.ts'

// Whoever shows a payment that is on the chain already has it looked for in the last 2,000 blocks. Nodes that keep fewer refuse the search, today and for ever.

const pruned = () => {
  throw new Refused({ code: -32000, message: 'history has been pruned for this block' })
}

const said = async (answer: Response) => {
  const { code, payment } = (await answer.json()) as { code: string; payment: { taken: unknown } }
  return { status: answer.status, code, taken: payment.taken }
}

test('E126: whoever shows a payment that somebody else has carried to the chain is answered, though the only node has thrown blocks away', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  const { request, credential } = await payFor(shop, rail, await fundedWallet(shop))
  await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
  meddler.meddle('eth_getLogs', pruned)
  const answer = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  assert.deepEqual(await said(answer), { status: 409, code: 'payment_conflict', taken: true })
})

test('E126: so is whoever shows a pull of which another transaction has landed, though both nodes have', async (t) => {
  const { meddler, other, wallet, challenge, send } = await startPull(t)
  await wallet.send(wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n, gas: 400_000n }))
  for (const node of [meddler, other]) node.meddle('eth_getLogs', pruned)
  const signature = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  const answer = await send({ type: 'transaction', signature })
  assert.deepEqual(await said(answer), { status: 409, code: 'payment_conflict', taken: 'unknown' })
})

test('E137: nor does whoever shows one hear that nothing was taken when nodes find nothing there, instead of refusing to look', async (t) => {
  const { shop, tempo, meddler, other, wallet, challenge, send } = await startPull(t)
  await wallet.send(wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n, gas: 400_000n }))
  for (let mined = 0; mined < 20; mined++) await tempo.request({ method: 'evm_mine', params: [] })
  for (const node of [meddler, other]) forget(node, shop)
  const signature = wallet.sign([payingCall(challenge)], { nonceKey: 0n, nonce: 0n })
  const answer = await send({ type: 'transaction', signature })
  assert.deepEqual(await said(answer), { status: 409, code: 'payment_conflict', taken: 'unknown' })
})
