import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import {
  createPublicClient,
  createWalletClient,
  type Hex,
  http,
  parseAbi,
  parseEther,
  publicActions,
  toHex,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { craftToken } from '../../src/artifacts/CraftToken.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'

// viem as it comes, and plain JSON-RPC as `cast` speaks it, over HTTP.

suite('stock clients on the native chain', () => {
  let chain: DevChain
  let rpc: RpcServer
  /** A watcher sees what comes after its first question, whenever that is. */
  const watching = Promise.withResolvers<void>()
  const account = privateKeyToAccount(generatePrivateKey())
  const shop = privateKeyToAccount(generatePrivateKey()).address

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    rpc = await serveRpc({
      ...chain,
      async request(asked) {
        const answer = await chain.request(asked)
        if (asked.method === 'eth_blockNumber') watching.resolve()
        return answer
      },
    })
    await chain.request({ method: 'dev_setBalance', params: [account.address, toHex(parseEther('5'))] })
    await chain.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, account.address, toHex(1_000_000n)] })
  })
  after(async () => {
    await rpc.close()
    await chain.close()
  })

  const connect = () =>
    createWalletClient({ account, chain: baseSepolia, transport: http(rpc.url), pollingInterval: 20 }).extend(
      publicActions,
    )
  const erc20 = parseAbi([
    'function transfer(address to, uint256 value) returns (bool)',
    'function balanceOf(address account) view returns (uint256)',
    'event Transfer(address indexed from, address indexed to, uint256 value)',
  ])

  test('viem sends, waits, reads events and watches them', async (t) => {
    const client = connect()
    const seen = Promise.withResolvers<bigint>()
    const unwatch = client.watchContractEvent({
      address: USDC_ADDRESS,
      abi: erc20,
      eventName: 'Transfer',
      args: { to: shop },
      poll: true,
      onLogs: ([log]) => seen.resolve(log!.args.value!),
    })
    t.after(unwatch)
    await watching.promise
    const hash = await client.writeContract({
      address: USDC_ADDRESS,
      abi: erc20,
      functionName: 'transfer',
      args: [shop, 77n],
    })
    const receipt = await client.waitForTransactionReceipt({ hash, confirmations: 1 })
    assert.equal(receipt.status, 'success')
    assert.equal(await seen.promise, 77n)
    const events = await client.getContractEvents({
      address: USDC_ADDRESS,
      abi: erc20,
      eventName: 'Transfer',
      args: { to: shop },
      fromBlock: 0n,
    })
    assert.deepEqual(
      events.map(({ transactionHash }) => transactionHash),
      [hash],
    )
  })

  test('viem deploys a contract and verifies a typed signature of an account that is none', async () => {
    const client = connect()
    const args = ['Spark', 'SPK', account.address] as const
    const hash = await client.deployContract({ abi: craftToken.abi, bytecode: craftToken.bytecode, args })
    const { contractAddress } = await client.waitForTransactionReceipt({ hash })
    assert.equal(
      await client.readContract({ address: contractAddress!, abi: craftToken.abi, functionName: 'symbol' }),
      'SPK',
    )
    const message = 'hello'
    const signature = await account.signMessage({ message })
    assert.equal(await client.verifyMessage({ address: account.address, message, signature }), true)
    assert.equal(await client.verifyMessage({ address: shop, message, signature }), false)
  })

  test('viem names what went wrong', async () => {
    const client = connect()
    await assert.rejects(
      client.simulateContract({
        address: USDC_ADDRESS,
        abi: erc20,
        functionName: 'transfer',
        args: [shop, 10n ** 12n],
      }),
      /ERC20: transfer amount exceeds balance/,
    )
    const poor = privateKeyToAccount(generatePrivateKey())
    const broke = createWalletClient({ account: poor, chain: baseSepolia, transport: http(rpc.url) })
    await assert.rejects(
      broke.sendTransaction({ to: shop, value: 1n, gas: 21_000n }),
      /exceeds the balance of the account/,
    )
    await client.waitForTransactionReceipt({ hash: await client.sendTransaction({ to: shop, value: 1n }) })
    await assert.rejects(client.sendTransaction({ to: shop, nonce: 0 }), /Nonce provided for the transaction is lower/)
  })

  test('plain JSON-RPC reads: what cast block, balance, call, code, logs, nonce, receipt and storage ask', async () => {
    let id = 0
    async function cast<T>(method: string, ...params: unknown[]): Promise<T> {
      const body = JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params })
      const response = await fetch(rpc.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      const answer = (await response.json()) as { id: number; result: T }
      assert.equal(answer.id, id)
      return answer.result
    }
    assert.equal(await cast('eth_chainId'), '0x14a34')
    assert.equal(await cast('web3_clientVersion'), 'sutler-devchain/1')
    const block = await cast<{ number: Hex; hash: Hex; transactions: Hex[] }>('eth_getBlockByNumber', 'latest', false)
    assert.equal(await cast('eth_blockNumber'), block.number)
    const receipt = await cast<{ blockHash: Hex }>('eth_getTransactionReceipt', block.transactions[0])
    assert.equal(receipt.blockHash, block.hash)
    const ether = BigInt(await cast<Hex>('eth_getBalance', account.address, 'latest'))
    assert.ok(ether > parseEther('4.9') && ether <= parseEther('5'))
    const symbol = await cast<Hex>('eth_call', { to: USDC_ADDRESS, data: '0x95d89b41' }, 'latest')
    assert.match(Buffer.from(symbol.slice(2), 'hex').toString(), /USDC/)
    assert.ok((await cast<Hex>('eth_getCode', USDC_ADDRESS, 'latest')).length > 1_000)
    const logs = await cast<unknown[]>('eth_getLogs', { fromBlock: '0x0', toBlock: 'latest', address: USDC_ADDRESS })
    assert.ok(logs.length >= 2)
    assert.match(await cast<Hex>('eth_getTransactionCount', account.address, 'pending'), /^0x[0-9a-f]+$/)
    assert.equal(BigInt(await cast<Hex>('eth_getStorageAt', USDC_ADDRESS, '0x0', 'latest')), 1_000_000n)
    assert.match(await cast<Hex>('eth_gasPrice'), /^0x[0-9a-f]+$/)
  })

  test('a public client needs nothing but the address', async () => {
    const client = createPublicClient({ transport: http(rpc.url) })
    assert.equal(await client.getChainId(), 84532)
    assert.equal(
      (await client.getBlock({ blockTag: 'finalized' })).number,
      await client.getBlockNumber({ cacheTime: 0 }),
    )
    const { maxFeePerGas } = await client.estimateFeesPerGas()
    assert.ok(maxFeePerGas > 0n)
  })
})
