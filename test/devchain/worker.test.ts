import assert from 'node:assert/strict'
import { after, before, suite, type TestContext, test } from 'node:test'
import { type Hex, toHex } from 'viem'
import type { DevChain } from '../../src/devchain/chain.ts'
import { type DevChainsOptions, startDevChains } from '../../src/devchain/chains.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { fundedWallet, newAccount, tempFolder } from './support.ts'

async function start(t: TestContext, options: DevChainsOptions = {}) {
  const chains = await startDevChains(options)
  t.after(() => chains.close())
  return chains
}

suite('chains in a worker', () => {
  let native: DevChain
  let tempo: DevChain
  before(async () => {
    ;({ native, tempo } = await startDevChains({ faults: true }))
  })
  after(() => native.close())

  test('both answer as a chain in this thread would', async () => {
    assert.deepEqual([native.chainId, tempo.chainId], [84532, 42431])
    assert.equal(await native.request({ method: 'eth_chainId' }), toHex(84532))
    assert.equal(await tempo.request({ method: 'eth_chainId' }), toHex(42431))
    const wallet = await fundedWallet(native)
    const hash = await wallet.sendTransaction({ to: newAccount().address, value: 1n })
    assert.equal((await wallet.waitForTransactionReceipt({ hash })).status, 'success')
  })

  test('a burst of requests is carried out in the order in which it was sent', async () => {
    const wallet = await fundedWallet(native)
    const to = newAccount().address
    const fees = { maxFeePerGas: 10_000_000n, maxPriorityFeePerGas: 1n }
    const common = { type: 'eip1559', chainId: 84532, to, value: 1n, gas: 21_000n, ...fees } as const
    const raws = await Promise.all(
      Array.from({ length: 40 }, (_, nonce) => wallet.account.signTransaction!({ ...common, nonce })),
    )
    const balances = await Promise.all(
      raws.flatMap((raw) => [
        native.request({ method: 'eth_sendRawTransaction', params: [raw] }).then(() => null),
        native.request({ method: 'eth_getBalance', params: [to, 'latest'] }),
      ]),
    )
    assert.deepEqual(
      balances.filter((balance) => balance !== null),
      Array.from({ length: 40 }, (_, i) => toHex(i + 1)),
    )
  })

  test("the caller's event loop goes on while the EVM works", async () => {
    // An endless loop until the gas is gone: JUMPDEST, PUSH0, JUMP.
    const loop = native
      .request({ method: 'eth_call', params: [{ data: '0x5b5f56', gas: toHex(1_000_000) }] })
      .catch(() => {})
    let turns = 0
    let ended = false
    void loop.then(() => {
      ended = true
    })
    while (!ended) {
      turns++
      await new Promise(setImmediate)
    }
    assert.ok(turns > 100, `${turns} turns`)
  })

  test('a folder is kept from one start to the next', async (t) => {
    const dataDir = tempFolder(t)
    const who = newAccount().address
    const first = await startDevChains({ dataDir })
    const hash = (await first.native.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, who, '0x1'] })) as Hex
    await first.close()
    const { native } = await start(t, { dataDir })
    assert.notEqual(await native.request({ method: 'eth_getTransactionReceipt', params: [hash] }), null)
  })
})
