import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { Mppx, tempo } from 'mppx/client'
import { createClient, custom, encodeFunctionData, erc20Abi } from 'viem'
import { tempoModerato } from 'viem/tempo/chains'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { RailName } from '../../src/domain/rail.ts'
import type { SimChain } from './chain.ts'
import type { Heard } from './request.ts'
import type { Payer, SimWorld } from './world.ts'

/** A way to pay, by the unmodified client of its protocol. */
export type Way = {
  readonly name: 'x402' | 'mpp pull' | 'mpp push'
  readonly rail: RailName
  /** The header that carries a credential. */
  readonly header: 'payment-signature' | 'authorization'
  /** Pays a 402 and returns the credential. */
  pay(world: SimWorld, payer: Payer, unpaid: Heard): Promise<string>
}

const x402: Way = {
  name: 'x402',
  rail: 'x402',
  header: 'payment-signature',
  async pay(_world, { account }, { headers }) {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
    client.setSpendControls(false)
    const required = JSON.parse(Buffer.from(headers['payment-required']!, 'base64').toString())
    return Buffer.from(JSON.stringify(await client.createPaymentPayload(required))).toString('base64')
  },
}

function mpp(mode: 'pull' | 'push'): Way {
  return {
    name: `mpp ${mode}`,
    rail: 'mpp',
    header: 'authorization',
    async pay(world, { account }, { status, headers }) {
      const client = createClient({ chain: tempoModerato, transport: custom(impatient(world.tempo)) })
      const mppx = Mppx.create({ methods: [tempo({ account, mode, getClient: () => client })], polyfill: false })
      return mppx.createCredential(new Response(null, { status, headers }))
    },
  }
}

/** A client that waits for its block gets one: virtual time stands still while it works. */
function impatient(chain: SimChain): { request: SimChain['ask'] } {
  return {
    async request({ method, params = [] }) {
      if (method !== 'eth_sendRawTransactionSync') return chain.ask({ method, params })
      const hash = await chain.ask({ method: 'eth_sendRawTransaction', params: [params[0]] })
      await chain.mine()
      return chain.ask({ method: 'eth_getTransactionReceipt', params: [hash] })
    },
  }
}

/** What somebody has of a token. */
export async function balanceOf(chain: SimChain, token: Address, owner: Address): Promise<bigint> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [owner] })
  return BigInt((await chain.ask({ method: 'eth_call', params: [{ to: token, data }, 'latest'] })) as Hex)
}

/** Money out of nowhere. The fault that makes the next transaction revert may strike it, once. */
export async function mintTo(chain: SimChain, token: Address, to: Address, amount: bigint): Promise<void> {
  const mint = () => chain.ask({ method: 'dev_mintToken', params: [token, to, `0x${amount.toString(16)}`] })
  await mint().catch(mint)
}

export const ways: readonly Way[] = [x402, mpp('pull'), mpp('push')]
