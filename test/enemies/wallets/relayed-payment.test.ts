import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { evm, Mppx } from 'mppx/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Hex } from '../../../src/base/hex.ts'
import { said } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf } from '../../checkout/x402-wallet.ts'
import {
  approveAll,
  approveNfts,
  approveTokens,
  type Crafter,
  crafterAtWork,
  disapproveNft,
  finalStatus,
  newCrafter,
  PRICE,
  refunded,
  TOKEN,
} from '../../craft/workshop.ts'
import { mppCredential, x402Payload } from '../../mcp/payers.ts'
import { callTool } from '../../mcp/rpc.ts'
import { linkedBuyer } from '../../shop/support.ts'
import { mppPayer, type Pay, post, x402Payer } from '../../support/buyers.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// A site asks for a small payment, hands the shop's own challenge on, and shows the shop what its visitor signed. The visitor's client is a stock one
// and has done nothing wrong: it paid the site.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

/** A site of a thief: whatever its visitor sends, it asks the shop for this. */
function site(path: string, body: object): typeof fetch {
  return async (input, init) => {
    const { headers } = new Request(input, init)
    const names = ['payment-signature', 'authorization'] as const
    const payment = Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : [])))
    const answer = await fetch(shop.url + path, post(body, payment))
    return new Response(await answer.text(), { status: answer.status, headers: answer.headers })
  }
}

type Visit = (thief: typeof fetch) => Promise<Response>
const WEATHER = 'https://weather.example/today'

async function evmVisit(account: PrivateKeyAccount, thief: typeof fetch): Promise<Response> {
  const mppx = Mppx.create({ methods: [evm.charge({ account })], polyfill: false, fetch: thief })
  return mppx.fetch(WEATHER)
}

const visitors: Readonly<
  Record<string, { readonly rail: 'x402' | 'mpp'; readonly of: (account: PrivateKeyAccount) => Visit }>
> = {
  '@x402/fetch': { rail: 'x402', of: (account) => (thief) => x402Payer(account, thief)(WEATHER) },
  'mppx on x402': { rail: 'x402', of: (account) => (thief) => evmVisit(account, thief) },
  'mppx by pull': { rail: 'mpp', of: (account) => (thief) => mppPayer(shop, account, 'pull', thief)(WEATHER) },
  'mppx by push': { rail: 'mpp', of: (account) => (thief) => mppPayer(shop, account, 'push', thief)(WEATHER) },
}

/** Who approved for all purposes, long ago: three NFTs, and a hundred craft tokens. */
async function victimAtWork(): Promise<Crafter> {
  const victim = await crafterAtWork(shop)
  for (const nft of left(victim)) await disapproveNft(victim, nft)
  for (const collection of shop.world.contracts.collections) await approveAll(shop, victim, collection, true)
  await approveTokens(shop, victim, 100n * TOKEN)
  return victim
}

const left = ({ nfts }: Crafter) => nfts.slice(1)
const tokensOf = ({ address }: Crafter) => erc20Balance(shop.chains.native, shop.world.contracts.craftToken, address)
const dollarsOf = async ({ address }: Crafter) =>
  (await erc20Balance(shop.chains.native, shop.config.x402!.asset, address)) +
  (await erc20Balance(shop.chains.tempo, shop.config.mpp!.currency.address, address))
const ownersOf = ({ nfts }: Crafter) =>
  Promise.all(nfts.map(({ contract, tokenId }) => nftOwner(shop.chains.native, contract, tokenId)))

const deeds = (victim: Crafter) => ({
  burn: { user: victim.address, nfts: left(victim) },
  accelerate: { user: victim.address, amount: String(2n * TOKEN) },
})

for (const [name, { rail, of }] of Object.entries(visitors)) {
  test(`A-10: what ${name} signed for another site neither burns nor charges what was approved widely`, async () => {
    verifies('D7.10')
    const victim = await victimAtWork()
    const before = await Promise.all([ownersOf(victim), tokensOf(victim), dollarsOf(victim)])
    for (const [deed, body] of Object.entries(deeds(victim))) {
      const answer = await of(victim.account)(site(`/craft/${rail}/${deed}`, body))
      const { code, reason, payment, retry } = (await said(answer)) as Awaited<ReturnType<typeof said>> & Moved
      if (name !== 'mppx by push') {
        assert.deepEqual([answer.status, code, payment.taken], [403, 'approval_too_wide', false])
        continue
      }
      // That money had moved before the shop heard of it.
      assert.deepEqual([answer.status, code, reason], [409, 'fulfilment_failed', 'approval_too_wide'])
      const ended = (await finalStatus(retry.statusUrl)) as Parameters<typeof refunded>[2]
      assert.equal(await refunded(shop, 'mpp', ended), PRICE)
    }
    const [owners, tokens, dollars] = await Promise.all([ownersOf(victim), tokensOf(victim), dollarsOf(victim)])
    assert.deepEqual([owners, tokens], before.slice(0, 2))
    // A push costs its sender the fee of the chain.
    if (name !== 'mppx by push') assert.equal(dollars, before[2])
  })
}

type Moved = { readonly reason?: string; readonly retry: { readonly statusUrl: string } }

for (const rail of ['x402', 'mpp'] as const) {
  test(`A-10: nor does a ${rail} payment that is handed on by a site of tools`, async () => {
    verifies('D7.10')
    const victim = await victimAtWork()
    const before = await Promise.all([ownersOf(victim), tokensOf(victim), dollarsOf(victim)])
    for (const [deed, input] of Object.entries(deeds(victim))) {
      const unpaid = await callTool(`${shop.url}/mcp`, `craft_${deed}`, input)
      const meta =
        rail === 'x402'
          ? { 'x402/payment': await x402Payload(victim.account, unpaid.structuredContent) }
          : {
              'org.paymentauth/credential': await mppCredential(
                shop,
                victim.account,
                unpaid._meta['org.paymentauth/payment-required'],
              ),
            }
      const refused = await callTool(`${shop.url}/mcp`, `craft_${deed}`, input, { meta })
      assert.equal(refused.isError, true)
      assert.match(refused.content[0]!.text, /approval_too_wide/)
    }
    assert.deepEqual(await Promise.all([ownersOf(victim), tokensOf(victim), dollarsOf(victim)]), before)
  })
}

test('A-10: nor does an x402 payment whose nonce the site chose, to commit to the very request', async () => {
  verifies('D7.10')
  const victim = await victimAtWork()
  for (const [deed, input] of Object.entries(deeds(victim))) {
    const path = `/craft/x402/${deed}`
    const body = JSON.stringify(input)
    const required = requiredOf(await fetch(shop.url + path, post(body)))
    const digest = `sha-256=${hash('sha256', body, 'base64')}`
    const words = [required.resource.url, digest, required.accepts[0].extra.claim]
    const nonce: Hex = `0x${hash('sha256', words.join('\n'))}`
    const payment = await paymentFor(victim.account, required, { authorization: { nonce } })
    const answer = await fetch(shop.url + path, post(body, { 'payment-signature': encoded(payment) }))
    const { code, payment: told } = await said(answer)
    assert.deepEqual([answer.status, code, told.taken], [403, 'approval_too_wide', false])
  }
})

test('A-10: an approval that is meant for one token and one charge is enough for every stock client', async () => {
  const pays: ((account: PrivateKeyAccount) => Pay)[] = [
    x402Payer,
    (account) => mppPayer(shop, account, 'pull'),
    (account) => mppPayer(shop, account, 'push'),
  ]
  for (const [index, payOf] of pays.entries()) {
    const rail = index === 0 ? 'x402' : 'mpp'
    const crafter = await newCrafter(shop)
    await approveNfts(shop, crafter, crafter.nfts.slice(0, 1))
    const pay = payOf(crafter.account)
    const burn = { user: crafter.address, nfts: crafter.nfts.slice(0, 1) }
    assert.equal((await pay(`${shop.url}/craft/${rail}/burn`, post(burn))).status, 200)
    await approveTokens(shop, crafter, 2n * TOKEN)
    const accelerate = { user: crafter.address, amount: String(2n * TOKEN) }
    assert.equal((await pay(`${shop.url}/craft/${rail}/accelerate`, post(accelerate))).status, 200)
  }
})

test('A-10: a look-up that is handed on tells the site a nickname and an id, and neither wallets nor level', async () => {
  verifies('4.1.7')
  const { account, nickname } = await linkedBuyer(shop)
  const answer = await visitors['mppx by pull']!.of(account)(site('/shop/mpp/player-lookup', {}))
  assert.equal(answer.status, 200)
  const { player } = (await answer.json()) as { player: { nickname: string } }
  assert.deepEqual(Object.keys(player).toSorted(), ['nickname', 'playerId'])
  assert.equal(player.nickname, nickname)
})
