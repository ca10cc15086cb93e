import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { encodeFunctionData, type Hex, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { openJournal } from '../../src/devchain/blocks/journal.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { PATH_USD_ADDRESS, type RuleSet, USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { troublemaker } from '../artifacts/Troublemaker.ts'
import { deploy, fundedWallet, mined, newAccount, refused, tempFolder } from './support.ts'
import { memoTransfer, signTempo } from './tempo-signing.ts'

const file = (folder: string, chainId = 84532) => join(folder, `chain-${chainId}.journal`)
const mint = (chain: DevChain, to: Hex, amount: bigint, token = USDC_ADDRESS) =>
  chain.request({ method: 'dev_mintToken', params: [token, to, toHex(amount)] }) as Promise<Hex>
const height = async (chain: DevChain) => Number(await chain.request({ method: 'eth_blockNumber' }))
async function usdcOf(chain: DevChain, who: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [who] })
  return BigInt((await chain.request({ method: 'eth_call', params: [{ to: USDC_ADDRESS, data }] })) as Hex)
}

/** Runs a chain on the folder, closes it, and returns what `work` returned. */
async function session<T>(
  dataDir: string,
  work: (chain: DevChain) => Promise<T>,
  rules: RuleSet = 'native',
): Promise<T> {
  const chain = await createDevChain({ rules, dataDir, faults: true })
  try {
    return await work(chain)
  } finally {
    await chain.close()
  }
}

suite('a chain with a folder', () => {
  test('is the same after a restart: state, code, blocks, receipts, logs, nonces', async (t) => {
    const folder = tempFolder(t)
    const who = newAccount()
    const before = await session(folder, async (chain) => {
      const wallet = await fundedWallet(chain, who)
      const address = await deploy(wallet, troublemaker, [])
      const call = { address, abi: troublemaker.abi, functionName: 'count' } as const
      const { transactionHash } = await mined(wallet, wallet.writeContract(call))
      return { address, transactionHash, seen: await everything(chain, address, transactionHash, who.address) }
    })
    await session(folder, async (chain) => {
      const { address, transactionHash, seen } = before
      assert.deepEqual(await everything(chain, address, transactionHash, who.address), seen)
      const wallet = await fundedWallet(chain, who)
      await mined(wallet, wallet.writeContract({ address, abi: troublemaker.abi, functionName: 'count' }))
    })
  })

  async function everything(chain: DevChain, address: Hex, hash: Hex, who: Hex): Promise<unknown> {
    const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
    return Promise.all([
      rpc('eth_blockNumber'),
      rpc('eth_getBlockByNumber', 'latest', true),
      rpc('eth_getBlockByNumber', '0x0', true),
      rpc('eth_getTransactionReceipt', hash),
      rpc('eth_getTransactionByHash', hash),
      rpc('eth_getLogs', { fromBlock: 'earliest' }),
      rpc('eth_getCode', address),
      rpc('eth_getStorageAt', address, '0x0'),
      rpc('eth_getStorageAt', address, '0x0', '0x2'),
      rpc('eth_getTransactionCount', who),
      rpc('eth_getBalance', who),
    ])
  }

  test("keeps Tempo's two-dimensional nonces", async (t) => {
    const folder = tempFolder(t)
    const key = generatePrivateKey()
    const calls = [memoTransfer(newAccount().address, 1n)]
    await session(
      folder,
      async (chain) => {
        await mint(chain, privateKeyToAddress(key), 1_000_000n, PATH_USD_ADDRESS)
        await chain.request({ method: 'eth_sendRawTransaction', params: [signTempo(key, { nonceKey: 3n, calls })] })
      },
      'tempo',
    )
    await session(
      folder,
      async (chain) => {
        const again = signTempo(key, { nonceKey: 3n, calls: [memoTransfer(newAccount().address, 2n)] })
        await refused(chain.request({ method: 'eth_sendRawTransaction', params: [again] }), -32003, /next nonce 1/)
      },
      'tempo',
    )
  })

  test('remembers what was taken back: snapshots and reorgs', async (t) => {
    const folder = tempFolder(t)
    const [ann, bob] = [newAccount().address, newAccount().address]
    const seen = await session(folder, async (chain) => {
      await mint(chain, ann, 1n)
      const id = await chain.request({ method: 'evm_snapshot' })
      await mint(chain, ann, 10n)
      await chain.request({ method: 'evm_revert', params: [id] })
      await mint(chain, bob, 2n)
      await chain.request({ method: 'dev_reorg', params: [1, { transactions: 'drop' }] })
      await mint(chain, bob, 4n)
      return chain.request({ method: 'eth_getBlockByNumber', params: ['latest', true] })
    })
    await session(folder, async (chain) => {
      assert.deepEqual([await usdcOf(chain, ann), await usdcOf(chain, bob)], [1n, 4n])
      assert.deepEqual(await chain.request({ method: 'eth_getBlockByNumber', params: ['latest', true] }), seen)
    })
  })

  test('drops a torn last record, whatever length is left of it, and goes on', async (t) => {
    const folder = tempFolder(t)
    const who = newAccount().address
    await session(folder, (chain) => mint(chain, who, 1n))
    const whole = statSync(file(folder)).size
    await session(folder, (chain) => mint(chain, who, 2n))
    const torn = statSync(file(folder)).size
    const bytes = readFileSync(file(folder))
    for (const length of [torn - 1, torn - 2, Math.floor((whole + torn) / 2), whole + 18, whole + 5, whole + 1]) {
      writeFileSync(file(folder), bytes.subarray(0, length))
      await session(folder, async (chain) => {
        assert.equal(await height(chain), 1)
        assert.equal(await usdcOf(chain, who), 1n)
      })
      assert.equal(statSync(file(folder)).size, whole)
    }
    writeFileSync(file(folder), bytes)
    await session(folder, async (chain) => assert.equal(await usdcOf(chain, who), 3n))
  })

  test('refuses a record that is damaged in the middle, and names the file', async (t) => {
    const folder = tempFolder(t)
    const who = newAccount().address
    await session(folder, (chain) => mint(chain, who, 1n))
    const middle = statSync(file(folder)).size - 10
    await session(folder, (chain) => mint(chain, who, 2n))
    const bytes = readFileSync(file(folder))
    bytes[middle]! ^= 1
    writeFileSync(file(folder), bytes)
    const start = createDevChain({ rules: 'native', dataDir: folder })
    await refused(
      start,
      'devchain_corrupt',
      new RegExp(`cannot read ${file(folder)}: the record at byte \\d+ is damaged`),
    )
    assert.deepEqual(readFileSync(file(folder)), bytes, 'the file is left as it was found')
  })
})

suite('the journal', () => {
  const unexpected = () => assert.fail('a new journal holds nothing')

  test('an early record is settled though more keep coming', async (t) => {
    const journal = await openJournal(join(tempFolder(t), 'journal'), 'test', unexpected)
    let open = true
    const pour = (): void => {
      if (!open) return
      journal.append({ more: true })
      setImmediate(pour)
    }
    pour()
    await journal.settled()
    open = false
    await journal.close()
  })
})
