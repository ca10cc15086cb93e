import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { checksumAddress } from '../../src/base/address.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { protocols } from './workshop.ts'

// What may stand in a craft request. Each body is sent to the quote and, without its type, to the paid route of both protocols.

const USER = '0x00000000000000000000000000000000000000aa'
const CONTRACT = '0x8c70d57cecd44c9dda47bcef0c3818f63a8f6667'
const UINT256_MAX = 2n ** 256n - 1n
const nft = (tokenId: unknown, contract: unknown = CONTRACT) => ({ contract, tokenId })
const nfts = (count: number) => Array.from({ length: count }, (_, index) => nft(String(index)))

type Body = { readonly type: 'burn' | 'accelerate'; readonly [key: string]: unknown }
const burn = (members: Record<string, unknown>): Body => ({ type: 'burn', user: USER, nfts: nfts(1), ...members })
const accelerate = (members: Record<string, unknown>): Body => ({ type: 'accelerate', user: USER, ...members })

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

type Answer = { code: string; errors: { pointer: string; code: string }[]; request: { nfts: { tokenId: string }[] } }

async function send(path: string, body: unknown): Promise<{ status: number; answer: Answer }> {
  const response = await fetch(shop.url + path, post(body))
  return { status: response.status, answer: (await response.json()) as Answer }
}

async function refused(body: Body, code: string, pointer: string): Promise<void> {
  const { type, ...request } = body
  for (const protocol of protocols) {
    for (const [path, sent] of [
      [`/craft/${protocol}/quote`, body],
      [`/craft/${protocol}/${type}`, request],
    ] as const) {
      const { status, answer } = await send(path, sent)
      assert.deepEqual([path, status, answer.code], [path, 400, code])
      assert.equal(answer.errors[0]?.pointer, pointer)
    }
  }
}

async function accepted(body: Body): Promise<Answer> {
  const { type, ...request } = body
  for (const protocol of protocols) assert.equal((await send(`/craft/${protocol}/${type}`, request)).status, 402)
  const quotes = await Promise.all(protocols.map((protocol) => send(`/craft/${protocol}/quote`, body)))
  for (const { status } of quotes) assert.equal(status, 200)
  return quotes[0]!.answer
}

test('N-06: a burn names 1 to 20 NFTs; 0 and 21 are refused', async () => {
  verifies('2.5.3', '8.1')
  await accepted(burn({ nfts: nfts(1) }))
  await accepted(burn({ nfts: nfts(20) }))
  await refused(burn({ nfts: [] }), 'invalid_request', '/nfts')
  await refused(burn({ nfts: nfts(21) }), 'invalid_request', '/nfts')
  await refused(burn({ nfts: undefined }), 'invalid_request', '/nfts')
})

test('N-06: a token id loses its leading zeros, and fits into a uint256', async () => {
  verifies('2.5.5')
  const { request } = await accepted(burn({ nfts: [nft('007'), nft('0'), nft(String(UINT256_MAX))] }))
  assert.deepEqual(
    request.nfts.map(({ tokenId }) => tokenId),
    ['7', '0', String(UINT256_MAX)],
  )
  for (const tokenId of [String(UINT256_MAX + 1n), '9'.repeat(79), '9'.repeat(20_000)])
    await refused(burn({ nfts: [nft(tokenId)] }), 'token_id_out_of_range', '/nfts/0/tokenId')
  for (const tokenId of ['', '-1', '1.5', '0x10', 'abc', '١', ' 1', '1\n', 1, null])
    await refused(burn({ nfts: [nft(tokenId)] }), 'invalid_request', '/nfts/0/tokenId')
})

test('N-06: the same NFT twice is refused, however it is written', async () => {
  for (const twin of [nft('7'), nft('007'), nft('7', checksumAddress(CONTRACT)), nft('07', CONTRACT.toLowerCase())])
    await refused(burn({ nfts: [nft('7'), nft('8'), twin] }), 'duplicate_nft', '/nfts')
})

test('N-06: mixed case must be a right checksum; any single case is taken; the zero address is nobody', async () => {
  verifies('2.5.2', '2.5.4', '2.6.2')
  const right = checksumAddress(CONTRACT)
  const wrong = right.replace('c', 'C')
  const upper = `0x${CONTRACT.slice(2).toUpperCase()}`
  for (const address of [right, upper, CONTRACT]) {
    await accepted(burn({ user: address }))
    await accepted(burn({ nfts: [nft('1', address)] }))
    await accepted(accelerate({ user: address }))
  }
  await refused(burn({ user: wrong }), 'bad_checksum', '/user')
  await refused(burn({ nfts: [nft('1', wrong)] }), 'bad_checksum', '/nfts/0/contract')
  await refused(accelerate({ user: wrong }), 'bad_checksum', '/user')
  for (const address of [`0x${'0'.repeat(40)}`, '0x', CONTRACT.slice(2), `${CONTRACT}0`, 'ens.eth', 7, null]) {
    await refused(burn({ user: address }), 'invalid_request', '/user')
    await refused(burn({ nfts: [nft('1', address)] }), 'invalid_request', '/nfts/0/contract')
    await refused(accelerate({ user: address }), 'invalid_request', '/user')
  }
})

test('N-06: an amount is a positive whole number without a leading zero, up to the published maximum', async () => {
  verifies('2.6.3', 'D3.5')
  const { maxAmount } = shop.config.game.craft!
  await accepted(accelerate({}))
  await accepted(accelerate({ amount: '1' }))
  await accepted(accelerate({ amount: String(maxAmount) }))
  await refused(accelerate({ amount: String(maxAmount + 1n) }), 'quantity_out_of_range', '/amount')
  for (const amount of ['0', '01', '1.0', '-1', '1e18', '', ' 1', 'abc', 1, null])
    await refused(accelerate({ amount }), 'invalid_request', '/amount')
  for (const amount of [String(UINT256_MAX + 1n), '9'.repeat(20_000)])
    await refused(accelerate({ amount }), 'invalid_request', '/amount')
})

test('N-06: no other property is taken, at either level', async () => {
  verifies('2.5.6', '2.6.4')
  await refused(burn({ amount: '1' }), 'unknown_property', '/amount')
  await refused(burn({ nfts: [{ ...nft('1'), name: 'x' }] }), 'unknown_property', '/nfts/0/name')
  await refused(accelerate({ nfts: nfts(1) }), 'unknown_property', '/nfts')
})

test('the quote is one of two variants, chosen by type; the paid routes know no type', async () => {
  verifies('2.5.1', '2.6.1', '2.6.5', '4.3.3', '7.5')
  for (const protocol of protocols) {
    for (const body of [{}, { user: USER }, burn({ type: 'mint' }), burn({ type: 7 })]) {
      const { status, answer } = await send(`/craft/${protocol}/quote`, body)
      assert.deepEqual([status, answer.code, answer.errors[0]?.pointer], [400, 'invalid_request', '/type'])
    }
    assert.equal((await send(`/craft/${protocol}/quote`, accelerate({ type: 'burn' }))).status, 400)
    const { status, answer } = await send(`/craft/${protocol}/burn`, burn({}))
    assert.deepEqual([status, answer.code, answer.errors[0]?.pointer], [400, 'unknown_property', '/type'])
  }
})
