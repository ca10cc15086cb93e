import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, type Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type Address, checksumAddress } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint, type WaypointName } from '../../../src/base/waypoint.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { baseFeeWatcher } from '../../artifacts/BaseFeeWatcher.ts'
import { gasWatcher } from '../../artifacts/GasWatcher.ts'
import { gluttonReceiver } from '../../artifacts/GluttonReceiver.ts'
import { heavyWallet } from '../../artifacts/HeavyWallet.ts'
import { moodyReceiver } from '../../artifacts/MoodyReceiver.ts'
import { pauseLiar } from '../../artifacts/PauseLiar.ts'
import { priceWatcher } from '../../artifacts/PriceWatcher.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf, sendFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// Whoever receives a token runs code of their own on our gas. They may tell a trial from a transaction, and burn all there is in the latter,
// order after order, with their money back each time.

/** What one token may cost us, at the very most. */
const GAS_OF_ONE = 360_000n

let shop: TestShop
let buyer: PrivateKeyAccount
let waypoint: Waypoint = noWaypoint
before(async () => {
  shop = await startShop({ waypoint: (name) => waypoint(name) })
  buyer = await fundedWallet(shop)
})
after(() => shop.stop())
beforeEach(() => {
  waypoint = noWaypoint
})

async function deployed(artifact: { readonly abi: Abi; readonly bytecode: Hex }): Promise<Address> {
  const deployer = privateKeyToAccount(generatePrivateKey())
  await nativeCall(shop, 'dev_setBalance', deployer.address, '0xde0b6b3a7640000')
  const terms = { type: 'eip1559', chainId: 84532, nonce: 0, gas: 2_000_000n } as const
  const fees = { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1_000_000n }
  const data = encodeDeployData({ ...artifact, args: [] } as never)
  await nativeCall(shop, 'eth_sendRawTransaction', await deployer.signTransaction({ ...terms, ...fees, data }))
  return checksumAddress(getContractAddress({ from: deployer.address, nonce: 0n }))
}

/** The gas that one of our keys pays while something happens, and how many transactions it took. */
async function gasOf(role: 'minter' | 'settler', work: () => Promise<void>): Promise<{ gas: bigint; sent: number }> {
  const read = async () => ({
    wei: BigInt(await nativeCall<Hex>(shop, 'eth_getBalance', demoAddressOf(role), 'latest')),
    nonce: Number(await nativeCall(shop, 'eth_getTransactionCount', demoAddressOf(role), 'latest')),
  })
  const before = await read()
  await work()
  const after = await read()
  const price =
    BigInt(await nativeCall<Hex>(shop, 'eth_gasPrice')) -
    BigInt(await nativeCall<Hex>(shop, 'eth_maxPriorityFeePerGas'))
  return { gas: (before.wei - after.wei) / price, sent: after.nonce - before.nonce }
}

async function buy(beneficiary: Address, quantity = 1, payer = buyer): Promise<Response> {
  const url = `${shop.url}/agentic/x402/buy`
  const body = { saleId: 392, quantity, beneficiary }
  const payment = await paymentFor(payer, requiredOf(await fetch(url, post(body))))
  return fetch(url, post(body, { 'payment-signature': encoded(payment) }))
}

const refunds = () => transfers(shop, x402UnderTest, demoAddressOf('treasury'), buyer.address)

describe('E6: a receiver that tells a trial from the real thing', () => {
  for (const [how, artifact] of [
    ['by the price of gas', priceWatcher],
    ['by the base fee', baseFeeWatcher],
    ['by the gas that is left', gasWatcher],
  ] as const) {
    test(`${how} is refused before anybody pays, and costs us nothing`, async () => {
      const beneficiary = await deployed(artifact)
      const orders = await orderCount(shop)
      const cost = await gasOf('minter', async () => {
        const response = await buy(beneficiary)
        const { code, payment } = await said(response)
        assert.deepEqual([response.status, code, payment.taken], [409, 'beneficiary_rejects', false])
      })
      assert.deepEqual(cost, { gas: 0n, sent: 0 })
      assert.equal(await orderCount(shop), orders)
    })
  }

  test('and one that needs more than a delivery may cost is refused too', async () => {
    const response = await buy(await deployed(gluttonReceiver))
    const { code, detail, payment } = await said(response)
    assert.deepEqual([response.status, code, payment.taken], [409, 'beneficiary_rejects', false])
    assert.match(detail!, /cannot receive|more gas than a delivery may cost/)
  })
})

describe('E6: a receiver that changes its mind', () => {
  const angerAt = (point: WaypointName, beneficiary: Address) => {
    const data = encodeFunctionData({ abi: moodyReceiver.abi, functionName: 'anger' })
    waypoint = async (name) => {
      if (name !== point) return
      waypoint = noWaypoint
      await sendFrom(shop.chains.native, privateKeyToAccount(generatePrivateKey()), beneficiary, data)
    }
  }

  test('after it was paid for: nothing is sent, and the money goes back', async () => {
    const beneficiary = await deployed(moodyReceiver)
    const before = (await refunds()).length
    angerAt('order.settled', beneficiary)
    const cost = await gasOf('minter', async () => {
      assert.equal((await buy(beneficiary)).status, 409)
    })
    assert.deepEqual(cost, { gas: 0n, sent: 0 })
    assert.equal((await refunds()).length, before + 1)
  })

  test('after the last trial: it costs us one delivery, once, and the money goes back', async () => {
    const beneficiary = await deployed(moodyReceiver)
    const before = (await refunds()).length
    // The settlement is signed first, the mint second.
    waypoint = (name) => {
      if (name === 'order.settled') angerAt('send.signed', beneficiary)
    }
    const { gas, sent } = await gasOf('minter', async () => {
      const { code, refund } = await said(await buy(beneficiary))
      assert.deepEqual([code, refund?.status], ['fulfilment_failed', 'refunded'])
    })
    assert.equal(sent, 1)
    assert.ok(gas <= GAS_OF_ONE, `${gas} gas`)
    assert.equal((await refunds()).length, before + 1)
  })

  for (const [when, point, most] of [
    ['after it was paid for', 'order.settled', 0],
    ['after the last trial', 'send.signed', 1],
  ] as const)
    test(`${when}, in the words of a paused contract: nobody waits for the end of a pause that is none`, async () => {
      const beneficiary = await deployed(pauseLiar)
      const before = (await refunds()).length
      if (point === 'order.settled') angerAt(point, beneficiary)
      else
        waypoint = (name) => {
          if (name === 'order.settled') angerAt(point, beneficiary)
        }
      const { sent } = await gasOf('minter', async () => {
        assert.equal((await said(await buy(beneficiary))).refund?.status, 'refunded')
      })
      assert.equal(sent, most)
      assert.equal((await refunds()).length, before + 1)
    })
})

test('a hundred tokens for a plain wallet are well within what they may cost', async () => {
  const { address } = privateKeyToAccount(generatePrivateKey())
  const { gas, sent } = await gasOf('minter', async () => {
    assert.equal((await buy(address, 100)).status, 200)
  })
  assert.equal(sent, 1)
  assert.ok(gas < 6_000_000n, `${gas} gas`)
})

describe('M-24: a wallet whose signature costs more to check than a settlement may', () => {
  for (const [what, bytes] of [
    ['as a key’s would be', 65],
    ['in bytes of its own', 96],
  ] as const) {
    test(`is refused, ${what}, before anything is sent`, async () => {
      const wallet = await deployed(heavyWallet)
      const { asset } = shop.config.x402!
      await nativeCall(shop, 'dev_mintToken', asset, wallet, '0xf4240')
      const url = `${shop.url}/agentic/x402/buy`
      const body = { saleId: 392, beneficiary: buyer.address }
      const required = requiredOf(await fetch(url, post(body)))
      const payment = await paymentFor({ ...buyer, address: wallet }, required)
      const signature: Hex = `0x${'5c'.repeat(bytes - 1)}1b`
      const heavy = { ...payment, payload: { ...payment.payload, signature } }
      const cost = await gasOf('settler', async () => {
        const response = await fetch(url, post(body, { 'payment-signature': encoded(heavy) }))
        const { code, payment: money } = await said(response)
        assert.deepEqual([response.status, code, money.taken], [402, 'payment_verification_failed', false])
      })
      assert.deepEqual(cost, { gas: 0n, sent: 0 })
    })
  }
})
