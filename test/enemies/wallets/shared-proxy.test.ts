import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { getContractAddress, type Hex } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type Address, checksumAddress } from '../../../src/base/address.ts'
import { noWaypoint, type Waypoint } from '../../../src/base/waypoint.ts'
import { said, verdict } from '../../checkout/counter.ts'
import { encoded, paymentFor, requiredOf, sendFrom, type X402Payment } from '../../checkout/x402-wallet.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

// Most contract wallets are proxies: the same few bytes at every address, and in its storage each names the program that it runs. Its owner may
// name another one at any time, so what a proxy does is no proof against others with the same bytes.

let shop: TestShop
let waypoint: Waypoint = noWaypoint
before(async () => {
  shop = await startShop({ waypoint: (name) => waypoint(name) })
})
after(() => shop.stop())
beforeEach(() => {
  waypoint = noWaypoint
})

const anybody = () => privateKeyToAccount(generatePrivateKey())
const turn = (address: Address) => sendFrom(shop.chains.native, anybody(), address, '0x')

/** Where ERC-1967 keeps the address of the program. */
const SLOT = '360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
const PROXY = `365f5f375f5f365f7f${SLOT}545af43d5f5f3e3d5f82603757fd5bf3`
/** No proxy: it runs its own code, which asks that contract with STATICCALL. */
const ASKS = PROXY.replace('5af43d', '5afa3d')

async function placed(creation: string): Promise<Address> {
  const deployer = anybody()
  await nativeCall(shop, 'dev_setBalance', deployer.address, '0xde0b6b3a7640000')
  const terms = { type: 'eip1559', chainId: 84532, nonce: 0, gas: 2_000_000n } as const
  const fees = { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1_000_000n }
  const raw = await deployer.signTransaction({ ...terms, ...fees, data: `0x${creation}` })
  await nativeCall(shop, 'eth_sendRawTransaction', raw)
  return checksumAddress(getContractAddress({ from: deployer.address, nonce: 0n }))
}

async function placedProgram(program: Hex): Promise<Address> {
  const target = anybody().address
  await nativeCall(shop, 'dev_setCode', target, program)
  return target
}

/** It keeps the name of its program, and has the same bytes as all others of its make. */
function madeFor(target: Address, make: string): Promise<Address> {
  const length = (make.length / 2).toString(16)
  return placed(`73${target.slice(2)}7f${SLOT}5560${length}604360003960${length}6000f3${make}`)
}

const proxyTo = async (program: Hex): Promise<Address> => madeFor(await placedProgram(program), PROXY)

const answers = (word: string) => `7f${word.padEnd(64, '0')}5f5260205ff3`
/** An empty call turns its mood, and back; in the other one it burns everything. */
const moody = (word: string): Hex => `0x36600a575f54155f55005b5f54603757${answers(word)}5bfe`
const honest = (word: string): Hex => `0x${answers(word)}`
const RECEIVES = '150b7a02'
const SIGNS = '1626ba7e'

const url = () => `${shop.url}/agentic/x402/buy`

async function buyFor(beneficiary: Address): Promise<Response> {
  const body = { saleId: 392, beneficiary }
  const payment = await paymentFor(await fundedWallet(shop), requiredOf(await fetch(url(), post(body))))
  return fetch(url(), post(body, { 'payment-signature': encoded(payment) }))
}

test('E28: a receiver whose proxy is of a popular make, and that burns the gas of its delivery, does not shut out whoever receives with the same make', async () => {
  const enemy = await proxyTo(moody(RECEIVES))
  waypoint = (name) => {
    if (name !== 'order.settled') return
    waypoint = async (next) => {
      if (next !== 'send.signed') return
      waypoint = noWaypoint
      await turn(enemy)
    }
  }
  assert.equal((await said(await buyFor(enemy))).refund?.status, 'refunded')
  assert.deepEqual(await verdict(await buyFor(enemy)), [409, 'beneficiary_rejects'])
  assert.deepEqual(await verdict(await buyFor(await proxyTo(honest(RECEIVES)))), [200, undefined])
})

test('E28: nor does one of a make that is no proxy, and only asks the contract that its owner has named', async () => {
  const asked = await placedProgram(moody(RECEIVES))
  const enemy = await madeFor(asked, ASKS)
  waypoint = (name) => {
    if (name !== 'order.settled') return
    waypoint = async (next) => {
      if (next !== 'send.signed') return
      waypoint = noWaypoint
      await turn(asked)
    }
  }
  assert.equal((await said(await buyFor(enemy))).refund?.status, 'refunded')
  assert.deepEqual(await verdict(await buyFor(enemy)), [409, 'beneficiary_rejects'])
  const innocent = await madeFor(await placedProgram(honest(RECEIVES)), ASKS)
  assert.deepEqual(await verdict(await buyFor(innocent)), [200, undefined])
})

/** Longer than a key's, so that it may cost what a contract wallet may. */
const SIGNATURE: Hex = `0x${'5c'.repeat(96)}`
const LOT = { saleId: 392, beneficiary: anybody().address }

async function walletAt(address: Address): Promise<PrivateKeyAccount> {
  await nativeCall(shop, 'dev_mintToken', shop.config.x402!.asset, address, '0xf4240')
  return { ...anybody(), address }
}
async function paymentOf(wallet: PrivateKeyAccount): Promise<X402Payment> {
  const { payload, ...payment } = await paymentFor(wallet, requiredOf(await fetch(url(), post(LOT))))
  return { ...payment, payload: { ...payload, signature: SIGNATURE } }
}
const show = (payment: X402Payment) => fetch(url(), post(LOT, { 'payment-signature': encoded(payment) }))

test('E28: nor do wallets whose proxies are of a popular make, and that burn the gas of their settlements, shut out whoever pays with the same make', async () => {
  for (let i = 0; i < 3; i++) {
    const address = await proxyTo(moody(SIGNS))
    waypoint = async (name) => {
      if (name !== 'send.signed') return
      waypoint = noWaypoint
      await turn(address)
    }
    const payment = await paymentOf(await walletAt(address))
    assert.equal((await show(payment)).status, 402)
    await turn(address)
    assert.deepEqual(await verdict(await show(await paymentOf(await walletAt(address)))), [429, 'payer_throttled'])
  }
  const innocent = await walletAt(await proxyTo(honest(SIGNS)))
  assert.deepEqual(await verdict(await show(await paymentOf(innocent))), [200, undefined])
})
