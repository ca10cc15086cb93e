import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Abi, type Address, type Hex, keccak256, toHex } from 'viem'
import { craftController } from '../../../src/artifacts/CraftController.ts'
import { craftToken } from '../../../src/artifacts/CraftToken.ts'
import { saleLots } from '../../../src/artifacts/SaleLots.ts'
import { parseUsd } from '../../../src/base/money.ts'
import { createDevChain, type DevChain } from '../../../src/devchain/chain.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { bombCollection } from '../../artifacts/BombCollection.ts'
import { reentrantCollection } from '../../artifacts/ReentrantCollection.ts'
import { reentrantReceiver } from '../../artifacts/ReentrantReceiver.ts'
import { orderCount, said } from '../../checkout/counter.ts'
import { administer, burnOf, readyCrafter } from '../../craft/workshop.ts'
import { deploy, fundedWallet, mined, type Wallet } from '../../devchain/support.ts'
import { startShop } from '../../support/shop.ts'

// Contracts that are called by ours in the middle of their work, and call back. Both of ours write everything down first.

const role = (name: string): Hex => keccak256(toHex(name))
const order = (name: string): Hex => keccak256(toHex(name))

let chain: DevChain
let admin: Wallet
let user: Wallet
before(async () => {
  chain = await createDevChain({ rules: 'native' })
  admin = await fundedWallet(chain)
  user = await fundedWallet(chain)
})
after(() => chain.close())

type Contract = { readonly address: Address; readonly abi: Abi }

const act = (by: Wallet, { address, abi }: Contract, functionName: string, args: readonly unknown[]) =>
  mined(by, by.writeContract({ address, abi, functionName, args } as never))
const ask = <Answer>({ address, abi }: Contract, functionName: string, args: readonly unknown[] = []) =>
  admin.readContract({ address, abi, functionName, args } as never) as Promise<Answer>

describe('a receiver that calls SaleLots back while it is minted to', () => {
  const SALE = 1n

  async function sale(supply: bigint) {
    const contract = {
      address: await deploy(admin, saleLots, ['Lots', 'LOT', admin.account.address]),
      abi: saleLots.abi,
    }
    const terms = { name: 'Lot', uri: 'data:,', unitPrice: parseUsd('1'), supply, opensAt: 0n, closesAt: 0n }
    await act(admin, contract, 'setLot', [SALE, terms])
    await act(admin, contract, 'grantRole', [role('MINTER_ROLE'), admin.account.address])
    const receiver = { address: await deploy(user, reentrantReceiver, [contract.address]), abi: reentrantReceiver.abi }
    await act(user, receiver, 'aim', [order('one'), SALE])
    const mint = () => act(admin, contract, 'mint', [order('one'), SALE, 2n, receiver.address])
    const minted = async () => (await ask<{ minted: bigint }>(contract, 'lot', [SALE])).minted
    const held = () => ask<bigint>(contract, 'balanceOf', [receiver.address])
    return { contract, receiver, mint, minted, held }
  }

  test('gets what was bought, and nothing by calling', async () => {
    const { receiver, mint, minted, held } = await sale(10n)
    await mint()
    assert.deepEqual([await held(), await minted()], [2n, 2n])
    assert.deepEqual([await ask(receiver, 'answered'), await ask(receiver, 'otherWentThrough')], [0n, false])
    await mint()
    assert.equal(await held(), 2n)
  })

  test('though it were a minter itself: its own order is known already, and no lot gives more than it has', async () => {
    const { contract, receiver, mint, minted, held } = await sale(2n)
    await act(admin, contract, 'grantRole', [role('MINTER_ROLE'), receiver.address])
    await mint()
    assert.deepEqual([await held(), await minted()], [2n, 2n])
    const [, quantity, , first] = await ask<readonly bigint[]>(contract, 'orderOf', [order('one')])
    assert.equal(quantity, 2n)
    assert.deepEqual([await ask(receiver, 'answered'), await ask(receiver, 'otherWentThrough')], [first, false])
  })
})

describe('a collection that calls CraftController back while its token is taken', () => {
  async function controller() {
    const token = await deploy(admin, craftToken, ['Spark', 'SPK', admin.account.address])
    const args = [admin.account.address, token, 3_600n, 60n] as const
    const contract = { address: await deploy(admin, craftController, args), abi: craftController.abi }
    await act(admin, contract, 'grantRole', [role('OPERATOR_ROLE'), admin.account.address])
    const nfts = { address: await deploy(user, reentrantCollection, [contract.address]), abi: reentrantCollection.abi }
    await act(admin, contract, 'setCollectionAllowed', [nfts.address, true])
    await act(user, nfts, 'mint', [user.account.address, 7n])
    await act(user, nfts, 'approve', [contract.address, 7n])
    await act(user, nfts, 'aim', [order('one')])
    const taken = [{ collection: nfts.address, tokenId: 7n }]
    const burn = () => act(admin, contract, 'burn', [order('one'), user.account.address, taken])
    const timers = async () => (await ask<readonly unknown[]>(contract, 'timersOf', [user.account.address])).length
    return { contract, nfts, burn, timers, owner: () => ask<Address>(nfts, 'ownerOf', [7n]) }
  }

  test('starts one timer for one token', async () => {
    const { contract, nfts, burn, timers, owner } = await controller()
    await burn()
    assert.equal(await timers(), 1)
    assert.equal((await owner()).toLowerCase(), contract.address.toLowerCase())
    assert.deepEqual([await ask(nfts, 'sameWentThrough'), await ask(nfts, 'otherWentThrough')], [false, false])
  })

  test('though it were an operator itself: one token never burns for two actions', async () => {
    const { contract, nfts, burn, timers, owner } = await controller()
    await act(admin, contract, 'grantRole', [role('OPERATOR_ROLE'), nfts.address])
    await assert.rejects(burn())
    assert.equal(await timers(), 0)
    assert.equal((await owner()).toLowerCase(), user.account.address.toLowerCase())
  })
})

test('a collection that answers with all the memory there is costs its own user a refusal, and us nothing', async (t) => {
  const shop = await startShop()
  t.after(() => shop.stop())
  const { native } = shop.chains
  const address = await deploy(await fundedWallet(native), bombCollection, [])
  await administer(shop, 'setCollectionAllowed', [address, true])
  const crafter = await readyCrafter(shop)
  const orders = await orderCount(shop)
  const nonce = () =>
    native.request({ method: 'eth_getTransactionCount', params: [demoAddressOf('crafter'), 'latest'] })
  const before = await nonce()
  const response = await crafter.pay.x402(
    `${shop.url}/craft/x402/burn`,
    burnOf(crafter, [{ contract: address, tokenId: '1' }]),
  )
  const { payment } = await said(response)
  assert.ok(response.status >= 400 && response.status < 500, String(response.status))
  assert.equal(payment.taken, false)
  assert.deepEqual([await nonce(), await orderCount(shop)], [before, orders])
})
