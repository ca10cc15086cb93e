import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { Secp256k1, Signature } from 'ox'
import { SignatureEnvelope, TxEnvelopeTempo } from 'ox/tempo'
import {
  type Address,
  createClient,
  custom,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  maxUint256,
  parseEventLogs,
  publicActions,
  toHex,
  walletActions,
} from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { tempoModerato } from 'viem/tempo/chains'
import { testTip20 } from '../../src/artifacts/TestTip20.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { FEE_MANAGER_ADDRESS, NONCE_PRECOMPILE_ADDRESS, PATH_USD_ADDRESS } from '../../src/devchain/rules.ts'
import { manualClock, newAccount, refused } from './support.ts'
import { memo, memoTransfer, signSponsored, signTempo, signUnsponsored, tempoEnvelope } from './tempo-signing.ts'

const { abi } = testTip20
const token = getAddress(PATH_USD_ADDRESS)
const feeManager = getAddress(FEE_MANAGER_ADDRESS)

suite('the tempo chain', () => {
  const clock = manualClock()
  let chain: DevChain
  let client: ReturnType<typeof connect>
  const shop = newAccount().address
  const rpc = (method: string, ...params: unknown[]) => chain.request({ method, params })
  const send = (raw: Hex) => rpc('eth_sendRawTransaction', raw)
  const now = () => Math.floor(clock.now() / 1000)

  function connect() {
    const transport = custom(chain, { retryCount: 0 })
    return createClient({ chain: tempoModerato, transport }).extend(publicActions).extend(walletActions)
  }

  before(async () => {
    chain = await createDevChain({ rules: 'tempo', clock })
    client = connect()
  })
  after(() => chain.close())

  async function funded(amount = 100_000_000n): Promise<{ key: Hex; address: Address }> {
    const key = generatePrivateKey()
    const address = privateKeyToAddress(key)
    if (amount > 0n) await rpc('dev_mintToken', PATH_USD_ADDRESS, address, toHex(amount))
    return { key, address }
  }
  const balanceOf = (account: Address) =>
    client.readContract({ address: token, abi, functionName: 'balanceOf', args: [account] })
  const receiptOf = async (raw: Hex) => client.getTransactionReceipt({ hash: (await send(raw)) as Hex })

  suite('payments', () => {
    test('a transfer with a memo logs what the payee looks for, then the fee', async () => {
      const payer = await funded()
      const receipt = await receiptOf(signTempo(payer.key, { calls: [memoTransfer(shop, 250_000n)] }))
      const logs = parseEventLogs({ abi, logs: receipt.logs })
      assert.deepEqual(
        logs.map(({ eventName }) => eventName),
        ['Transfer', 'TransferWithMemo', 'Transfer'],
      )
      assert.deepEqual(logs[1]!.args, { from: payer.address, to: shop, amount: 250_000n, memo: memo('order 1') })
      const fee = logs[2]!.args as { from: Address; to: Address; amount: bigint }
      assert.deepEqual([fee.from, fee.to], [payer.address, feeManager])
      const gasInToken = (receipt.gasUsed * 20_000_000_000n + 10n ** 12n - 1n) / 10n ** 12n
      assert.equal(fee.amount, gasInToken)
      assert.equal(await balanceOf(payer.address), 100_000_000n - 250_000n - gasInToken)
    })

    test('the receipt and the transaction are those of type 0x76, under the hash that clients compute', async () => {
      const payer = await funded()
      const raw = signTempo(payer.key, { calls: [memoTransfer(shop, 1n)] })
      const hash = await send(raw)
      assert.equal(hash, keccak256(raw))
      const receipt = (await rpc('eth_getTransactionReceipt', hash)) as Record<string, unknown>
      assert.equal(receipt['type'], '0x76')
      assert.equal(receipt['feePayer'], payer.address.toLowerCase())
      assert.equal(receipt['feeToken'], PATH_USD_ADDRESS)
      const shown = (await rpc('eth_getTransactionByHash', hash)) as { calls: unknown[]; signature: { type: string } }
      assert.equal(shown.calls.length, 1)
      assert.equal(shown.signature.type, 'secp256k1')
    })

    test('a batch is atomic: one bad call undoes them all, and the fee is still paid', async () => {
      const payer = await funded()
      const other = newAccount().address
      const good = await receiptOf(signTempo(payer.key, { calls: [memoTransfer(shop, 5n), memoTransfer(other, 7n)] }))
      assert.equal(good.status, 'success')
      assert.equal(await balanceOf(other), 7n)
      const calls = [memoTransfer(other, 7n), memoTransfer(shop, 10n ** 12n)]
      const bad = await receiptOf(signTempo(payer.key, { nonce: 1n, calls }))
      assert.equal(bad.status, 'reverted')
      assert.equal(await balanceOf(other), 7n)
      assert.deepEqual(
        parseEventLogs({ abi, logs: bad.logs }).map(({ args }) => (args as { to: Address }).to),
        [feeManager],
      )
    })

    test('a payer who owns exactly the price cannot pay the gas: refused before anything moves', async () => {
      const payer = await funded(250_000n)
      const refusal = /^insufficient fee token balance: required 6000, but only have 1000$/
      const poor = await funded(1_000n)
      await refused(send(signTempo(poor.key, { calls: [memoTransfer(shop, 1n)] })), -32003, refusal)
      // The fee fits, fee and price together do not: it reverts, and only the fee is gone.
      const receipt = await receiptOf(signTempo(payer.key, { calls: [memoTransfer(shop, 250_000n)] }))
      assert.equal(receipt.status, 'reverted')
      assert.ok((await balanceOf(payer.address)) < 250_000n)
      const again = await funded(250_000n)
      const call = { from: again.address, calls: [memoTransfer(shop, 250_000n)], type: '0x76', feeToken: token }
      const priced = { ...call, gas: toHex(300_000), maxFeePerGas: toHex(20_000_000_000n) }
      await refused(rpc('eth_call', priced, 'latest'), 3, /^execution reverted/)
      assert.equal(await rpc('eth_call', call, 'latest'), '0x')
    })

    test('allowances and permits work, memo or no memo', async () => {
      const owner = newAccount()
      await rpc('dev_mintToken', token, owner.address, toHex(50_000_000n))
      const spender = await funded()
      const message = { owner: owner.address, spender: spender.address, value: 10n, nonce: 0n, deadline: 2n ** 40n }
      const signature = await owner.signTypedData({
        domain: { name: 'pathUSD', version: '1', chainId: 42431, verifyingContract: token },
        types: {
          Permit: [
            { name: 'owner', type: 'address' },
            { name: 'spender', type: 'address' },
            { name: 'value', type: 'uint256' },
            { name: 'nonce', type: 'uint256' },
            { name: 'deadline', type: 'uint256' },
          ],
        },
        primaryType: 'Permit',
        message,
      })
      const { r, s, yParity } = Signature.fromHex(signature)
      const [rHex, sHex] = [toHex(r, { size: 32 }), toHex(s, { size: 32 })]
      const args = [owner.address, spender.address, 10n, 2n ** 40n, 27 + yParity, rHex, sHex] as const
      const permit = { to: token, data: encodeFunctionData({ abi, functionName: 'permit', args }) }
      const pullArgs = [owner.address, shop, 10n, memo('pull')] as const
      const pull = {
        to: token,
        data: encodeFunctionData({ abi, functionName: 'transferFromWithMemo', args: pullArgs }),
      }
      const before = await balanceOf(shop)
      assert.equal((await receiptOf(signTempo(spender.key, { calls: [permit, pull] }))).status, 'success')
      assert.equal((await balanceOf(shop)) - before, 10n)
      assert.equal((await receiptOf(signTempo(spender.key, { nonce: 1n, calls: [pull] }))).status, 'reverted')
    })
  })

  suite('nonces', () => {
    test('each nonce key counts for itself, and the precompile tells how far', async () => {
      const payer = await funded()
      await send(signTempo(payer.key, { nonceKey: 5n, nonce: 0n, calls: [memoTransfer(shop, 1n)] }))
      await send(signTempo(payer.key, { nonceKey: 5n, nonce: 1n, calls: [memoTransfer(shop, 1n)] }))
      await send(signTempo(payer.key, { nonceKey: 9n, nonce: 0n, calls: [memoTransfer(shop, 1n)] }))
      await refused(
        send(signTempo(payer.key, { nonceKey: 9n, nonce: 0n, calls: [memoTransfer(shop, 2n)] })),
        -32003,
        /^nonce too low: next nonce 1, tx nonce 0$/,
      )
      assert.equal(await client.getTransactionCount({ address: payer.address }), 0)
      const nonceOf = (key: bigint) =>
        client.readContract({
          address: NONCE_PRECOMPILE_ADDRESS,
          abi: nonceAbi,
          functionName: 'getNonce',
          args: [payer.address, key],
        })
      assert.deepEqual([await nonceOf(5n), await nonceOf(9n), await nonceOf(1n)], [2n, 1n, 0n])
    })

    test('an expiring transaction needs a near end, and works once', async () => {
      const payer = await funded()
      const fields = { nonceKey: maxUint256, nonce: 0n, calls: [memoTransfer(shop, 1n)] }
      const raw = signTempo(payer.key, { ...fields, validBefore: now() + 25 })
      await send(raw)
      await refused(send(raw), -32003, /^already known$/)
      await send(signTempo(payer.key, { ...fields, validBefore: now() + 26 }))
      assert.equal(await client.getTransactionCount({ address: payer.address }), 0)
      await refused(send(signTempo(payer.key, fields)), -32003, /requires valid_before/)
      await refused(
        send(signTempo(payer.key, { ...fields, validBefore: now() + 31 })),
        -32003,
        /^nonce manager error: expiry/,
      )
      await refused(send(signTempo(payer.key, { ...fields, nonce: 1n, validBefore: now() + 25 })), -32003, /nonce == 0/)
    })

    test('a signed transaction that was kept too long, or came too early, is refused', async () => {
      const payer = await funded()
      const fields = { nonceKey: maxUint256, nonce: 0n, calls: [memoTransfer(shop, 1n)] }
      const raw = signTempo(payer.key, { ...fields, validBefore: now() + 25 })
      clock.advance(25_000)
      await refused(send(raw), -32003, /^transaction expired: current block timestamp \d+ >= validBefore \d+$/)
      const early = signTempo(payer.key, { ...fields, validAfter: now() + 5, validBefore: now() + 25 })
      await refused(send(early), -32003, /^transaction not valid yet/)
      clock.advance(5_000)
      await send(early)
    })
  })

  suite('fees', () => {
    test('a sponsor pays the fee of a payer who owns exactly the price', async () => {
      const payer = await funded(250_000n)
      const sponsor = await funded()
      const raw = signSponsored(payer.key, sponsor.key, { calls: [memoTransfer(shop, 250_000n)] })
      const receipt = (await rpc('eth_sendRawTransactionSync', raw)) as {
        status: Hex
        feePayer: Address
        from: Address
      }
      assert.equal(receipt.status, '0x1')
      assert.equal(getAddress(receipt.feePayer), sponsor.address)
      assert.equal(getAddress(receipt.from), payer.address)
      assert.equal(await balanceOf(payer.address), 0n)
      assert.ok((await balanceOf(sponsor.address)) < 100_000_000n)
    })

    test('a sponsor without money is refused, and so is one who is the sender, or has not signed', async () => {
      const payer = await funded()
      const broke = await funded(0n)
      const fields = { calls: [memoTransfer(shop, 1n)] }
      await refused(
        send(signSponsored(payer.key, broke.key, fields)),
        -32003,
        /^insufficient fee token balance: required 6000/,
      )
      await refused(send(signSponsored(payer.key, payer.key, fields)), -32003, /^fee payer cannot resolve to sender$/)
      const half = TxEnvelopeTempo.serialize(signUnsponsored(payer.key, fields))
      await refused(send(half), -32003, /^fee payer signature recovery failed$/)
      assert.equal(await balanceOf(payer.address), 100_000_000n)
    })
  })

  suite('signatures', () => {
    test('access keys and key authorizations are refused by name', async () => {
      const payer = await funded()
      const unsigned = tempoEnvelope({ calls: [memoTransfer(shop, 1n)] })
      const inner = SignatureEnvelope.from(
        Secp256k1.sign({ payload: TxEnvelopeTempo.getSignPayload(unsigned), privateKey: payer.key }),
      )
      const keychain = { type: 'keychain', userAddress: payer.address, inner, version: 'v2' } as const
      await refused(
        send(TxEnvelopeTempo.serialize(unsigned, { signature: keychain as never })),
        -32000,
        /^keychain signatures are not supported by the dev chain$/,
      )
      const keyAuthorization = { address: shop, chainId: 42431n, type: 'secp256k1', signature: inner } as const
      const raw = TxEnvelopeTempo.serialize({ ...unsigned, keyAuthorization } as never, { signature: inner })
      await refused(send(raw), -32000, /^key authorizations are not supported by the dev chain$/)
    })
  })

  suite('the rest', () => {
    test('the node fills in what a Tempo client leaves open', async () => {
      const payer = await funded()
      const request = { type: '0x76', from: payer.address, calls: [memoTransfer(shop, 1n)] }
      const { tx } = (await rpc('eth_fillTransaction', request)) as { tx: Record<string, unknown> }
      assert.equal(tx['chainId'], toHex(42431))
      assert.equal(tx['feeToken'], PATH_USD_ADDRESS)
      assert.equal(tx['nonce'], '0x0')
      assert.ok(Number(tx['gas']) > 21_000)
      const { tx: sponsored } = (await rpc('eth_fillTransaction', { ...request, feePayer: true })) as {
        tx: Record<string, unknown>
      }
      assert.equal(sponsored['feeToken'], undefined)
    })
  })
})

const nonceAbi = [
  {
    type: 'function',
    name: 'getNonce',
    stateMutability: 'view',
    inputs: [{ type: 'address' }, { type: 'uint256' }],
    outputs: [{ type: 'uint64' }],
  },
] as const
