import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPublicClient, custom, erc20Abi } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { parseUsd } from '../../src/base/money.ts'
import { json, ledger, linkedBuyer, type Refusal, type ShopPurchase } from '../shop/support.ts'
import { fundedWallet, mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// What a purchase of the sale and of the shop may say, and what comes of it on the chain and in the game.

let shop: TestShop
let buyer: PrivateKeyAccount
before(async () => {
  shop = await startShop()
  buyer = await fundedWallet(shop, 10_000n)
})
after(() => shop.stop())

type Protocol = {
  readonly under: RailUnderTest
  pay(account: PrivateKeyAccount): Pay
}
const protocols: readonly Protocol[] = [
  { under: x402UnderTest, pay: (account) => x402Payer(account) },
  { under: mppPullUnderTest, pay: (account) => mppPayer(shop, account, 'pull') },
]

type Minted = { readonly quantity: number; readonly nfts: readonly { contract: `0x${string}`; tokenId: string }[] }

/** What a price question is answered with, in millionths of a dollar: read from the challenge itself. */
async function priceAsked({ under }: Protocol, path: string, body: unknown): Promise<bigint> {
  const unpaid = await fetch(shop.url + path, post(body))
  assert.equal(unpaid.status, 402, await unpaid.clone().text())
  const header = unpaid.headers.get(under.challengeHeader)!
  if (under.rail === 'x402') return BigInt(JSON.parse(Buffer.from(header, 'base64').toString()).accepts[0].amount)
  const request = /request="([^"]+)"/.exec(header)![1]!
  return BigInt(JSON.parse(Buffer.from(request, 'base64url').toString()).amount)
}

for (const protocol of protocols) {
  const { rail, name, till } = protocol.under

  describe(`the sale on ${name}`, () => {
    const path = `/agentic/${rail}/buy`
    const beneficiary = `0x${'be'.repeat(20)}` as const
    const buy = async (body: object) => {
      const before = await till(shop)
      const bought = await json<Minted>(await protocol.pay(buyer)(shop.url + path, post(body)), 200)
      return { ...bought, paid: (await till(shop)) - before }
    }

    test('mints to the beneficiary: one NFT when no quantity is given, else as many as are asked for', async () => {
      verifies('1.1', '1.2', '2.1.1', '2.1.2', '2.1.3', '4.1.1', '4.1.3')
      for (const [request, count] of [
        [{}, 1],
        [{ quantity: 1 }, 1],
        [{ quantity: 3 }, 3],
      ] as const) {
        const { quantity, nfts, paid } = await buy({ saleId: 392, beneficiary, ...request })
        assert.deepEqual([quantity, nfts.length, paid], [count, count, 250_000n * BigInt(count)])
        for (const { contract, tokenId } of nfts)
          assert.equal(await nftOwner(shop.chains.native, contract, tokenId), beneficiary)
      }
    })

    test('takes a saleId of the catalog, a whole quantity and an EVM address, and nothing else', async () => {
      verifies('2.1.1', '2.1.2', '2.1.3')
      const fine = { saleId: 392, quantity: 1, beneficiary }
      for (const [change, status] of [
        [{}, 402],
        [{ saleId: undefined }, 400],
        [{ saleId: '392' }, 402],
        [{ saleId: 'sale:392' }, 402],
        [{ saleId: 'three' }, 400],
        [{ saleId: 392.5 }, 400],
        [{ saleId: 123_456 }, 404],
        [{ quantity: '1' }, 400],
        [{ quantity: 1.5 }, 400],
        [{ quantity: 0 }, 400],
        [{ beneficiary: undefined }, 400],
        [{ beneficiary: 'ada.eth' }, 400],
        [{ beneficiary: beneficiary.slice(0, -1) }, 400],
      ] as const) {
        const response = await fetch(shop.url + path, post({ ...fine, ...change }))
        assert.equal(response.status, status, JSON.stringify(change))
      }
    })
  })

  describe(`the shop on ${name}`, () => {
    const path = `/shop/${rail}/buy`
    const buy = async (payer: PrivateKeyAccount, body: object) => {
      const { orderId, status } = await json<ShopPurchase>(await protocol.pay(payer)(shop.url + path, post(body)), 200)
      assert.equal(status, 'confirmed')
      return (await ledger(shop)).filter((grant) => grant.orderId === orderId)
    }

    test('gives the item to the player who is named, one copy when no quantity is given', async () => {
      verifies('1.1', '1.3', '2.2.1', '2.2.2', '2.2.3', '2.2.4', '2.2.7', '4.1.2', '4.1.4')
      const { account, nickname } = await linkedBuyer(shop)
      for (const [request, quantity] of [
        [{ nickname }, 1],
        [{ address: account.address }, 1],
        [{ nickname, quantity: 2 }, 2],
      ] as const) {
        const given = await buy(buyer, { itemId: 'keys:5', ...request })
        assert.deepEqual(
          given.map((grant) => [grant.nickname, grant.itemId, grant.quantity]),
          [[nickname, 'keys:5', quantity]],
        )
      }
    })

    test('takes an itemId of the catalog and a whole quantity', async () => {
      verifies('2.2.1', '2.2.2')
      const fine = { itemId: 'keys:5', quantity: 1, nickname: 'Brin' }
      for (const [change, status] of [
        [{}, 402],
        [{ itemId: undefined }, 400],
        [{ itemId: 5 }, 400],
        [{ itemId: 'keys:none' }, 404],
        [{ quantity: '1' }, 400],
        [{ quantity: 1.5 }, 400],
      ] as const) {
        const response = await fetch(shop.url + path, post({ ...fine, ...change }))
        assert.equal(response.status, status, JSON.stringify(change))
      }
    })

    test('takes exactly one recipient, and the payer as one only where the protocol proves who pays', async () => {
      verifies('2.2.5', '2.2.6', '2.2.7', '2.2.8')
      const { account, nickname } = await linkedBuyer(shop)
      const given = { nickname, address: account.address, payer: account.address }
      const names = Object.keys(given) as (keyof typeof given)[]
      for (let choice = 0; choice < 8; choice++) {
        const named = names.filter((_, bit) => choice & (1 << bit))
        const body = { itemId: 'keys:5', ...Object.fromEntries(named.map((kind) => [kind, given[kind]])) }
        const response = await fetch(shop.url + path, post(body))
        const isFine = named.length === 1 && (rail === 'mpp' || named[0] !== 'payer')
        const { code } = (await response.json()) as Refusal
        assert.deepEqual(
          [response.status, code],
          isFine ? [402, 'payment_required'] : [400, 'recipient_rule'],
          named.join(' and '),
        )
      }
      if (rail === 'x402') return
      const [grant] = await buy(account, { itemId: 'keys:5', payer: account.address })
      assert.equal(grant?.nickname, nickname)
    })
  })
}

test('the player lookup has no parameters, costs 0.02 USD and tells the payer of their own player', async () => {
  verifies('1.7', '4.1.5', '4.1.7', '8.4')
  const mine = await linkedBuyer(shop)
  const [, mpp] = protocols
  assert.equal(await priceAsked(mpp!, '/shop/mpp/player-lookup', {}), 20_000n)
  assert.equal((await fetch(`${shop.url}/shop/mpp/player-lookup`, post({ nickname: mine.nickname }))).status, 400)
  const before = await mppPullUnderTest.till(shop)
  const response = await mpp!.pay(mine.account)(`${shop.url}/shop/mpp/player-lookup`, { method: 'POST' })
  const { player, payer } = await json<{ player: { nickname: string }; payer: string }>(response, 200)
  assert.deepEqual([player.nickname, payer], [mine.nickname, mine.account.address])
  assert.equal((await mppPullUnderTest.till(shop)) - before, 20_000n)
})

type Item = { id: unknown; displayName: unknown; description: unknown; price: { amount: string; currency: string } }
type Entry = {
  surface: string
  protocol: 'x402' | 'mpp'
  purchaseUrl: string
  items: (Item & { available: boolean })[]
}
type Catalog = { version: number; recipient: unknown; entries: Entry[] }

const catalog = async (query = ''): Promise<Catalog> => json<Catalog>(await fetch(`${shop.url}/catalog${query}`), 200)

test('a catalog item has an id, a name, a description and a decimal price in the code of its money', async () => {
  verifies('2.3.1', '2.3.2', '2.3.3', '2.3.4', '2.3.5', '2.3.6', '2.3.7', '2.3.8', '9.3')
  const { version, entries } = await catalog()
  assert.equal(version, 1)
  const tempo = createPublicClient({ transport: custom(shop.chains.tempo) })
  const { address } = shop.config.mpp!.currency
  const stablecoin = await tempo.readContract({ address, abi: erc20Abi, functionName: 'symbol' })
  const priced: string[] = []
  for (const { surface, protocol, items } of entries) {
    if (items.length > 0) priced.push(`${surface}-${protocol}`)
    for (const { id, displayName, description, price } of items) {
      assert.match(String(id), surface === 'sale' ? /^\d+$/ : /./)
      for (const text of [id, displayName, description]) assert.ok(typeof text === 'string' && text.length > 0)
      assert.match(price.amount, /^\d+(\.\d+)?$/)
      assert.equal(price.currency, protocol === 'x402' ? 'USDC' : stablecoin)
    }
  }
  assert.deepEqual(priced, ['sale-x402', 'shop-x402', 'shop-mpp'])
  const others = entries
    .filter(({ items }) => items.length === 0)
    .map(({ surface, protocol }) => `${surface}-${protocol}`)
  assert.deepEqual(others.sort(), ['craft-mpp', 'craft-x402', 'gateway-x402', 'sale-mpp'])
})

test('what is asked for an item is what its catalog entry says', async () => {
  verifies('4.1.6')
  const { nickname } = await linkedBuyer(shop)
  await shop.store.db.query('update players set level = 50 where nickname = $1', [nickname])
  let compared = 0
  for (const { surface, protocol, purchaseUrl, items } of (await catalog()).entries) {
    const asking = protocols.find(({ under }) => under.rail === protocol)!
    for (const { id, price } of items.filter(({ available }) => available)) {
      const body = surface === 'sale' ? { saleId: Number(id), beneficiary: buyer.address } : { itemId: id, nickname }
      assert.equal(await priceAsked(asking, new URL(purchaseUrl).pathname, body), parseUsd(price.amount), String(id))
      compared++
    }
  }
  assert.ok(compared > 10)
})

test('a listing is for everybody, or, with a nickname, an address or a payer, for that player', async () => {
  verifies('1.9')
  const { account, nickname } = await linkedBuyer(shop)
  await shop.store.db.query(
    `insert into discounts (player_id, item_id, basis_points) select id, 'keys:5', 5000 from players where nickname = $1`,
    [nickname],
  )
  const priceOf = ({ items }: Pick<Entry, 'items'>) => items.find(({ id }) => id === 'keys:5')?.price.amount
  const shelf = ({ entries }: Catalog) => entries.find((entry) => entry.surface === 'shop' && entry.protocol === 'mpp')!
  assert.equal(priceOf(shelf(await catalog())), '1.50')
  for (const query of [`?nickname=${nickname}`, `?address=${account.address}`, `?payer=${account.address}`]) {
    assert.equal(priceOf(shelf(await catalog(query))), '0.75', query)
    const offers = await json<Entry>(await fetch(`${shop.url}/shop/mpp/offers${query}`), 200)
    assert.equal(priceOf(offers), '0.75', query)
  }
})
