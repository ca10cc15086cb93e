import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { P256, PublicKey, Rlp, Secp256k1 } from 'ox'
import { SignatureEnvelope, TxEnvelopeTempo } from 'ox/tempo'
import type { Address, Hex } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { giveToken } from '../../../src/sandbox/world.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import {
  type Asked,
  challengeOf,
  credentialOf,
  type MppWallet,
  mppWallet,
  payingCall,
} from '../../checkout/mpp-wallet.ts'
import { tempoEnvelope } from '../../devchain/tempo-signing.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// A signed transaction says by whom it is in several ways, and some of them are words that anybody can write.

const meddler = createMeddler()
let shop: TestShop
let victim: MppWallet
before(async () => {
  shop = await startShop({ wrapTransport: meddler.wrap })
})
beforeEach(async () => {
  victim = await mppWallet(shop)
})
after(() => shop.stop())

const url = () => `${shop.url}/shop/mpp/buy`
const body = { itemId: 'keys:5', quantity: 1, nickname: 'Demo' }

function unsigned(challenge: Asked) {
  return tempoEnvelope({
    calls: [payingCall(challenge)],
    nonceKey: 2n ** 256n - 1n,
    validBefore: Math.floor(Date.now() / 1000) + 25,
  })
}

/** The thief signs; the place of the fee payer's signature holds the address of somebody else. */
function withHint(challenge: Asked, sender: Address): Hex {
  const transaction = unsigned(challenge)
  const signature = Secp256k1.sign({
    payload: TxEnvelopeTempo.getSignPayload(transaction),
    privateKey: generatePrivateKey(),
  })
  const raw = TxEnvelopeTempo.serialize(transaction, { signature: SignatureEnvelope.from(signature) })
  const fields = [...(Rlp.toHex(`0x${raw.slice(4)}`) as readonly Hex[])]
  fields[11] = sender.toLowerCase() as Hex
  return `0x76${Rlp.fromHex(fields).slice(2)}`
}

/** The thief signs as an access key of somebody else's account, which that account never gave. */
function withAccessKey(challenge: Asked, sender: Address): Hex {
  const transaction = unsigned(challenge)
  const payload = TxEnvelopeTempo.getSignPayload(transaction, { from: sender })
  const inner = SignatureEnvelope.from(Secp256k1.sign({ payload, privateKey: generatePrivateKey() }))
  const signature = SignatureEnvelope.from({ type: 'keychain', userAddress: sender, inner, version: 'v2' })
  return TxEnvelopeTempo.serialize(transaction, { signature })
}

const forgeries = { 'the word of the transaction': withHint, 'an access key that nobody gave': withAccessKey }

for (const [how, forge] of Object.entries(forgeries)) {
  test(`E1: a payment in somebody else’s name, by ${how}, opens nothing`, async () => {
    const orders = await orderCount(shop)
    const challenge = challengeOf(await fetch(url(), post(body)))
    const signature = forge(challenge, victim.address)
    const authorization = credentialOf(challenge, { type: 'transaction', signature })
    const answer = await fetch(url(), post(body, { authorization }))
    const { code, payment } = await said(answer)
    assert.deepEqual([answer.status, code, payment.taken], [402, 'payment_verification_failed', false])
    assert.equal(await orderCount(shop), orders)
  })
}

test('E1: the other spelling of a signature, which no chain takes, opens nothing and takes nothing', async () => {
  const orders = await orderCount(shop)
  const challenge = challengeOf(await fetch(url(), post(body)))
  const transaction = TxEnvelopeTempo.deserialize(victim.sign([payingCall(challenge)]) as TxEnvelopeTempo.Serialized)
  const { r, s, yParity } = (transaction.signature as SignatureEnvelope.Secp256k1).signature
  const flipped = { r, s: Secp256k1.noble.CURVE.n - s, yParity: yParity === 0 ? 1 : 0 }
  const signature = TxEnvelopeTempo.serialize(transaction, { signature: SignatureEnvelope.from(flipped) })
  const authorization = credentialOf(challenge, { type: 'transaction', signature })
  const answer = await fetch(url(), post(body, { authorization }))
  const { code, payment } = await said(answer)
  assert.deepEqual([answer.status, code, payment.taken], [402, 'payment_verification_failed', false])
  assert.equal(await orderCount(shop), orders)
})

test('an access key that the account did give is believed, and judged by the chain', async () => {
  // No dev chain has access keys; this one answers to every question that the key is good for ever.
  const keychain = '0xaAAAaaAA00000000000000000000000000000000'
  const yes = '0x602435602052' + '67ffffffffffffffff604052' + '60a05ff3'
  await shop.chains.tempo.request({ method: 'dev_setCode', params: [keychain, yes] })
  const orders = await orderCount(shop)
  const challenge = challengeOf(await fetch(url(), post(body)))
  const signature = withAccessKey(challenge, victim.address)
  const authorization = credentialOf(challenge, { type: 'transaction', signature })
  const answer = await fetch(url(), post(body, { authorization }))
  assert.equal(answer.status, 402)
  assert.equal(await orderCount(shop), orders + 1)
  await shop.chains.tempo.request({ method: 'dev_setCode', params: [keychain, '0x'] })
})

test('E1: an access key pays, and does not act for its account: neither burns nor look-ups', async () => {
  const keychain = '0xaAAAaaAA00000000000000000000000000000000'
  const yes = '0x602435602052' + '67ffffffffffffffff604052' + '60a05ff3'
  await shop.chains.tempo.request({ method: 'dev_setCode', params: [keychain, yes] })
  const orders = await orderCount(shop)
  const burn = { user: victim.address, nfts: [{ contract: shop.config.x402!.asset, tokenId: '1' }] }
  for (const [path, request] of [
    ['/craft/mpp/burn', burn],
    ['/shop/mpp/player-lookup', {}],
  ] as const) {
    const challenge = challengeOf(await fetch(shop.url + path, post(request)))
    const signature = withAccessKey(challenge, victim.address)
    const authorization = credentialOf(challenge, { type: 'transaction', signature })
    const answer = await said(await fetch(shop.url + path, post(request, { authorization })))
    assert.deepEqual([answer.code, answer.payment.taken], ['payment_verification_failed', false])
    assert.match(answer.detail!, /own key/)
  }
  assert.equal(await orderCount(shop), orders)
  await shop.chains.tempo.request({ method: 'dev_setCode', params: [keychain, '0x'] })
})

test('E1: what an access key pushed for an act of its account goes back', async () => {
  const payer = await fundedWallet(shop)
  const path = `${shop.url}/shop/mpp/player-lookup`
  const credential = await mppPushUnderTest.pay(shop, payer, await fetch(path, post({})))
  const stop = meddler.meddle('eth_getTransactionByHash', async (_params, ask) => ({
    ...((await ask()) as object),
    signature: { type: 'keychain', userAddress: payer.address },
  }))
  const answer = await fetch(path, post({}, { authorization: credential }))
  stop()
  const { code, payment } = await said(answer)
  assert.deepEqual([answer.status, code, payment.taken], [409, 'payment_returned', true])
})

test('E1: a public key that everybody can read signs nothing', async () => {
  const { publicKey } = P256.createKeyPair()
  const address = SignatureEnvelope.extractAddress({
    payload: '0x',
    signature: { type: 'p256', publicKey, prehash: false, signature: { r: 1n, s: 1n } },
  } as never)
  await giveToken(shop.chains.tempo, shop.config.mpp!.currency.address, address, 10n ** 9n)
  const challenge = challengeOf(await fetch(url(), post(body)))
  const envelope = SignatureEnvelope.from({
    type: 'p256',
    publicKey: PublicKey.from(publicKey),
    prehash: false,
    signature: P256.sign({ payload: '0x00', privateKey: P256.randomPrivateKey() }),
  } as never)
  const signature = TxEnvelopeTempo.serialize(unsigned(challenge), { signature: envelope })
  const orders = await orderCount(shop)
  const authorization = credentialOf(challenge, { type: 'transaction', signature })
  const answer = await fetch(url(), post(body, { authorization }))
  assert.equal(answer.status, 402)
  assert.equal(await orderCount(shop), orders)
})
