import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import {
  type Address,
  encodeFunctionData,
  encodePacked,
  type Hex,
  parseEventLogs,
  parseSignature,
  serializeSignature,
  toHex,
} from 'viem'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { testSmartWallet } from '../artifacts/TestSmartWallet.ts'
import { deploy, fundedWallet, mined, newAccount, reverts, type Wallet } from '../devchain/support.ts'

const address = USDC_ADDRESS
const { abi } = testUsdc
const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const domain = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: address } as const
const authorizationFields = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
] as const
const types = {
  TransferWithAuthorization: authorizationFields,
  ReceiveWithAuthorization: authorizationFields,
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const

suite('TestUsdc', () => {
  let chain: DevChain
  let relayer: Wallet
  const payer = newAccount()
  const shop = newAccount().address
  let nonces = 0

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    relayer = await fundedWallet(chain)
    await fund(payer.address, 1_000_000_000n)
  })
  after(() => chain.close())

  const fund = (to: Address, amount: bigint) =>
    chain.request({ method: 'dev_mintToken', params: [address, to, toHex(amount)] })
  const balanceOf = (who: Address) => relayer.readContract({ address, abi, functionName: 'balanceOf', args: [who] })
  const now = async () => (await relayer.getBlock()).timestamp
  const asSystem = (data: Hex) => chain.request({ method: 'dev_systemCall', params: [address, data] })

  type Authorization = {
    readonly from: Address
    readonly to: Address
    readonly value: bigint
    readonly validAfter: bigint
    readonly validBefore: bigint
    readonly nonce: Hex
  }
  const authorization = (changes: Partial<Authorization> = {}): Authorization => ({
    from: payer.address,
    to: shop,
    value: 250_000n,
    validAfter: 0n,
    validBefore: 2n ** 40n,
    nonce: toHex(++nonces, { size: 32 }),
    ...changes,
  })
  const sign = (message: Authorization, signer = payer) =>
    signer.signTypedData({ domain, types, primaryType: 'TransferWithAuthorization', message })
  const argsOf = ({ from, to, value, validAfter, validBefore, nonce }: Authorization, signature: Hex) =>
    [from, to, value, validAfter, validBefore, nonce, signature] as const
  const transferCall = (message: Authorization, signature: Hex) =>
    ({ address, abi, functionName: 'transferWithAuthorization', args: argsOf(message, signature) }) as const
  const attempt = (message: Authorization, signature: Hex) => relayer.simulateContract(transferCall(message, signature))
  const pay = (message: Authorization, signature: Hex) =>
    mined(relayer, relayer.writeContract(transferCall(message, signature)))

  test('it introduces itself as USDC does on Base Sepolia', async () => {
    const read = (functionName: 'name' | 'symbol' | 'version' | 'decimals' | 'DOMAIN_SEPARATOR') =>
      relayer.readContract({ address, abi, functionName })
    assert.deepEqual(
      [await read('name'), await read('symbol'), await read('version'), await read('decimals')],
      ['USDC', 'USDC', '2', 6],
    )
    // Read from the real contract, 0x036CbD53842c5426634e7929541eC2318f3dCF7e on 84532.
    assert.equal(await read('DOMAIN_SEPARATOR'), '0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818')
  })

  test('an authorization moves money from payer to payee, whoever sends it', async () => {
    const message = authorization()
    const before = await balanceOf(shop)
    const receipt = await pay(message, await sign(message))
    assert.equal((await balanceOf(shop)) - before, 250_000n)
    const logs = parseEventLogs({ abi, logs: receipt.logs })
    assert.deepEqual(
      logs.map(({ eventName, args }) => ({ eventName, args })),
      [
        { eventName: 'AuthorizationUsed', args: { authorizer: payer.address, nonce: message.nonce } },
        { eventName: 'Transfer', args: { from: payer.address, to: shop, value: 250_000n } },
      ],
    )
    const state = { address, abi, functionName: 'authorizationState', args: [payer.address, message.nonce] } as const
    assert.equal(await relayer.readContract(state), true)
  })

  test('too early and too late are refused, to the second', async () => {
    // The next block's time is not before the head's, so these two are certain.
    const at = await now()
    const early = authorization({ validAfter: at + 1_000n })
    await reverts(attempt(early, await sign(early)), 'FiatTokenV2: authorization is not yet valid')
    const late = authorization({ validBefore: at })
    await reverts(attempt(late, await sign(late)), 'FiatTokenV2: authorization is expired')
  })

  test('an authorization works once', async () => {
    const message = authorization()
    const signature = await sign(message)
    await pay(message, signature)
    await reverts(attempt(message, signature), 'FiatTokenV2: authorization is used or canceled')
  })

  test('a signature of somebody else, or over other terms, is refused', async () => {
    const message = authorization()
    await reverts(attempt(message, await sign(message, newAccount())), 'FiatTokenV2: invalid signature')
    const signature = await sign(message)
    await reverts(attempt({ ...message, value: 250_001n }, signature), 'FiatTokenV2: invalid signature')
    await reverts(attempt({ ...message, to: relayer.account.address }, signature), 'FiatTokenV2: invalid signature')
  })

  test('a signature with v of 0 or 1, a high s, a wrong length or zeroes is refused as FiatToken words it', async () => {
    const message = authorization()
    const { r, s, yParity } = parseSignature(await sign(message))
    const withParity = encodePacked(['bytes32', 'bytes32', 'uint8'], [r, s, yParity])
    await reverts(attempt(message, withParity), "ECRecover: invalid signature 'v' value")
    const highS = serializeSignature({
      r,
      s: toHex(CURVE_ORDER - BigInt(s), { size: 32 }),
      yParity: yParity === 0 ? 1 : 0,
    })
    await reverts(attempt(message, highS), "ECRecover: invalid signature 's' value")
    await reverts(attempt(message, '0x1234'), 'ECRecover: invalid signature length')
    const zeroes = encodePacked(['bytes32', 'bytes32', 'uint8'], [toHex(0, { size: 32 }), toHex(0, { size: 32 }), 27])
    await reverts(attempt(message, zeroes), 'ECRecover: invalid signature')
  })

  test('a smart wallet pays by ERC-1271, and only when its owner signed', async () => {
    const wallet = await deploy(relayer, testSmartWallet, [payer.address])
    await fund(wallet, 1_000_000n)
    const message = authorization({ from: wallet })
    await reverts(attempt(message, await sign(message, newAccount())), 'FiatTokenV2: invalid signature')
    await pay(message, await sign(message))
    assert.equal(await balanceOf(wallet), 750_000n)
  })

  test('only the chain itself mints, pauses and blocks accounts', async () => {
    const refused = 'TestUsdc: caller is not the dev chain'
    const by = { address, abi } as const
    await reverts(relayer.simulateContract({ ...by, functionName: 'mint', args: [payer.address, 1n] }), refused)
    await reverts(relayer.simulateContract({ ...by, functionName: 'pause' }), refused)
    await reverts(relayer.simulateContract({ ...by, functionName: 'blacklist', args: [payer.address] }), refused)
  })

  test('a blocked payee and a paused token refuse an authorization that was good a moment ago', async () => {
    const message = authorization()
    const signature = await sign(message)
    await attempt(message, signature)
    await asSystem(encodeFunctionData({ abi, functionName: 'blacklist', args: [shop] }))
    await reverts(attempt(message, signature), 'Blacklistable: account is blacklisted')
    await asSystem(encodeFunctionData({ abi, functionName: 'unBlacklist', args: [shop] }))
    await asSystem(encodeFunctionData({ abi, functionName: 'pause' }))
    await reverts(attempt(message, signature), 'Pausable: paused')
    await asSystem(encodeFunctionData({ abi, functionName: 'unpause' }))
    await pay(message, signature)
  })
})
