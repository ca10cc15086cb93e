import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { decodeFunctionResult, encodeFunctionData, type Hex, toHex } from 'viem'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { mirror } from '../artifacts/Mirror.ts'
import { deploy, fundedWallet, manualClock, mined, refused, type Wallet } from './support.ts'

const BASE_FEE = 1_000_000n
const { abi } = mirror

suite('a call runs on the terms it names, as geth runs it', () => {
  let chain: DevChain
  let alice: Wallet
  let to: Hex
  const rpc = <Answer>(method: string, ...params: unknown[]) => chain.request({ method, params }) as Promise<Answer>
  before(async () => {
    chain = await createDevChain({ rules: 'native', faults: true })
    alice = await fundedWallet(chain)
    to = await deploy(alice, mirror, [])
  })
  after(() => chain.close())

  async function shown(terms: object) {
    const data = encodeFunctionData({ abi, functionName: 'terms' })
    const answer = await rpc<Hex>('eth_call', { from: alice.account.address, to, data, ...terms }, 'latest')
    return decodeFunctionResult({ abi, functionName: 'terms', data: answer })
  }

  test('what no block would take is refused: too little for the base fee, too much for the wallet, too little gas', async () => {
    await refused(
      shown({ maxFeePerGas: toHex(BASE_FEE - 1n), gas: '0x30d40' }),
      -32000,
      /max fee per gas less than block base fee/,
    )
    await refused(shown({ maxFeePerGas: toHex(10n ** 18n), gas: '0x30d40' }), -32000, /insufficient funds/)
    await refused(shown({ gas: toHex(21_000n) }), -32000, /intrinsic gas too low/)
  })
})

suite('an answer that was given before is given again only while it is true', () => {
  // One instruction, and what it says as a word: `TIMESTAMP`, and `SELFBALANCE`.
  const saying = (instruction: string): Hex => `0x66${instruction}5f5260205ff35f5260076019f3`
  let chain: DevChain
  let alice: Wallet
  const clock = manualClock()
  const rpc = <Answer>(method: string, ...params: unknown[]) => chain.request({ method, params }) as Promise<Answer>
  const asked = async (to: Hex, tag = 'latest') => BigInt(await rpc<Hex>('eth_call', { to }, tag))
  const placed = async (data: Hex) => (await mined(alice, alice.sendTransaction({ data }))).contractAddress!
  before(async () => {
    chain = await createDevChain({ rules: 'native', clock })
    alice = await fundedWallet(chain)
  })
  after(() => chain.close())

  test('a transaction changes it, a snapshot brings it back, and the past keeps its own', async () => {
    const to = await placed(saying('47'))
    const block = await rpc<Hex>('eth_blockNumber')
    const snapshot = await rpc<Hex>('evm_snapshot')
    assert.equal(await asked(to), 0n)
    await rpc('dev_setBalance', to, toHex(5n))
    assert.equal(await asked(to), 5n)
    assert.equal(await asked(to, block), 0n)
    await rpc('evm_mine')
    assert.equal(await asked(to), 5n)
    await rpc('evm_revert', snapshot)
    assert.equal(await asked(to), 0n)
    await rpc('dev_setBalance', to, toHex(7n))
    assert.equal(await asked(to), 7n)
  })

  test('what changes elsewhere changes no answer, and what is put back is answered as before', async () => {
    const [to, elsewhere] = [await placed(saying('47')), await placed(saying('47'))]
    const answers: bigint[] = []
    for (const [where, amount] of [
      [to, 3n],
      [elsewhere, 8n],
      [to, 4n],
      [elsewhere, 4n],
      [to, 3n],
    ] as const) {
      await rpc('dev_setBalance', where, toHex(amount))
      answers.push(await asked(to), await asked(elsewhere))
    }
    assert.deepEqual(answers, [3n, 0n, 3n, 8n, 4n, 8n, 4n, 4n, 3n, 4n])
  })
})
