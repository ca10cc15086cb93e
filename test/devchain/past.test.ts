import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { Hex } from 'viem'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { troublemaker } from '../artifacts/Troublemaker.ts'
import { deploy, fundedWallet, manualClock, mined, newAccount, startChain, wallet } from './support.ts'

const rpc = (chain: DevChain, method: string, ...params: unknown[]) => chain.request({ method, params })
const height = async (chain: DevChain) => Number(await rpc(chain, 'eth_blockNumber'))

suite('a chain that starts with the past of another', () => {
  const who = newAccount()

  async function firstChain() {
    const first = await createDevChain({ rules: 'native', clock: manualClock(1_000_000) })
    const wallet = await fundedWallet(first, who)
    const address = await deploy(wallet, troublemaker, [])
    const { transactionHash } = await mined(wallet, countOn(wallet, address))
    return { first, address, transactionHash }
  }

  const countOn = (from: ReturnType<typeof wallet>, address: Hex) =>
    from.writeContract({ address, abi: troublemaker.abi, functionName: 'count' })

  function seen(chain: DevChain, address: Hex, hash: Hex) {
    return Promise.all([
      height(chain),
      rpc(chain, 'eth_getCode', address, 'latest'),
      rpc(chain, 'eth_getBalance', who.address, 'latest'),
      rpc(chain, 'eth_getTransactionCount', who.address, 'latest'),
      rpc(chain, 'eth_getStorageAt', address, '0x0', 'latest'),
      rpc(chain, 'eth_getTransactionByHash', hash).then((found) => (found as { raw: Hex; nonce: Hex }).nonce),
      rpc(chain, 'eth_getTransactionReceipt', hash).then((receipt) => {
        const { status, gasUsed, logs } = receipt as { status: Hex; gasUsed: Hex; logs: { data: Hex; topics: Hex[] }[] }
        return { status, gasUsed, logs: logs.map(({ data, topics }) => ({ data, topics })) }
      }),
    ])
  }

  test('has its state and its transactions, at a time of its own, earlier or later', async (t) => {
    const { first, address, transactionHash } = await firstChain()
    for (const now of [500_000, 2_000_000]) {
      const second = await startChain(t, { rules: 'native', clock: manualClock(now), past: first.blocks() })
      assert.deepEqual(await seen(second, address, transactionHash), await seen(first, address, transactionHash))
      for (let number = 0; number <= (await height(second)); number++) {
        const block = (await rpc(second, 'eth_getBlockByNumber', `0x${number.toString(16)}`, false)) as Block
        assert.equal(Number(block.timestamp), now / 1000)
        assert.deepEqual(await rpc(second, 'eth_getBlockByHash', block.hash, false), block)
        if (number === 0) continue
        const parent = (await rpc(second, 'eth_getBlockByHash', block.parentHash, false)) as Block
        assert.equal(Number(parent.number), number - 1)
      }
    }
  })

  test('goes its own way from there, and can go back', async (t) => {
    const { first, address, transactionHash } = await firstChain()
    const before = await seen(first, address, transactionHash)
    const second = await startChain(t, { rules: 'native', faults: true, past: first.blocks() })
    await mined(wallet(second, who), countOn(wallet(second, who), address))
    assert.notDeepEqual(await seen(second, address, transactionHash), before)
    assert.deepEqual(await seen(first, address, transactionHash), before)
    await rpc(second, 'dev_reorg', 2, { transactions: 'drop' })
    assert.equal(await rpc(second, 'eth_getTransactionReceipt', transactionHash), null)
    assert.deepEqual(await seen(first, address, transactionHash), before)
  })
})

type Block = { readonly number: Hex; readonly hash: Hex; readonly parentHash: Hex; readonly timestamp: Hex }
