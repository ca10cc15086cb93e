import { encodeFunctionData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../../src/base/address.ts'
import type { Hex } from '../../../src/base/hex.ts'
import type { OutgoingRequest } from '../../../src/base/outgoing.ts'
import type { SimChain } from '../chain.ts'
import { answered, type Manner, nobody, type Partner, type Reaction, silence } from './partner.ts'

export const FACILITATOR_URL = 'http://facilitator.universe'
export const FACILITATOR_KEY = `0x${(0xfac111).toString(16).padStart(64, '0')}` as Hex

const abi = [
  {
    type: 'function',
    name: 'transferWithAuthorization',
    stateMutability: 'nonpayable',
    outputs: [],
    inputs: [
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'validAfter', type: 'uint256' },
      { name: 'validBefore', type: 'uint256' },
      { name: 'nonce', type: 'bytes32' },
      { name: 'signature', type: 'bytes' },
    ],
  },
] as const

type Authorization = Record<'from' | 'to' | 'nonce', Hex> & Record<'value' | 'validAfter' | 'validBefore', string>
type Asked = {
  readonly paymentPayload: {
    readonly payload: { readonly authorization: Authorization; readonly signature: Hex }
    readonly accepted: { readonly asset: Address }
  }
  readonly paymentRequirements: { readonly network: string }
}

const account = privateKeyToAccount(FACILITATOR_KEY)

/** Brings a payment to the chain. Whoever holds the signed payload can do it. */
export async function sendAuthorization(native: SimChain, asked: Pick<Asked, 'paymentPayload'>): Promise<Hex> {
  const { authorization, signature } = asked.paymentPayload.payload
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const times = [BigInt(value), BigInt(validAfter), BigInt(validBefore)] as const
  const data = encodeFunctionData({
    abi,
    functionName: 'transferWithAuthorization',
    args: [from, to, ...times, nonce, signature],
  })
  const count = await native.ask({ method: 'eth_getTransactionCount', params: [account.address, 'pending'] })
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: native.chainId,
    nonce: Number(count),
    to: asked.paymentPayload.accepted.asset,
    data,
    gas: 200_000n,
    maxFeePerGas: 10n ** 12n,
    maxPriorityFeePerGas: 0n,
  })
  return (await native.ask({ method: 'eth_sendRawTransaction', params: [raw] })) as Hex
}

/** Somebody else who brings x402 payments to the chain, and may say anything about it. */
export function createFacilitator(native: SimChain, manner: Manner): Partner {
  async function settle(asked: Asked): Promise<Reaction> {
    const { network } = asked.paymentRequirements
    const payer = asked.paymentPayload.payload.authorization.from
    const said = (success: boolean, transaction: string, errorReason?: string) =>
      answered(200, { success, transaction, network, payer, ...(errorReason ? { errorReason } : {}) })
    const current = manner()
    if (current === 'claims what it did not') return said(true, `0x${'ab'.repeat(32)}`)
    const transaction = await sendAuthorization(native, asked)
    if (current === 'loses answers') return silence
    if (current === 'denies what it did') return said(false, '', 'unexpected_settle_error')
    const reaction = said(true, transaction)
    return current === 'is slow' ? { ...reaction, delayMs: 30_000 } : { ...reaction, delayMs: native.blockMs }
  }

  return async ({ url, body = '' }: OutgoingRequest) => {
    if (manner() === 'down') return nobody
    if (url.endsWith('/supported')) return answered(200, { kinds: [] })
    const asked = JSON.parse(body) as Asked
    if (url.endsWith('/verify')) {
      return answered(200, { isValid: true, payer: asked.paymentPayload.payload.authorization.from })
    }
    return settle(asked)
  }
}
