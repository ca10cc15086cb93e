import { encodeFunctionData, type Hex, type TypedDataDomain } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import type { Address } from '../../src/base/address.ts'
import type { Authorization } from '../../src/chain/eip3009.ts'
import type { TestShop } from '../support/shop.ts'

/** The challenge of a 402, as the header carries it. */
export type Required = {
  readonly x402Version: 2
  readonly resource: { readonly url: string }
  readonly accepts: readonly [Accepted]
  readonly extensions: Readonly<Record<string, { info: Record<string, unknown>; schema: object }>>
}
export type Accepted = {
  readonly amount: string
  readonly asset: Address
  readonly payTo: Address
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string; readonly claim: string }
}

export type X402Payment = {
  readonly x402Version: number
  readonly payload: { readonly authorization: Authorization; readonly signature: Hex }
  readonly resource: unknown
  readonly accepted: unknown
  readonly extensions?: unknown
}

export function requiredOf(unpaid: Response): Required {
  return JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString()) as Required
}

export function encoded(payment: unknown): string {
  return Buffer.from(typeof payment === 'string' ? payment : JSON.stringify(payment)).toString('base64')
}

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

export type Changes = {
  readonly authorization?: Partial<Authorization>
  readonly domain?: TypedDataDomain
  readonly nowMs?: number
}

/** A payment made by hand: signed after it was changed, so that the signature always fits what it says. */
export async function paymentFor(
  payer: PrivateKeyAccount,
  required: Required,
  { authorization = {}, domain = {}, nowMs = Date.now() }: Changes = {},
): Promise<X402Payment> {
  const [accepted] = required.accepts
  const message: Authorization = {
    from: payer.address,
    to: accepted.payTo,
    value: accepted.amount,
    validAfter: '0',
    validBefore: String(Math.floor(nowMs / 1000) + accepted.maxTimeoutSeconds),
    nonce: generatePrivateKey(),
    ...authorization,
  }
  const { name, version } = accepted.extra
  const signature = await payer.signTypedData({
    domain: { name, version, chainId: 84532, verifyingContract: accepted.asset, ...domain },
    types: TYPES,
    primaryType: 'TransferWithAuthorization',
    message: {
      ...message,
      value: BigInt(message.value),
      validAfter: BigInt(message.validAfter),
      validBefore: BigInt(message.validBefore),
    },
  })
  const { resource, extensions } = required
  return { x402Version: 2, payload: { authorization: message, signature }, resource, accepted, extensions }
}

/** What a wallet that takes every signature pays elsewhere, so that its money does not reach for this payment any more. */
export function paidElsewhere({ payload, ...payment }: X402Payment, to: Address): X402Payment {
  const authorization = { ...payload.authorization, to, value: '1000000', nonce: generatePrivateKey() }
  return { ...payment, payload: { ...payload, authorization } }
}

/** Brings somebody's authorization to the chain, as any stranger could who sees it. */
export async function preempt(
  { chains, config }: TestShop,
  { payload: { authorization, signature } }: X402Payment,
): Promise<Hex> {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const amounts = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  const data = encodeFunctionData({
    abi: testUsdc.abi,
    functionName: 'transferWithAuthorization',
    args: [from, to, ...amounts, nonce, signature],
  })
  return sendFrom(chains.native, privateKeyToAccount(generatePrivateKey()), config.x402!.asset, data)
}

/** A plain transaction of an account that needs no more than gas. */
export async function sendFrom(
  chain: TestShop['chains']['native'],
  account: PrivateKeyAccount,
  to: Address,
  data: Hex,
): Promise<Hex> {
  return (await chain.request({
    method: 'eth_sendRawTransaction',
    params: [await signFrom(chain, account, to, data)],
  })) as Hex
}

/** The signed bytes of a call, from an account that gets the gas for it. */
export async function signFrom(
  chain: TestShop['chains']['native'],
  account: PrivateKeyAccount,
  to: Address,
  data: Hex,
): Promise<Hex> {
  const ask = (method: string, ...params: unknown[]) => chain.request({ method, params })
  await ask('dev_setBalance', account.address, '0xde0b6b3a7640000')
  return account.signTransaction({
    type: 'eip1559',
    chainId: 84532,
    nonce: Number(await ask('eth_getTransactionCount', account.address, 'latest')),
    to,
    data,
    gas: 500_000n,
    maxFeePerGas: 20_000_000_000n,
    maxPriorityFeePerGas: 1_000_000n,
  })
}

/** Signed by nobody's key: only a contract wallet that takes every signature accepts it. */
export function signedByWallet({ payload, ...payment }: X402Payment): X402Payment {
  return { ...payment, payload: { ...payload, signature: `0x${'5c'.repeat(64)}1b` } }
}
