import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { type Address, encodeFunctionData, type Hex, pad, toEventSelector, toHex } from 'viem'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { troublemaker } from '../artifacts/Troublemaker.ts'
import { newAccount, refused } from './support.ts'

type Log = { readonly blockNumber: Hex; readonly logIndex: Hex; readonly topics: Hex[]; readonly address: Address }

suite('eth_getLogs', () => {
  let chain: DevChain
  let head: number
  const [ann, bob] = [newAccount().address.toLowerCase() as Address, newAccount().address.toLowerCase() as Address]
  const counter = newAccount().address.toLowerCase() as Address
  const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
  const MINT = toEventSelector('Mint(address,address,uint256)')
  const COUNTED = toEventSelector('Counted(address,uint256)')
  const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
  const logs = (filter: object) => rpc('eth_getLogs', filter) as Promise<Log[]>
  const all = { fromBlock: 'earliest', toBlock: 'latest' }

  // Blocks: 1 mints to ann, 2 is empty, 3 mints to bob, 4 plants a contract, 5 counts.
  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    await rpc('dev_mintToken', USDC_ADDRESS, ann, toHex(1))
    await rpc('evm_mine')
    await rpc('dev_mintToken', USDC_ADDRESS, bob, toHex(2))
    await rpc('dev_setCode', counter, troublemaker.runtime)
    const data = encodeFunctionData({ abi: troublemaker.abi, functionName: 'count' })
    await rpc('dev_systemCall', counter, data)
    head = Number(await rpc('eth_blockNumber'))
    assert.equal(head, 5)
  })
  after(() => chain.close())

  test('without a range it means the newest block', async () => {
    assert.deepEqual(
      (await logs({})).map(({ address }) => address),
      [counter],
    )
  })

  test('a range holds both of its ends', async () => {
    const numbers = async (fromBlock: number, toBlock: number) =>
      (await logs({ fromBlock: toHex(fromBlock), toBlock: toHex(toBlock) })).map(({ blockNumber }) =>
        Number(blockNumber),
      )
    assert.deepEqual(await numbers(1, 3), [1, 1, 3, 3])
    assert.deepEqual(await numbers(2, 2), [])
    assert.deepEqual(await numbers(3, 5), [3, 3, 5])
  })

  test('a range that runs backwards is wrong', async () => {
    await refused(logs({ fromBlock: '0x3', toBlock: '0x1' }), -32602, /invalid block range/)
  })

  test('a block can be named by its hash, alone', async () => {
    const { hash } = (await rpc('eth_getBlockByNumber', '0x3', false)) as { hash: Hex }
    assert.equal((await logs({ blockHash: hash })).length, 2)
    await refused(logs({ blockHash: hash, fromBlock: '0x1' }), -32602, /excludes/)
    await refused(logs({ blockHash: pad('0x1') }), -32000, /unknown block/)
  })

  test('addresses may be one or many, in any case', async () => {
    assert.equal((await logs({ ...all, address: USDC_ADDRESS.toUpperCase().replace('0X', '0x') })).length, 4)
    assert.equal((await logs({ ...all, address: [USDC_ADDRESS, counter] })).length, 5)
    assert.equal((await logs({ ...all, address: ann })).length, 0)
    assert.equal((await logs({ ...all, address: [] })).length, 0)
  })

  test('topics: any, one, one of several, and by place', async () => {
    const count = async (topics: unknown[]) => (await logs({ ...all, topics })).length
    assert.equal(await count([TRANSFER]), 2)
    assert.equal(await count([[TRANSFER, COUNTED]]), 3)
    assert.equal(await count([null, null, pad(bob)]), 2)
    assert.equal(await count([MINT, null, [pad(ann), pad(bob)]]), 2)
    assert.equal(await count([[]]), 5)
    assert.equal(await count([pad(ann)]), 0)
  })

  test('log indexes run through the block', async () => {
    assert.deepEqual(
      (await logs({ fromBlock: '0x1', toBlock: '0x1' })).map(({ logIndex }) => logIndex),
      ['0x0', '0x1'],
    )
  })
})
