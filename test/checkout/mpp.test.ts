import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, type TestContext, test } from 'node:test'
import { TxEnvelopeTempo } from 'ox/tempo'
import { encodeFunctionData, type Hex, keccak256, maxUint256, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { testTip20 } from '../../src/artifacts/TestTip20.ts'
import { Secret } from '../../src/base/secret.ts'
import { PATH_USD_ADDRESS } from '../../src/devchain/rules.ts'
import { signTempo, signUnsponsored } from '../devchain/tempo-signing.ts'
import { fundedWallet, lotFor, post } from '../support/buyers.ts'
import { edited } from '../support/credentials.ts'
import { scriptedWaypoint } from '../support/scripted-waypoint.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { assertFree402, ended, hastyReplica, orderCount, said, verdict } from './counter.ts'
import { type Answer, createMeddler, Refused } from './meddler.ts'
import { type Asked, challengeOf, credentialOf, type MppWallet, memoOf, mppWallet, payingCall } from './mpp-wallet.ts'

// A pulled payment is a signed transaction that we send: until then every refusal is free, and afterwards none is a 402.

const TEMPO = 42431
const PRICE = 250_000n

const meddler = createMeddler()
const { waypoint, when } = scriptedWaypoint()
let shop: TestShop
before(async () => {
  shop = await startShop({
    wrapTransport: meddler.wrap,
    waypoint,
    configure: (config) => ({
      ...config,
      limits: { ...config.limits, receiptWaitMs: 200, leaseSeconds: 2 },
    }),
  })
})
after(() => shop.stop())

const url = () => `${shop.url}/agentic/mpp/buy`
const ask = async (body: object): Promise<Asked> => challengeOf(await fetch(url(), post(body)))
const show = (body: object, credential: string, at = url()) => fetch(at, post(body, { authorization: credential }))
const pulled = (challenge: Asked, raw: Hex, source?: string) =>
  credentialOf(challenge, { type: 'transaction', signature: raw }, source)
const money = (owner: `0x${string}`) => erc20Balance(shop.chains.tempo, PATH_USD_ADDRESS, owner)
const till = () => money(shop.config.mpp!.recipient)

/** Meddles with the MPP chain only, and no longer than the test runs. */
function onTempo(t: Pick<TestContext, 'after'>, method: string, answer: Answer): () => void {
  const stop = meddler.meddle(method, (params, askChain, chainId) =>
    chainId === TEMPO ? answer(params, askChain, chainId) : askChain(),
  )
  t.after(stop)
  return stop
}

/** The price reached the till so often while `work` ran. */
async function payments(work: () => Promise<unknown>): Promise<bigint> {
  const before = await till()
  await work()
  return ((await till()) - before) / PRICE
}

describe('a challenge that is not ours', () => {
  let wallet: MppWallet
  before(async () => {
    wallet = await mppWallet(shop)
  })
  const repacked = (request: string, change: object): string =>
    Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(request, 'base64url').toString()), ...change })).toString(
      'base64url',
    )

  for (const [field, change] of [
    ['id', (c) => ({ id: `${c['id']!.slice(0, -1)}${c['id']!.endsWith('A') ? 'B' : 'A'}` })],
    ['realm', () => ({ realm: 'else.where' })],
    ['method', () => ({ method: 'stripe' })],
    ['intent', () => ({ intent: 'session' })],
    ['amount', (c) => ({ request: repacked(c['request']!, { amount: '1' }) })],
    ['recipient', (c) => ({ request: repacked(c['request']!, { recipient: wallet.address }) })],
    ['expires', () => ({ expires: new Date(Date.now() + 86_400_000).toISOString() })],
    ['digest', () => ({ digest: 'sha-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' })],
    ['no digest', () => ({ digest: undefined })],
    ['scope', (c) => ({ opaque: repacked(c['opaque']!, { scope: 'POST /shop/mpp/buy' }) })],
  ] satisfies readonly (readonly [string, (challenge: Record<string, string>) => object])[]) {
    test(`M-13: ${field} changed`, async () => {
      const challenge = await ask(lotFor(wallet))
      const honest = pulled(challenge, wallet.sign([payingCall(challenge)]))
      const forged = edited(honest, (value) => {
        const echoed = value['challenge'] as unknown as Record<string, string>
        return { ...value, challenge: { ...echoed, ...change(echoed) } }
      })
      await assertFree402(shop, await show(lotFor(wallet), forged), 'invalid_challenge', await orderCount(shop))
      assert.equal((await show(lotFor(wallet), honest)).status, 200)
    })
  }

  test('M-03: a challenge of one route buys nothing at another', async () => {
    const challenge = await ask(lotFor(wallet))
    const credential = pulled(challenge, wallet.sign([payingCall(challenge)]))
    const other = await fetch(`${shop.url}/shop/mpp/player-lookup`, {
      method: 'POST',
      headers: { authorization: credential },
    })
    assert.deepEqual(await verdict(other), [402, 'invalid_challenge'])
    assert.equal((await show(lotFor(wallet), credential)).status, 200)
    const again = await fetch(`${shop.url}/shop/mpp/player-lookup`, {
      method: 'POST',
      headers: { authorization: credential },
    })
    assert.deepEqual(await verdict(again), [409, 'payment_conflict'])
  })

  test('M-13: after a rotation the old secret still counts, and a secret that is gone does not', async () => {
    const [current] = shop.config.mpp!.secrets
    const fresh = new Secret('a fresh secret that nobody has ever seen before')
    const at = async (secrets: readonly [Secret, ...Secret[]]) => {
      const { url } = await shop.replica({
        withoutWorker: true,
        configure: (config) => ({ ...config, mpp: { ...config.mpp!, secrets } }),
      })
      return `${url}/agentic/mpp/buy`
    }
    const [rotated, forgetful] = [await at([fresh, current]), await at([fresh])]
    const paidAt = async (issuer: string) => {
      const challenge = challengeOf(await fetch(issuer, post(lotFor(wallet))))
      return pulled(challenge, wallet.sign([payingCall(challenge)]))
    }
    // What one of them has refused is void for all, so each way is gone by a payment of its own.
    for (const [issuer, knows, knowsNot] of [
      [url(), rotated, forgetful],
      [rotated, forgetful, url()],
    ] as const) {
      assert.deepEqual(await verdict(await show(lotFor(wallet), await paidAt(issuer), knowsNot)), [
        402,
        'invalid_challenge',
      ])
      assert.equal((await show(lotFor(wallet), await paidAt(issuer), knows)).status, 200)
    }
  })

  test('M-13: the realm is the configured one, whatever Host the caller claims', async () => {
    verifies('D1.6')
    const { port } = new URL(shop.url)
    const challenge = await new Promise<string>((resolve, reject) => {
      const body = JSON.stringify(lotFor(wallet))
      const headers = { host: 'evil.example', 'content-type': 'application/json', 'x-forwarded-host': 'evil.example' }
      const call = request(
        { port, host: '127.0.0.1', path: '/agentic/mpp/buy', method: 'POST', headers },
        (response) => {
          resolve(String(response.headers['www-authenticate'] ?? ''))
          response.resume()
        },
      )
      call.on('error', reject)
      call.end(body)
    })
    assert.doesNotMatch(challenge, /evil/)
    if (challenge !== '') assert.match(challenge, new RegExp(`realm="${shop.config.mpp!.realm}"`))
  })
})

describe('M-13: a transaction that does not pay the challenge is never sent', () => {
  const transfer = (to: `0x${string}`, amount: bigint): Hex =>
    encodeFunctionData({ abi: testTip20.abi, functionName: 'transfer', args: [to, amount] })
  for (const [what, calls] of [
    ['one unit less', (c) => [payingCall(c, { amount: PRICE - 1n })]],
    ['one unit more', (c) => [payingCall(c, { amount: PRICE + 1n })]],
    ['somebody else', (c, own) => [payingCall(c, { to: own })]],
    ['the memo of another challenge', (c) => [payingCall(c, { memo: memoOf({ realm: c.realm, id: 'another' }) })]],
    ['the memo of another realm', (c) => [payingCall(c, { memo: memoOf({ realm: 'else.where', id: c.id }) })]],
    ['a memo of its own', (c) => [payingCall(c, { memo: keccak256(toHex('mine')) })]],
    ['no memo', (c) => [{ to: PATH_USD_ADDRESS, data: transfer(c.request.recipient, PRICE) }]],
    ['another token', (c) => [payingCall(c, { token: '0x20c0000000000000000000000000000000000001' })]],
    ['a call of somebody else beside it', (c, own) => [{ to: own, data: '0xdeadbeef' }, payingCall(c)]],
    ['nothing at all', (_c, own) => [{ to: own, data: '0x' }]],
  ] satisfies readonly (readonly [string, (c: Asked, own: `0x${string}`) => Parameters<MppWallet['sign']>[0]])[]) {
    test(what, async () => {
      const wallet = await mppWallet(shop)
      const challenge = await ask(lotFor(wallet))
      const before = await orderCount(shop)
      const sent = meddler.seen('eth_sendRawTransaction').length
      const credential = pulled(challenge, wallet.sign(calls(challenge, wallet.address)))
      await assertFree402(shop, await show(lotFor(wallet), credential), 'payment_verification_failed', before)
      assert.equal(meddler.seen('eth_sendRawTransaction').length, sent)
    })
  }

  test('a small transfer under the same memo beside the real one does not hide it', async () => {
    const wallet = await mppWallet(shop)
    const challenge = await ask(lotFor(wallet))
    const raw = wallet.sign([payingCall(challenge, { amount: 1n }), payingCall(challenge)])
    assert.equal((await show(lotFor(wallet), pulled(challenge, raw))).status, 200)
  })

  test('M-24: nobody’s fee is paid by us: an unsponsored transaction is refused', async () => {
    const key = generatePrivateKey()
    const wallet = { address: privateKeyToAddress(key) }
    const challenge = await ask(lotFor(wallet))
    const fields = {
      calls: [payingCall(challenge)],
      nonceKey: maxUint256,
      nonce: 0n,
      validBefore: Math.floor(Date.now() / 1000) + 25,
    }
    const raw = TxEnvelopeTempo.serialize(signUnsponsored(key, fields) as never)
    const before = await orderCount(shop)
    const sent = meddler.seen('eth_sendRawTransaction').length
    const response = await show(lotFor(wallet), pulled(challenge, raw))
    assert.equal(response.status, 402)
    assert.equal(await orderCount(shop), before)
    assert.equal(meddler.seen('eth_sendRawTransaction').length, sent)
  })

  for (const [what, code, fields] of [
    ['has run out', 'payment_expired', () => ({ validBefore: Math.floor(Date.now() / 1000) - 1 })],
    ['never runs out', 'payment_verification_failed', () => ({ validBefore: undefined, nonceKey: 7n })],
    [
      'outlives its challenge',
      'payment_verification_failed',
      () => ({ validBefore: Math.floor(Date.now() / 1000) + 3_600, nonceKey: 7n }),
    ],
  ] as const) {
    test(`M-10: a transaction that ${what}`, async () => {
      const wallet = await mppWallet(shop)
      const challenge = await ask(lotFor(wallet))
      const raw = wallet.sign([payingCall(challenge)], fields() as never)
      await assertFree402(shop, await show(lotFor(wallet), pulled(challenge, raw)), code, await orderCount(shop))
    })
  }
})

describe('the payer', () => {
  test('A-01: is who signed, whatever the credential says', async () => {
    verifies('D5.15')
    const [wallet, victim] = [await mppWallet(shop), await fundedWallet(shop)]
    const challenge = await ask(lotFor(wallet))
    const raw = wallet.sign([payingCall(challenge)])
    const credential = pulled(challenge, raw, `did:pkh:eip155:42431:${victim.address}`)
    assert.equal((await said(await show(lotFor(wallet), credential))).payer, wallet.address)
  })

  test('without money is told so', async () => {
    const wallet = await mppWallet(shop, 0n)
    const challenge = await ask(lotFor(wallet))
    const raw = wallet.sign([payingCall(challenge)])
    await assertFree402(
      shop,
      await show(lotFor(wallet), pulled(challenge, raw)),
      'insufficient_funds',
      await orderCount(shop),
    )
  })

  test('with exactly the price and nothing for the fee is told so', async () => {
    const key = generatePrivateKey()
    const wallet = { address: privateKeyToAddress(key) }
    await shop.chains.tempo.request({
      method: 'dev_mintToken',
      params: [PATH_USD_ADDRESS, wallet.address, toHex(PRICE)],
    })
    const challenge = await ask(lotFor(wallet))
    const raw = signTempo(key, {
      calls: [payingCall(challenge)],
      nonceKey: maxUint256,
      nonce: 0n,
      validBefore: Math.floor(Date.now() / 1000) + 25,
    })
    await assertFree402(
      shop,
      await show(lotFor(wallet), pulled(challenge, raw)),
      'insufficient_funds',
      await orderCount(shop),
    )
  })

  test('who empties the wallet between check and sending pays nothing and gets nothing', async () => {
    const wallet = await mppWallet(shop)
    const challenge = await ask(lotFor(wallet))
    const raw = wallet.sign([payingCall(challenge)])
    when('settle.begun', async () => {
      const rest = (await money(wallet.address)) - 100_000n
      const args = [shop.world.contracts.sale, rest] as const
      const data = encodeFunctionData({ abi: testTip20.abi, functionName: 'transfer', args })
      await wallet.send(wallet.sign([{ to: PATH_USD_ADDRESS, data }]))
    })
    const response = await show(lotFor(wallet), pulled(challenge, raw))
    assert.equal(response.status, 402)
    const { code } = await said(response)
    assert.ok(code === 'insufficient_funds' || code === 'payment_verification_failed')
  })
})

test('M-08 pull: what a price question was answered with buys nothing that costs more or less, and is not sent', async () => {
  verifies('D5.5')
  const wallet = await mppWallet(shop)
  const sent = meddler.seen('eth_sendRawTransaction').length
  const before = await orderCount(shop)
  for (const [asked, wanted, code] of [
    [{}, lotFor(wallet, { quantity: 2 }), 'payment_insufficient'],
    [lotFor(wallet, { quantity: 2 }), lotFor(wallet), 'payment_amount_mismatch'],
  ] as const) {
    const challenge = await ask(asked)
    const credential = pulled(challenge, wallet.sign([payingCall(challenge)]))
    await assertFree402(shop, await show(wanted, credential), code, before)
  }
  assert.equal(meddler.seen('eth_sendRawTransaction').length, sent)
})

test('M-05 pull: another body is refused with a fresh challenge, and the original one still buys', async () => {
  verifies('D5.9')
  const wallet = await mppWallet(shop)
  const challenge = await ask(lotFor(wallet))
  const credential = pulled(challenge, wallet.sign([payingCall(challenge)]))
  const other = lotFor(wallet, { beneficiary: shop.world.deployer.address })
  const sent = meddler.seen('eth_sendRawTransaction').length
  await assertFree402(shop, await show(other, credential), 'request_body_mismatch', await orderCount(shop))
  assert.equal(meddler.seen('eth_sendRawTransaction').length, sent)
  assert.equal((await show(lotFor(wallet), credential)).status, 200)
})

describe('M-14: a broadcast whose outcome is not known is never answered with 402', () => {
  test('the answer was lost after the node took it', async (t) => {
    const wallet = await mppWallet(shop)
    const challenge = await ask(lotFor(wallet))
    const credential = pulled(challenge, wallet.sign([payingCall(challenge)]))
    onTempo(t, 'eth_sendRawTransaction', async (_params, askChain) => {
      await askChain()
      throw new Error('socket hang up')
    })
    assert.equal(await payments(async () => assert.equal((await show(lotFor(wallet), credential)).status, 200)), 1n)
  })

  test('a gateway gave up after it had passed the bytes on', async (t) => {
    const wallet = await mppWallet(shop)
    const challenge = await ask(lotFor(wallet))
    const raw = wallet.sign([payingCall(challenge)])
    const reveal = onTempo(t, 'eth_getTransactionReceipt', () => null)
    const hideLogs = onTempo(t, 'eth_getLogs', () => [])
    const stop = onTempo(t, 'eth_sendRawTransaction', async (_params, askChain) => {
      await askChain()
      throw new Refused({ code: -32603, message: 'Internal error' })
    })
    const hasty = `${await hastyReplica(shop)}/agentic/mpp/buy`
    const response = await show(lotFor(wallet), pulled(challenge, raw), hasty)
    assert.equal(response.status, 202)
    for (const mend of [reveal, hideLogs, stop]) mend()
    assert.equal((await ended(shop, 'mpp', (await said(response)).orderId)).status, 'confirmed')
  })
})
