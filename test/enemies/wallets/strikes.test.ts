import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import type { Address } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { invocation } from '../../../src/chain/act.ts'
import type { RpcRequest } from '../../../src/chain/transport.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { encoded, paymentFor, preempt, requiredOf, sendFrom, signedByWallet } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { createBlockEnds } from '../support/block-ends.ts'

// Strikes are for whoever made us spend. Nobody else is throttled by them: not those who use the same wallet, and not those whom we served late.

let shop: TestShop
let waypoint: Waypoint = noWaypoint
const ends = createBlockEnds()
/** What the node says as of the blocks that it has thrown away: none yet. */
let forgotten: { readonly before: bigint; readonly answer: object } | null = null
before(async () => {
  shop = await startShop({
    waypoint: (name) => waypoint(name),
    wrapTransport: (chainId, transport) => async (request, answerBytesMax) =>
      forgotten !== null && isOf(request, forgotten.before)
        ? forgotten.answer
        : ends.wrap(chainId, transport)(request, answerBytesMax),
  })
})
after(() => shop.stop())

const isOf = ({ method, params }: RpcRequest, before: bigint): boolean =>
  ['eth_call', 'eth_getCode'].includes(method) && params[1] !== 'latest' && BigInt(String(params[1])) < before
beforeEach(() => {
  waypoint = noWaypoint
  forgotten = null
})

/** Answers every call with one word. */
const answering = (selector: string): Hex => `0x7f${selector.padEnd(64, '0')}5f5260205ff3`
/** A popular wallet: for the test it takes every signature. */
const WALLET = answering('1626ba7e')
const RECEIVER = answering('150b7a02')
/** An empty call turns its mood, and back; in the other one it burns everything. */
const MOODY: Hex = `0x36600a575f54155f55005b5f54603757${RECEIVER.slice(2)}5bfe`
const REFUSER: Hex = '0x5f5ffd'

async function popularWallet(dollars: bigint, code: Hex): Promise<PrivateKeyAccount> {
  const account = await fundedWallet(shop, dollars)
  await nativeCall(shop, 'dev_setCode', account.address, code)
  return account
}

const url = () => `${shop.url}/agentic/x402/buy`
async function buy(payer: PrivateKeyAccount): Promise<Response> {
  const body = { saleId: 392, beneficiary: PLAIN }
  const payment = signedByWallet(await paymentFor(payer, requiredOf(await fetch(url(), post(body)))))
  return fetch(url(), post(body, { 'payment-signature': encoded(payment) }))
}
/** Signed as only the wallet itself understands it. */
async function buyFor(payer: PrivateKeyAccount, beneficiary: Address): Promise<Response> {
  const body = { saleId: 392, beneficiary }
  const payment = await paymentFor(payer, requiredOf(await fetch(url(), post(body))))
  return fetch(url(), post(body, { 'payment-signature': encoded(payment) }))
}
const PLAIN = privateKeyToAccount(generatePrivateKey()).address

/** Moves all the money away between the check and the settlement. */
async function failToPay(payer: PrivateKeyAccount): Promise<Response> {
  const required = requiredOf(await fetch(url(), post({ saleId: 392, beneficiary: PLAIN })))
  const away = await paymentFor(payer, required, { authorization: { to: PLAIN, value: '1000000' } })
  waypoint = async (name) => {
    if (name !== 'settle.begun') return
    waypoint = noWaypoint
    await preempt(shop, signedByWallet(away))
  }
  return buy(payer)
}

for (const [what, codeOf] of [
  ['the code of a wallet', async () => WALLET],
  [
    'the contract that keys delegate to',
    async () => {
      const { address } = privateKeyToAccount(generatePrivateKey())
      await nativeCall(shop, 'dev_setCode', address, WALLET)
      return `0xef0100${address.slice(2).toLowerCase()}` as Hex
    },
  ],
] as const)
  test(`E28: wallets that cannot pay do not throttle others with ${what} in common`, async () => {
    const code = await codeOf()
    const innocent = await popularWallet(10n, code)
    for (let i = 0; i < 3; i++) {
      const answer = await failToPay(await popularWallet(1n, code))
      assert.deepEqual([answer.status, (await said(answer)).code], [402, 'insufficient_funds'])
    }
    const answer = await buy(innocent)
    assert.deepEqual([answer.status, (await said(answer)).code], [200, undefined])
  })

test('M-24: a key that delegates pays as the token takes it: through its contract, tried out before anything is sent', async () => {
  const [taking, refusing] = await Promise.all(
    [WALLET, REFUSER].map(async (code): Promise<Hex> => {
      const { address } = privateKeyToAccount(generatePrivateKey())
      await nativeCall(shop, 'dev_setCode', address, code)
      return `0xef0100${address.slice(2).toLowerCase()}`
    }),
  )
  const orders = await orderCount(shop)
  const refused = await buyFor(await popularWallet(1n, refusing!), PLAIN)
  assert.deepEqual([refused.status, (await said(refused)).code], [402, 'payment_verification_failed'])
  assert.equal(await orderCount(shop), orders)
  assert.equal((await buyFor(await popularWallet(1n, taking!), PLAIN)).status, 200)
})

/** Takes the trial, refuses the real thing, and looks as before when somebody asks why. */
function refuseOnce(refuse: () => Promise<unknown>, takeAgain: () => Promise<unknown>): void {
  waypoint = (name) => {
    if (name !== 'order.settled') return
    // The settlement is signed first, the mint second.
    waypoint = async (later) => {
      if (later === 'send.signed') await refuse()
      if (later !== 'send.mined') return
      waypoint = noWaypoint
      await takeAgain()
    }
  }
}

test('E28: a key that delegates elsewhere for a moment does not throttle those who stay with the popular contract', async () => {
  const place = async (code: Hex): Promise<Hex> => {
    const { address } = privateKeyToAccount(generatePrivateKey())
    await nativeCall(shop, 'dev_setCode', address, code)
    return `0xef0100${address.slice(2).toLowerCase()}`
  }
  const [popular, hostile] = [await place(RECEIVER), await place(REFUSER)]
  const [enemy, innocent] = [await popularWallet(1n, popular), await popularWallet(1n, popular)]
  const payer = await fundedWallet(shop)
  const delegateTo = (code: Hex) => () => nativeCall(shop, 'dev_setCode', enemy.address, code)
  refuseOnce(delegateTo(hostile), delegateTo(popular))
  assert.equal((await said(await buyFor(payer, enemy.address))).refund?.status, 'refunded')
  const again = await buyFor(payer, enemy.address)
  assert.deepEqual([again.status, (await said(again)).code], [429, 'payer_throttled'])
  assert.equal((await buyFor(payer, innocent.address)).status, 200)
})

test('E28: code that somebody abused stops strangers who receive with it, and nobody who has bought before', async () => {
  const [enemy, popular] = [await popularWallet(1n, MOODY), await popularWallet(1n, MOODY)]
  const turn = () => sendFrom(shop.chains.native, privateKeyToAccount(generatePrivateKey()), enemy.address, '0x')
  const [known, stranger] = [await fundedWallet(shop), await fundedWallet(shop)]
  assert.equal((await buyFor(known, PLAIN)).status, 200)
  refuseOnce(turn, turn)
  assert.equal((await said(await buyFor(await fundedWallet(shop), enemy.address))).refund?.status, 'refunded')
  assert.equal((await buyFor(stranger, popular.address)).status, 429)
  assert.equal((await buyFor(known, popular.address)).status, 200)
})

test('E28: a payment that we brought to the chain too late does not count against its payer', async () => {
  const own = await startShop({
    waypoint: async (name) => {
      if (name === 'settle.begun') await own.chains.native.request({ method: 'evm_increaseTime', params: [600] })
    },
  })
  try {
    const payer = await fundedWallet(own)
    const address = `${own.url}/agentic/x402/buy`
    const body = { saleId: 392, beneficiary: payer.address }
    const payment = await paymentFor(payer, requiredOf(await fetch(address, post(body))))
    const answer = await fetch(address, post(body, { 'payment-signature': encoded(payment) }))
    assert.deepEqual([answer.status, (await said(answer)).code], [402, 'payment_expired'])
    assert.deepEqual((await own.store.db.query('select subject from strikes')).rows, [])
  } finally {
    await own.stop()
  }
})

const strikesOf = async ({ address }: PrivateKeyAccount) =>
  (await shop.store.db.query('select points from strikes where subject = $1', [`payer:${address.toLowerCase()}`])).rows

/** The token's issuer, who alone can do that. */
const pauseToken = (name: 'pause' | 'unpause') => () => {
  const { asset } = shop.config.x402!
  return nativeCall(shop, 'dev_systemCall', asset, invocation(asset, testUsdc.abi, name, []).data)
}

/** Just before the settlement is sent, and as soon as it was mined. */
function aroundTheSettlement(first: () => Promise<unknown>, then: () => Promise<unknown>): void {
  waypoint = async (name) => {
    if (name === 'send.signed') await first()
    if (name !== 'send.mined') return
    waypoint = noWaypoint
    await then()
  }
}

for (const [when, unpause] of [
  ['until the next block', pauseToken('unpause')],
  ['and opened again in the same block', () => ends.inSameBlock(shop, pauseToken('unpause'))],
] as const)
  test(`E28: a payment that reverted because its token was paused, ${when}, does not count against its payer`, async () => {
    const payer = await fundedWallet(shop)
    aroundTheSettlement(pauseToken('pause'), unpause)
    assert.equal((await buyFor(payer, PLAIN)).status, 402)
    assert.deepEqual(await strikesOf(payer), [])
  })

for (const [what, answer] of [
  ['refuses', { error: { code: -32000, message: 'missing trie node' } }],
  ['says that there is nothing', { result: '0x' }],
] as const)
  test(`E28: nor where a node that has thrown that block away ${what}`, async () => {
    const payer = await fundedWallet(shop)
    aroundTheSettlement(pauseToken('pause'), async () => {
      await pauseToken('unpause')()
      forgotten = { before: BigInt(await nativeCall<Hex>(shop, 'eth_blockNumber')), answer }
    })
    assert.equal((await buyFor(payer, PLAIN)).status, 402)
    assert.deepEqual(await strikesOf(payer), [])
  })

test('E28: a wallet that burns the gas of its settlement is held to account though the token was paused and opened again in that block', async () => {
  const enemy = await popularWallet(1n, WALLET)
  aroundTheSettlement(
    () => nativeCall(shop, 'dev_setCode', enemy.address, '0xfe'),
    async () => {
      await nativeCall(shop, 'dev_setCode', enemy.address, WALLET)
      await ends.inSameBlock(shop, pauseToken('pause'))
      await pauseToken('unpause')()
    },
  )
  assert.equal((await buyFor(enemy, PLAIN)).status, 402)
  assert.deepEqual(await strikesOf(enemy), [{ points: 1 }])
})

test('a payer who moves the money away just before the settlement is held to account', async () => {
  const payer = await popularWallet(1n, WALLET)
  assert.equal((await failToPay(payer)).status, 402)
  assert.deepEqual(await strikesOf(payer), [{ points: 1 }])
})
