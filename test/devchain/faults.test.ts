import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { type Address, encodeFunctionData, type Hex, keccak256, toHex } from 'viem'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { fundedWallet, manualClock, newAccount, refused, startChain } from './support.ts'

async function start(t: Pick<TestContext, 'after'>) {
  const clock = manualClock()
  const chain = await startChain(t, { rules: 'native', faults: true, clock })
  const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
  const alice = await fundedWallet(chain)
  const sign = (nonce: number, to: Address = newAccount().address, tip = 1_000_000n): Promise<Hex> =>
    alice.account.signTransaction!({
      type: 'eip1559',
      chainId: 84532,
      nonce,
      to,
      value: 1n,
      gas: 50_000n,
      maxFeePerGas: 10n * tip,
      maxPriorityFeePerGas: tip,
    })
  const send = (raw: Hex) => rpc('eth_sendRawTransaction', raw) as Promise<Hex>
  const receipt = (hash: Hex) =>
    rpc('eth_getTransactionReceipt', hash) as Promise<{ status: Hex; blockHash: Hex } | null>
  return { chain, clock, rpc, alice, sign, send, receipt }
}

suite('faults', () => {
  test('lose: the transaction is mined and the caller sees a broken socket', async (t) => {
    const { rpc, sign, send, receipt } = await start(t)
    await rpc('dev_fault', { kind: 'lose', method: 'eth_sendRawTransaction' })
    const raw = await sign(0)
    await refused(send(raw), 'ECONNRESET', /^socket hang up$/)
    assert.equal((await receipt(keccak256(raw)))?.status, '0x1')
    await refused(send(raw), -32000, /^already known$/)
  })

  test('delay: the request waits, and those after it do not', async (t) => {
    const { clock, rpc, sign, send } = await start(t)
    await rpc('dev_fault', { kind: 'delay', method: 'eth_sendRawTransaction', ms: 5_000 })
    let answered = false
    const slow = send(await sign(0)).finally(() => {
      answered = true
    })
    assert.equal(await rpc('eth_blockNumber'), '0x1')
    assert.equal(answered, false)
    clock.advance(5_000)
    await slow
    assert.equal(await rpc('eth_blockNumber'), '0x2')
  })

  test('stale: every kind of read answers as of some blocks ago', async (t) => {
    const { rpc, alice, sign, send } = await start(t)
    const to = newAccount().address
    const hash = await send(await sign(0, to))
    await rpc('dev_mintToken', USDC_ADDRESS, to, toHex(7))
    const head = Number(await rpc('eth_blockNumber'))
    await rpc('dev_fault', { kind: 'stale', blocks: 2, count: 100 })
    assert.equal(Number(await rpc('eth_blockNumber')), head - 2)
    assert.equal(await rpc('eth_getTransactionReceipt', hash), null)
    assert.equal(await rpc('eth_getTransactionByHash', hash), null)
    assert.equal(await rpc('eth_getBalance', to, 'latest'), '0x0')
    assert.equal(await rpc('eth_getTransactionCount', alice.account.address, 'pending'), '0x0')
    assert.deepEqual(await rpc('eth_getLogs', { fromBlock: toHex(head), toBlock: 'latest' }), [])
    assert.equal(await rpc('eth_getBlockByNumber', toHex(head), false), null)
    const { number } = (await rpc('eth_getBlockByNumber', 'latest', false)) as { number: Hex }
    assert.equal(Number(number), head - 2)
    const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [to] })
    assert.equal(BigInt((await rpc('eth_call', { to: USDC_ADDRESS, data }, 'latest')) as Hex), 0n)
    await rpc('dev_clearFaults')
    assert.equal(BigInt((await rpc('eth_call', { to: USDC_ADDRESS, data }, 'latest')) as Hex), 7n)
    assert.notEqual(await rpc('eth_getTransactionReceipt', hash), null)
  })

  test('revert: the transaction fails in its block though every simulation went well', async (t) => {
    const { rpc, alice, sign, send, receipt } = await start(t)
    const to = newAccount().address
    await rpc('dev_fault', { kind: 'revert', to, count: 2 })
    await rpc('eth_estimateGas', { from: alice.account.address, to, value: '0x1' })
    const other = await send(await sign(0))
    const failed = await send(await sign(1, to))
    const again = await send(await sign(2, to))
    const fine = await send(await sign(3, to))
    const statuses = await Promise.all([other, failed, again, fine].map(async (hash) => (await receipt(hash))!.status))
    assert.deepEqual(statuses, ['0x1', '0x0', '0x0', '0x1'])
    assert.equal(await rpc('eth_getBalance', to, 'latest'), '0x1')
  })

  test('stick: the transaction stays in the pool, blocks those behind it, and can be outbid', async (t) => {
    const { rpc, alice, sign, send, receipt } = await start(t)
    await rpc('dev_fault', { kind: 'stick' })
    const stuck = await send(await sign(0))
    const behind = await send(await sign(1))
    await rpc('evm_mine')
    assert.equal(await receipt(stuck), null)
    assert.equal(await receipt(behind), null)
    assert.notEqual(await rpc('eth_getTransactionByHash', stuck), null)
    assert.equal(await rpc('eth_getTransactionCount', alice.account.address, 'pending'), '0x2')
    const outbidding = await send(await sign(0, newAccount().address, 1_100_000n))
    assert.notEqual(await receipt(outbidding), null)
    assert.notEqual(await receipt(behind), null)
    assert.equal(await receipt(stuck), null)
  })

  test('a fault strikes only its methods and its address, as often as it was told to', async (t) => {
    const { rpc } = await start(t)
    const [ann, bob] = [newAccount().address, newAccount().address]
    await rpc('dev_fault', { kind: 'refuse', method: ['eth_getBalance', 'eth_getCode'], to: ann, count: 2 })
    assert.equal(await rpc('eth_getBalance', bob), '0x0')
    assert.equal(await rpc('eth_getTransactionCount', ann), '0x0')
    await refused(rpc('eth_getBalance', ann), -32000, /^refused by a fault$/)
    await refused(rpc('eth_getCode', ann.toLowerCase()), -32000, /^refused by a fault$/)
    assert.equal(await rpc('eth_getBalance', ann), '0x0')
    await rpc('dev_fault', { kind: 'refuse', to: USDC_ADDRESS })
    assert.deepEqual(await rpc('eth_getLogs', { address: ann }), [])
    await refused(rpc('eth_call', { to: USDC_ADDRESS }), -32000, /^refused by a fault$/)
  })
})

suite('reorg', () => {
  test('re-mined transactions keep their outcome and change their block', async (t) => {
    const { rpc, sign, send, receipt } = await start(t)
    const to = newAccount().address
    const hash = await send(await sign(0, to))
    await rpc('dev_mintToken', USDC_ADDRESS, to, toHex(9))
    const before = await receipt(hash)
    const height = await rpc('eth_blockNumber')
    await rpc('dev_reorg', 2)
    const after = await receipt(hash)
    assert.equal(await rpc('eth_blockNumber'), height)
    assert.equal(after!.status, '0x1')
    assert.notEqual(after!.blockHash, before!.blockHash)
    assert.equal(await rpc('eth_getBlockByHash', before!.blockHash, false), null)
    assert.equal(await rpc('eth_getBalance', to, 'latest'), '0x1')
    const logs = (await rpc('eth_getLogs', { fromBlock: '0x0', address: USDC_ADDRESS })) as { blockHash: Hex }[]
    assert.equal(logs.length, 2)
    const { hash: newest } = (await rpc('eth_getBlockByNumber', 'latest', false)) as { hash: Hex }
    assert.ok(logs.every(({ blockHash }) => blockHash === newest))
  })

  test('dropped transactions are as if they had never been, and can be sent again', async (t) => {
    const { rpc, sign, send, receipt } = await start(t)
    const to = newAccount().address
    const raw = await sign(0, to)
    const hash = await send(raw)
    await rpc('dev_reorg', 1, { transactions: 'drop' })
    assert.equal(await receipt(hash), null)
    assert.equal(await rpc('eth_getBalance', to, 'latest'), '0x0')
    assert.equal(await send(raw), hash)
    assert.equal((await receipt(hash))!.status, '0x1')
  })

  test('a single one can be dropped: what followed it from the same key waits for its turn, and the rest stays', async (t) => {
    const { rpc, alice, chain, sign, send, receipt } = await start(t)
    const bob = await fundedWallet(chain)
    const [first, second] = [await sign(0), await sign(1)]
    const dropped = await send(first)
    const waiting = await send(second)
    const other = await bob.sendTransaction({ to: alice.account.address, value: 1n })
    await rpc('dev_reorg', 3, { drop: dropped })
    assert.equal((await receipt(other))!.status, '0x1')
    assert.deepEqual([await receipt(dropped), await receipt(waiting)], [null, null])
    assert.equal(await send(first), dropped)
    for (const hash of [dropped, waiting]) assert.equal((await receipt(hash))!.status, '0x1')
  })
})
