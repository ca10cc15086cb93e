import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import {
  type Address,
  encodeFunctionData,
  type Hex,
  parseEther,
  parseTransaction,
  serializeTransaction,
  type TransactionSerializableEIP1559,
  toHex,
} from 'viem'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { troublemaker } from '../artifacts/Troublemaker.ts'
import { deploy, fundedWallet, mined, newAccount, refused, reverts, startChain, type Wallet } from './support.ts'

const { abi } = troublemaker
const data = (functionName: 'count' | 'revertWithText' | 'burnGas'): Hex => encodeFunctionData({ abi, functionName })
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

suite('the native chain', () => {
  let chain: DevChain
  let alice: Wallet
  let trouble: Address
  const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
  const send = (raw: Hex) => rpc('eth_sendRawTransaction', raw)

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    alice = await fundedWallet(chain)
    trouble = await deploy(alice, troublemaker, [])
  })
  after(() => chain.close())

  async function draft(changes: Partial<TransactionSerializableEIP1559> = {}): Promise<TransactionSerializableEIP1559> {
    const nonce = await alice.getTransactionCount({ address: alice.account.address })
    const fees = { maxFeePerGas: 10_000_000n, maxPriorityFeePerGas: 1_000_000n }
    return {
      type: 'eip1559',
      chainId: 84532,
      nonce,
      to: newAccount().address,
      value: 1n,
      gas: 21_000n,
      ...fees,
      ...changes,
    }
  }
  const sign = async (changes: Partial<TransactionSerializableEIP1559> = {}, signer = alice) =>
    signer.account.signTransaction!(await draft(changes))

  suite('transactions', () => {
    test('ether moves, gas is paid, the nonce counts up', async () => {
      const to = newAccount().address
      const before = await alice.getBalance({ address: alice.account.address })
      const nonce = await alice.getTransactionCount({ address: alice.account.address })
      const { gasUsed, effectiveGasPrice } = await mined(alice, alice.sendTransaction({ to, value: 123n }))
      assert.equal(await alice.getBalance({ address: to }), 123n)
      const spent = before - (await alice.getBalance({ address: alice.account.address }))
      assert.equal(gasUsed, 21_000n)
      assert.equal(spent, 123n + gasUsed * effectiveGasPrice)
      assert.equal(await alice.getTransactionCount({ address: alice.account.address }), nonce + 1)
    })

    test('a failed transaction is mined, pays its gas and changes nothing else', async () => {
      const read = () => alice.readContract({ address: trouble, abi, functionName: 'counter' })
      const before = await read()
      const call = { to: trouble, data: data('revertWithText'), gas: 100_000n }
      const receipt = await alice.waitForTransactionReceipt({ hash: await alice.sendTransaction(call) })
      assert.equal(receipt.status, 'reverted')
      assert.equal(receipt.logs.length, 0)
      assert.ok(receipt.gasUsed > 21_000n && receipt.gasUsed < 100_000n)
      assert.equal(await read(), before)
    })
  })

  suite('refusals, in the words of geth', () => {
    test('a signature of nobody, or in its malleable form', async () => {
      const { r, s, yParity, ...transaction } = parseTransaction((await sign()) as `0x02${string}`)
      const zeroes = serializeTransaction(transaction, {
        r: toHex(0, { size: 32 }),
        s: toHex(0, { size: 32 }),
        yParity: 0,
      })
      await refused(send(zeroes), -32602, /sign/)
      const mirrored = { r: r!, s: toHex(CURVE_ORDER - BigInt(s!), { size: 32 }), yParity: yParity === 0 ? 1 : 0 }
      await refused(send(serializeTransaction(transaction, mirrored)), -32602, /signature does not recover/)
      await refused(send(serializeTransaction(transaction)), -32602, /not signed/)
    })
  })

  suite('calls', () => {
    test('a revert is error 3 with its data, whatever its kind', async () => {
      await reverts(alice.readContract({ address: trouble, abi, functionName: 'revertWithText' }), 'no such luck')
      await reverts(alice.readContract({ address: trouble, abi, functionName: 'revertWithError' }), 'Custom')
      await reverts(alice.readContract({ address: trouble, abi, functionName: 'panic' }), 'Panic')
      const raw = rpc('eth_call', { to: trouble, data: data('revertWithText') }, 'latest')
      await refused(raw, 3, /^execution reverted: no such luck$/)
    })

    test('a call changes nothing, even when the same call as a transaction would', async () => {
      const before = await rpc('eth_getStorageAt', trouble, '0x0', 'latest')
      await alice.simulateContract({ address: trouble, abi, functionName: 'count' })
      assert.equal(await rpc('eth_getStorageAt', trouble, '0x0', 'latest'), before)
    })

    test('the estimate is enough, and not much more than is used', async () => {
      const call = { address: trouble, abi, functionName: 'count' } as const
      const gas = await alice.estimateContractGas({ ...call, account: alice.account })
      const { gasUsed } = await mined(alice, alice.writeContract({ ...call, gas }))
      assert.ok(gas >= gasUsed && gas < (gasUsed * 11n) / 10n, `${gas} for ${gasUsed}`)
      await refused(rpc('eth_estimateGas', { to: trouble, data: data('revertWithText') }), 3, /^execution reverted/)
    })

    test('the past can be asked: state, code and nonce as of a block', async () => {
      const counter = (blockNumber: bigint) =>
        alice.readContract({ address: trouble, abi, functionName: 'counter', blockNumber })
      const { blockNumber } = await mined(alice, alice.writeContract({ address: trouble, abi, functionName: 'count' }))
      await mined(alice, alice.writeContract({ address: trouble, abi, functionName: 'count' }))
      assert.equal((await counter(blockNumber)) - (await counter(blockNumber - 1n)), 1n)
      assert.equal((await counter(blockNumber + 1n)) - (await counter(blockNumber)), 1n)
      assert.equal(await rpc('eth_getCode', trouble, 'earliest'), '0x')
      assert.notEqual(await rpc('eth_getCode', USDC_ADDRESS, 'earliest'), '0x')
      assert.equal(await rpc('eth_getTransactionCount', alice.account.address, 'earliest'), '0x0')
      assert.equal(await rpc('eth_getBalance', alice.account.address, 'earliest'), '0x0')
      const { hash } = await alice.getBlock({ blockNumber })
      const nonce = await rpc('eth_getTransactionCount', alice.account.address, { blockHash: hash })
      assert.equal(nonce, await rpc('eth_getTransactionCount', alice.account.address, toHex(blockNumber)))
      await refused(rpc('eth_getBalance', alice.account.address, '0xffffff'), -32000, /header not found/)
    })
  })

  suite('blocks', () => {
    test('each points to the one before, and is found by number, hash and tag', async () => {
      const { blockNumber, transactionHash } = await mined(
        alice,
        alice.sendTransaction({ to: trouble, data: data('count') }),
      )
      const block = await alice.getBlock({ blockNumber, includeTransactions: true })
      assert.equal(block.parentHash, (await alice.getBlock({ blockNumber: blockNumber - 1n })).hash)
      assert.deepEqual(await alice.getBlock({ blockHash: block.hash, includeTransactions: true }), block)
      assert.equal(block.transactions[0]!.hash, transactionHash)
      assert.equal((await alice.getBlock({ blockTag: 'latest' })).hash, block.hash)
      assert.equal((await alice.getBlock({ blockTag: 'earliest' })).number, 0n)
      assert.equal(await rpc('eth_getBlockByNumber', '0xffffff', false), null)
      assert.equal(await rpc('eth_getBlockTransactionCountByNumber', 'latest'), '0x1')
      const [receipt] = (await rpc('eth_getBlockReceipts', 'latest')) as { transactionHash: Hex }[]
      assert.equal(receipt!.transactionHash, transactionHash)
      const byIndex = (await rpc('eth_getTransactionByBlockNumberAndIndex', 'latest', '0x0')) as { hash: Hex }
      assert.equal(byIndex.hash, transactionHash)
      assert.equal(await rpc('eth_getTransactionByBlockHashAndIndex', block.hash, '0x1'), null)
    })

    test('time goes forward when told to, and never back in the chain', async () => {
      const id = await rpc('evm_snapshot')
      const { timestamp } = await alice.getBlock()
      await rpc('evm_increaseTime', 1_000)
      await rpc('evm_mine')
      const later = await alice.getBlock()
      assert.ok(later.timestamp >= timestamp + 1_000n)
      await rpc('evm_increaseTime', -5_000)
      await rpc('evm_mine')
      assert.equal((await alice.getBlock()).timestamp, later.timestamp)
      assert.equal(await rpc('evm_revert', id), true)
    })

    test('the state of the last 2,048 blocks is kept, and no older one', async (t) => {
      const chain = await startChain(t, { rules: 'native', faults: true })
      const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
      const who = newAccount().address
      for (const balance of [1, 2]) await rpc('dev_setBalance', who, toHex(balance))
      for (let i = 0; i < 2_047; i++) await rpc('evm_mine')
      assert.equal(await rpc('eth_getBalance', who, '0x1'), '0x1')
      await rpc('evm_mine')
      await refused(rpc('eth_getBalance', who, '0x1'), -32000, /^historical state of block 1 is not available$/)
      assert.equal(await rpc('eth_getBalance', who, '0x2'), '0x2')
      await refused(rpc('dev_reorg', 2_049), -32000, /^historical state of block 1 is not available$/)
      assert.equal(await rpc('eth_blockNumber'), toHex(2_050))
      await rpc('dev_reorg', 2_048)
      assert.equal(await rpc('eth_getBalance', who, 'latest'), '0x2')
    })

    test('a snapshot brings back state, blocks, receipts and time; it works once', async () => {
      const height = await rpc('eth_blockNumber')
      const id = await rpc('evm_snapshot')
      const to = newAccount().address
      const { transactionHash } = await mined(alice, alice.sendTransaction({ to, value: parseEther('1') }))
      assert.equal(await rpc('evm_revert', id), true)
      assert.equal(await rpc('eth_blockNumber'), height)
      assert.equal(await rpc('eth_getBalance', to, 'latest'), '0x0')
      assert.equal(await rpc('eth_getTransactionReceipt', transactionHash), null)
      assert.equal(await rpc('evm_revert', id), false)
    })
  })
})
