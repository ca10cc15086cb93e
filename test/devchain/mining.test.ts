import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { type Address, type Hex, toHex } from 'viem'
import type { DevChain } from '../../src/devchain/chain.ts'
import { fundedWallet, manualClock, newAccount, refused, startChain, type Wallet } from './support.ts'

const BLOCK_TIME_MS = 2_000

/** A chain with blocks every two seconds of a clock that only the test moves. */
async function startInterval(t: TestContext) {
  const clock = manualClock()
  const chain = await startChain(t, { rules: 'native', blockTimeMs: BLOCK_TIME_MS, clock, faults: true })
  const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
  const height = async () => Number(await rpc('eth_blockNumber'))
  return { chain, clock, rpc, height, alice: await fundedWallet(chain) }
}

type Fields = {
  readonly nonce: number
  readonly to?: Address
  readonly tip?: bigint
  readonly max?: bigint
  readonly value?: bigint
  readonly data?: Hex
}

function sign(wallet: Wallet, fields: Fields): Promise<Hex> {
  const { nonce, to = newAccount().address, tip = 1_000n, max = 10_000_000n, value = 1n, data = '0x' } = fields
  return wallet.account.signTransaction!({
    type: 'eip1559',
    chainId: 84532,
    nonce,
    to,
    value,
    data,
    gas: data === '0x' ? 21_000n : 100_000n,
    maxFeePerGas: max,
    maxPriorityFeePerGas: tip,
  })
}
const submit = (chain: DevChain, raw: Hex) =>
  chain.request({ method: 'eth_sendRawTransaction', params: [raw] }) as Promise<Hex>

suite('blocks by the clock', () => {
  test('transactions wait for the next block and share it, in order', async (t) => {
    const { chain, rpc, alice } = await startInterval(t)
    const bob = await fundedWallet(chain)
    const raws = [sign(alice, { nonce: 0 }), sign(bob, { nonce: 0 }), sign(alice, { nonce: 1 })]
    const hashes = await Promise.all((await Promise.all(raws)).map((raw) => submit(chain, raw)))
    for (const hash of hashes) assert.equal(await rpc('eth_getTransactionReceipt', hash), null)
    const pending = (await rpc('eth_getTransactionByHash', hashes[0])) as { blockNumber: Hex | null; from: Address }
    assert.deepEqual([pending.blockNumber, pending.from], [null, alice.account.address.toLowerCase()])

    await rpc('evm_mine')
    const receipts = (await rpc('eth_getBlockReceipts', 'latest')) as {
      transactionHash: Hex
      transactionIndex: Hex
      gasUsed: Hex
      cumulativeGasUsed: Hex
    }[]
    assert.deepEqual(
      receipts.map(({ transactionHash }) => transactionHash),
      hashes,
    )
    assert.deepEqual(
      receipts.map(({ transactionIndex, cumulativeGasUsed }) => [transactionIndex, Number(cumulativeGasUsed)]),
      [
        ['0x0', 21_000],
        ['0x1', 42_000],
        ['0x2', 63_000],
      ],
    )
  })

  test('a block is made each time the clock has gone far enough, empty or not', async (t) => {
    const { clock, rpc, height } = await startInterval(t)
    const start = await height()
    clock.advance(BLOCK_TIME_MS - 1)
    assert.equal(await height(), start)
    clock.advance(1)
    // The miner wakes first and then stands in the queue, before this request.
    await new Promise(setImmediate)
    assert.equal(await height(), start + 1)
    const { transactions } = (await rpc('eth_getBlockByNumber', 'latest', false)) as { transactions: unknown[] }
    assert.deepEqual(transactions, [])
  })

  test('a replacement needs a tenth more of both fees, and then the first one is gone', async (t) => {
    const { chain, rpc, alice } = await startInterval(t)
    const first = await submit(chain, await sign(alice, { nonce: 0, tip: 1_000n, max: 10_000_000n }))
    const underpriced = /^replacement transaction underpriced$/
    const cheap = await sign(alice, { nonce: 0, tip: 1_099n, max: 20_000_000n })
    await refused(submit(chain, cheap), -32000, underpriced)
    await refused(submit(chain, await sign(alice, { nonce: 0, tip: 2_000n, max: 10_999_999n })), -32000, underpriced)
    const second = await submit(chain, await sign(alice, { nonce: 0, tip: 1_100n, max: 11_000_000n }))
    assert.equal(await rpc('eth_getTransactionByHash', first), null)
    await rpc('evm_mine')
    assert.equal(await rpc('eth_getTransactionReceipt', first), null)
    assert.notEqual(await rpc('eth_getTransactionReceipt', second), null)
    await refused(submit(chain, cheap), -32000, /^nonce too low/)
  })

  test('eth_sendRawTransactionSync gives up in time and tells the hash, and the transaction lives on', async (t) => {
    const { clock, rpc, alice } = await startInterval(t)
    await rpc('dev_fault', { kind: 'stick' })
    const answer = rpc('eth_sendRawTransactionSync', await sign(alice, { nonce: 0 }), toHex(500))
    const given = answer.then(
      () => assert.fail('nothing was mined'),
      (error: { code: number; data: Hex }) => error,
    )
    await rpc('eth_blockNumber')
    await new Promise(setImmediate)
    clock.advance(500)
    const { code, data } = await given
    assert.equal(code, 4)
    await rpc('dev_clearFaults')
    await rpc('evm_mine')
    assert.notEqual(await rpc('eth_getTransactionReceipt', data), null)
  })
})

suite('a block per transaction', () => {
  test('a nonce that comes early waits for the one before it, and both are mined at once', async (t) => {
    const chain = await startChain(t, { rules: 'native' })
    const alice = await fundedWallet(chain)
    const later = await submit(chain, await sign(alice, { nonce: 1 }))
    assert.equal(await chain.request({ method: 'eth_getTransactionReceipt', params: [later] }), null)
    await submit(chain, await sign(alice, { nonce: 0 }))
    assert.notEqual(await chain.request({ method: 'eth_getTransactionReceipt', params: [later] }), null)
  })
})
