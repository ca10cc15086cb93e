import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Address, type Hex, keccak256, parseEventLogs, toHex, zeroAddress } from 'viem'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import { sandboxSaleLots } from '../../src/artifacts/SandboxSaleLots.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { deafReceiver } from '../artifacts/DeafReceiver.ts'
import { rejectingReceiver } from '../artifacts/RejectingReceiver.ts'
import { testSmartWallet } from '../artifacts/TestSmartWallet.ts'
import { deploy, fundedWallet, mined, newAccount, reverts, type Wallet } from '../devchain/support.ts'

const { abi } = saleLots
const role = (name: string): Hex => keccak256(toHex(name))
const order = (name: string): Hex => keccak256(toHex(name))
const terms = (changes: Partial<Terms> = {}): Terms => ({
  name: 'Amber sword',
  uri: 'ipfs://amber',
  unitPrice: 1_500_000n,
  supply: 10n,
  opensAt: 0n,
  closesAt: 0n,
  ...changes,
})
type Terms = { name: string; uri: string; unitPrice: bigint; supply: bigint; opensAt: bigint; closesAt: bigint }

suite('SaleLots', () => {
  let chain: DevChain
  let admin: Wallet
  let minter: Wallet
  let stranger: Wallet
  const buyer = newAccount().address

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    admin = await fundedWallet(chain)
    minter = await fundedWallet(chain)
    stranger = await fundedWallet(chain)
  })
  after(() => chain.close())

  /** A fresh contract with lot 7 of ten pieces. */
  async function newSale(changes: Partial<Terms> = {}): Promise<Address> {
    const address = await deploy(admin, saleLots, ['Lots', 'LOT', admin.account.address])
    const grant = {
      address,
      abi,
      functionName: 'grantRole',
      args: [role('MINTER_ROLE'), minter.account.address],
    } as const
    await mined(admin, admin.writeContract(grant))
    await mined(admin, admin.writeContract({ address, abi, functionName: 'setLot', args: [7n, terms(changes)] }))
    return address
  }

  type MintArgs = readonly [orderId: Hex, saleId: bigint, quantity: bigint, beneficiary: Address]
  const mint = (address: Address, args: MintArgs) =>
    mined(minter, minter.writeContract({ address, abi, functionName: 'mint', args }))
  const tryMint = (address: Address, args: MintArgs, caller = minter) =>
    caller.simulateContract({ address, abi, functionName: 'mint', args })
  const read = {
    minted: async (address: Address) =>
      (await admin.readContract({ address, abi, functionName: 'lot', args: [7n] })).minted,
    balance: (address: Address, who: Address) =>
      admin.readContract({ address, abi, functionName: 'balanceOf', args: [who] }),
  }

  test('a mint hands out consecutive tokens, counts them, and says so in one event', async () => {
    const sale = await newSale()
    await mint(sale, [order('a'), 7n, 2n, buyer])
    const receipt = await mint(sale, [order('b'), 7n, 3n, buyer])

    const [event] = parseEventLogs({ abi, logs: receipt.logs, eventName: 'LotMinted' })
    assert.deepEqual(event!.args, {
      orderId: order('b'),
      saleId: 7n,
      beneficiary: buyer,
      quantity: 3n,
      firstTokenId: 3n,
    })
    assert.equal(await read.balance(sale, buyer), 5n)
    assert.equal(await admin.readContract({ address: sale, abi, functionName: 'ownerOf', args: [5n] }), buyer)
    assert.equal(await read.minted(sale), 5n)
    assert.equal(await admin.readContract({ address: sale, abi, functionName: 'tokenURI', args: [4n] }), 'ipfs://amber')
    assert.equal(await admin.readContract({ address: sale, abi, functionName: 'saleOf', args: [4n] }), 7n)
  })

  test('each minter key can tell its own mints from those of others', async () => {
    const sale = await newSale()
    await mint(sale, [order('a'), 7n, 2n, buyer])
    const by = (who: Wallet) =>
      admin.readContract({ address: sale, abi, functionName: 'mintedBy', args: [7n, who.account.address] })
    assert.deepEqual([await by(minter), await by(stranger)], [2n, 0n])
  })

  test('the same order minted twice mints once and returns the same first token', async () => {
    const sale = await newSale()
    await mint(sale, [order('a'), 7n, 2n, buyer])
    const again = await tryMint(sale, [order('a'), 7n, 2n, buyer])
    assert.equal(again.result, 1n)
    const receipt = await mint(sale, [order('a'), 7n, 2n, buyer])
    assert.equal(receipt.logs.length, 0)
    assert.equal(await read.balance(sale, buyer), 2n)
    assert.deepEqual(await admin.readContract({ address: sale, abi, functionName: 'orderOf', args: [order('a')] }), [
      7n,
      2n,
      buyer,
      1n,
    ])
  })

  test('an order id cannot be used for anything else', async () => {
    const sale = await newSale()
    await mined(admin, admin.writeContract({ address: sale, abi, functionName: 'setLot', args: [8n, terms()] }))
    await mint(sale, [order('a'), 7n, 2n, buyer])
    await reverts(tryMint(sale, [order('a'), 8n, 2n, buyer]), 'OrderMismatch')
    await reverts(tryMint(sale, [order('a'), 7n, 3n, buyer]), 'OrderMismatch')
    await reverts(tryMint(sale, [order('a'), 7n, 2n, stranger.account.address]), 'OrderMismatch')
  })

  test('an order that is closed is never minted; one that was minted stays so', async () => {
    const sale = await newSale()
    const close = (name: string, by = minter) =>
      by.simulateContract({ address: sale, abi, functionName: 'closeOrder', args: [order(name)] })
    await reverts(close('a', stranger), 'AccessControlUnauthorizedAccount')
    assert.equal((await close('a')).result, false)
    for (let twice = 0; twice < 2; twice++) await mined(minter, minter.writeContract((await close('a')).request))
    await reverts(tryMint(sale, [order('a'), 7n, 1n, buyer]), 'OrderClosed')
    await mint(sale, [order('b'), 7n, 1n, buyer])
    assert.equal((await close('b')).result, true)
    await mined(minter, minter.writeContract((await close('b')).request))
    assert.equal((await tryMint(sale, [order('b'), 7n, 1n, buyer])).result, 1n)
  })

  test('supply is a hard end: the last piece sells, one more does not', async () => {
    const sale = await newSale({ supply: 3n })
    await mint(sale, [order('a'), 7n, 2n, buyer])
    await reverts(tryMint(sale, [order('b'), 7n, 2n, buyer]), 'SupplyExceeded')
    await mint(sale, [order('b'), 7n, 1n, buyer])
    await reverts(tryMint(sale, [order('c'), 7n, 1n, buyer]), 'SupplyExceeded')
  })

  test('a lot that closed after payment still owes the buyer a token', async () => {
    const sale = await newSale({ opensAt: 1n, closesAt: 2n })
    await mint(sale, [order('a'), 7n, 1n, buyer])
    assert.equal(await read.balance(sale, buyer), 1n)
  })

  test('nothing, and a lot that is not there, cannot be minted', async () => {
    const sale = await newSale()
    await reverts(tryMint(sale, [order('a'), 7n, 0n, buyer]), 'NothingToMint')
    await reverts(tryMint(sale, [order('a'), 99n, 1n, buyer]), 'UnknownLot')
  })

  test('only a minter mints, only a lot manager sets lots, only a pauser pauses', async () => {
    const sale = await newSale()
    const refused = 'AccessControlUnauthorizedAccount'
    await reverts(tryMint(sale, [order('a'), 7n, 1n, buyer], stranger), refused)
    await reverts(tryMint(sale, [order('a'), 7n, 1n, buyer], admin), refused)
    await reverts(minter.simulateContract({ address: sale, abi, functionName: 'setLot', args: [7n, terms()] }), refused)
    await reverts(minter.simulateContract({ address: sale, abi, functionName: 'pause' }), refused)
    await reverts(minter.simulateContract({ address: sale, abi, functionName: 'unpause' }), refused)
  })

  test('while paused nothing new is minted, and an order that was minted is still acknowledged', async () => {
    const sale = await newSale()
    await mint(sale, [order('a'), 7n, 1n, buyer])
    await mined(admin, admin.writeContract({ address: sale, abi, functionName: 'pause' }))
    await reverts(tryMint(sale, [order('b'), 7n, 1n, buyer]), 'EnforcedPause')
    assert.equal((await tryMint(sale, [order('a'), 7n, 1n, buyer])).result, 1n)
    await mined(admin, admin.writeContract({ address: sale, abi, functionName: 'unpause' }))
    await mint(sale, [order('b'), 7n, 1n, buyer])
  })

  test('a receiver that rejects, or has never heard of ERC-721, fails the mint and leaves no trace', async () => {
    const sale = await newSale()
    const rejecting = await deploy(admin, rejectingReceiver, [])
    const deaf = await deploy(admin, deafReceiver, [])
    await reverts(tryMint(sale, [order('a'), 7n, 1n, rejecting]), 'RejectingReceiver: no thanks')
    await reverts(tryMint(sale, [order('a'), 7n, 1n, deaf]), 'ERC721InvalidReceiver')
    await reverts(tryMint(sale, [order('a'), 7n, 1n, zeroAddress]), 'ERC721InvalidReceiver')
    const raw = { address: sale, abi, functionName: 'mint', args: [order('a'), 7n, 1n, deaf], gas: 500_000n } as const
    const failed = await minter.waitForTransactionReceipt({ hash: await minter.writeContract(raw) })
    assert.equal(failed.status, 'reverted')
    assert.equal(await read.minted(sale), 0n)
    await mint(sale, [order('a'), 7n, 1n, buyer])
  })

  test('a smart wallet that accepts ERC-721 can buy', async () => {
    const sale = await newSale()
    const smart = await deploy(admin, testSmartWallet, [buyer])
    await mint(sale, [order('a'), 7n, 1n, smart])
    assert.equal(await read.balance(sale, smart), 1n)
  })

  test('terms can change, but never to a supply below what was minted', async () => {
    const sale = await newSale()
    await mint(sale, [order('a'), 7n, 4n, buyer])
    const set = (changes: Partial<Terms>) =>
      ({ address: sale, abi, functionName: 'setLot', args: [7n, terms(changes)] }) as const
    await reverts(admin.simulateContract(set({ supply: 3n })), 'SupplyBelowMinted')
    await mined(admin, admin.writeContract(set({ supply: 4n, unitPrice: 9n, closesAt: 5n })))
    const lot = await admin.readContract({ address: sale, abi, functionName: 'lot', args: [7n] })
    assert.deepEqual(lot, { exists: true, minted: 4n, terms: terms({ supply: 4n, unitPrice: 9n, closesAt: 5n }) })
  })

  test('lots are listed page by page in the order of their creation, each once', async () => {
    const sale = await newSale()
    for (const id of [3n, 5n, 3n]) {
      await mined(admin, admin.writeContract({ address: sale, abi, functionName: 'setLot', args: [id, terms()] }))
    }
    const page = (offset: bigint, limit: bigint) =>
      admin.readContract({ address: sale, abi, functionName: 'lotIds', args: [offset, limit] })
    assert.equal(await admin.readContract({ address: sale, abi, functionName: 'lotCount' }), 3n)
    assert.deepEqual(await page(0n, 2n), [7n, 3n])
    assert.deepEqual(await page(2n, 2n), [5n])
    assert.deepEqual(await page(9n, 2n), [])
    const unknown = await admin.readContract({ address: sale, abi, functionName: 'lot', args: [99n] })
    assert.equal(unknown.exists, false)
  })

  test('in the sandbox a lot can be told to revert: every trial goes well, the mint itself fails, other lots sell on', async () => {
    const { abi } = sandboxSaleLots
    const address = await deploy(admin, sandboxSaleLots, ['Lots', 'LOT', admin.account.address])
    const grant = [role('MINTER_ROLE'), minter.account.address] as const
    await mined(admin, admin.writeContract({ address, abi, functionName: 'grantRole', args: grant }))
    for (const id of [1n, 2n]) {
      await mined(admin, admin.writeContract({ address, abi, functionName: 'setLot', args: [id, terms()] }))
    }
    await mined(admin, admin.writeContract({ address, abi, functionName: 'setMintReverts', args: [1n, true] }))
    const mintOf = (id: bigint) =>
      ({ address, abi, functionName: 'mint', args: [order(`of ${id}`), id, 1n, buyer] }) as const
    assert.equal((await minter.simulateContract(mintOf(1n))).result, 1n)
    const hash = await minter.writeContract(mintOf(1n))
    assert.equal((await minter.waitForTransactionReceipt({ hash })).status, 'reverted')
    await mined(minter, minter.writeContract(mintOf(2n)))
    assert.equal(await admin.readContract({ address, abi, functionName: 'balanceOf', args: [buyer] }), 1n)
    await reverts(
      minter.simulateContract({ address, abi, functionName: 'setMintReverts', args: [1n, false] }),
      'AccessControlUnauthorizedAccount',
    )
  })
})
