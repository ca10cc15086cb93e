import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../support/shop.ts'

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

test('a stock x402 client buys a lot; the money and the NFT are on the chain', async () => {
  const buyer = await fundedWallet(shop)
  const { asset, payTo } = shop.config.x402!
  const before = await erc20Balance(shop.chains.native, asset, payTo)
  const response = await x402Payer(buyer)(
    `${shop.url}/agentic/x402/buy`,
    post({ saleId: 391, beneficiary: buyer.address }),
  )
  assert.equal(response.status, 200)
  const { nfts } = (await response.json()) as { nfts: { contract: `0x${string}`; tokenId: string }[] }
  assert.equal((await erc20Balance(shop.chains.native, asset, payTo)) - before, 9_000_000n)
  assert.equal(
    (await nftOwner(shop.chains.native, nfts[0]!.contract, nfts[0]!.tokenId)).toLowerCase(),
    buyer.address.toLowerCase(),
  )
})

for (const mode of ['pull', 'push'] as const) {
  test(`a stock mppx client buys a lot by ${mode}`, async () => {
    const buyer = await fundedWallet(shop)
    const { currency, recipient } = shop.config.mpp!
    const before = await erc20Balance(shop.chains.tempo, currency.address, recipient)
    const response = await mppPayer(
      shop,
      buyer,
      mode,
    )(`${shop.url}/agentic/mpp/buy`, post({ saleId: 392, quantity: 3, beneficiary: buyer.address }))
    assert.equal(response.status, 200)
    const { nfts } = (await response.json()) as { nfts: { contract: `0x${string}`; tokenId: string }[] }
    assert.equal(nfts.length, 3)
    assert.equal((await erc20Balance(shop.chains.tempo, currency.address, recipient)) - before, 750_000n)
    for (const { contract, tokenId } of nfts)
      assert.equal((await nftOwner(shop.chains.native, contract, tokenId)).toLowerCase(), buyer.address.toLowerCase())
  })
}
