import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encodeFunctionData } from 'viem'
import { testTip20 } from '../../../src/artifacts/TestTip20.ts'
import { said } from '../../checkout/counter.ts'
import { challengeOf, credentialOf, type MppWallet, memoOf, mppWallet } from '../../checkout/mpp-wallet.ts'
import { type Nft, newCrafter, readyCrafter } from '../../craft/workshop.ts'
import { post } from '../../support/buyers.ts'
import { pathUsdOf } from '../../support/chain-reads.ts'
import { nftOwner, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { verifies } from '../../support/verifies.ts'

// A payer is whoever signed the transfer. Who was allowed to spend for somebody else is not that somebody.

let shop: TestShop
before(async () => {
  shop = await startShop({ env: { SUTLER_RECONCILE_SECONDS: '1', SUTLER_RETURN_AFTER_SECONDS: '5' } })
})
after(() => shop.stop())

const token = () => shop.config.mpp!.currency.address

/** The thief pays with the victim's money, by an allowance that the victim gave for something else. */
async function payWithAllowance(thief: MppWallet, victim: MppWallet, path: string, body?: object): Promise<Response> {
  const url = `${shop.url}${path}`
  const unpaid = await fetch(url, body ? post(body) : { method: 'POST' })
  const challenge = challengeOf(unpaid)
  const amount = BigInt(challenge.request.amount)
  const allow = encodeFunctionData({ abi: testTip20.abi, functionName: 'approve', args: [thief.address, amount] })
  await victim.send(victim.sign([{ to: token(), data: allow }]))
  const data = encodeFunctionData({
    abi: testTip20.abi,
    functionName: 'transferFromWithMemo',
    args: [victim.address, challenge.request.recipient, amount, memoOf(challenge)],
  })
  const hash = await thief.send(thief.sign([{ to: token(), data }]))
  const authorization = credentialOf(challenge, { type: 'hash', hash }, `did:pkh:eip155:42431:${victim.address}`)
  return fetch(url, body ? post(body, { authorization }) : { method: 'POST', headers: { authorization } })
}

async function assertSentBack(response: Response): Promise<void> {
  const { code, payment } = await said(response)
  assert.deepEqual([response.status, code, payment.taken], [409, 'payment_returned', true])
}

test('E1: an allowance of a victim burns none of the victim’s tokens', async () => {
  verifies('D5.15')
  const victim = await mppWallet(shop)
  const { nfts } = await readyCrafter(shop, undefined, victim.account)
  const answer = await payWithAllowance(await mppWallet(shop), victim, '/craft/mpp/burn', {
    user: victim.address,
    nfts,
  })
  await assertSentBack(answer)
  for (const { contract, tokenId } of nfts satisfies readonly Nft[])
    assert.equal(await nftOwner(shop.chains.native, contract, tokenId), victim.address.toLowerCase())
})

test('E1: an allowance of a victim looks up nobody', async () => {
  const victim = await mppWallet(shop)
  await newCrafter(shop, victim.account)
  const answer = await payWithAllowance(await mppWallet(shop), victim, '/shop/mpp/player-lookup')
  await assertSentBack(answer)
})

test('E1: an allowance of a victim buys nothing for anybody, and goes back to where it came from', async () => {
  verifies('D5.15', 'D14.4')
  const [thief, victim] = [await mppWallet(shop), await mppWallet(shop)]
  const body = { saleId: 392, beneficiary: thief.address }
  const answer = await payWithAllowance(thief, victim, '/agentic/mpp/buy', body)
  const paid = await pathUsdOf(shop, victim.address)
  await assertSentBack(answer.clone())
  const { refund } = await said(answer)
  assert.equal((refund as unknown as { to: string }).to.toLowerCase(), victim.address.toLowerCase())
  await until(async () => (await pathUsdOf(shop, victim.address)) === paid + 250_000n)
})
