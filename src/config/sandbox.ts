import type { Address } from '../base/address.ts'
import type { Json } from '../base/json.ts'
import type { ChainConfig, Config, HttpConfig, MppConfig, X402Config } from './config.ts'
import { BURIAL_ON_DEMAND, mppNetworks, x402Networks } from './networks.ts'
import { SANDBOX_MPP_SECRET, sandboxKey } from './published.ts'
import type { Protocols } from './rails.ts'

// How the sandbox is paid: on chains of its own, which answer as two test networks.

const { chainId: nativeId, isTestnet: _native, ...usdc } = x402Networks['base-sepolia']!
const { chainId: tempoId, currency: pathUsd } = mppNetworks['tempo-moderato']!

const onDemand = { rpcUrls: [], tipWei: 0n, burial: BURIAL_ON_DEMAND }

/** The chain of the game, on which USDC is too. */
export const nativeChain: ChainConfig = { ...onDemand, chainId: nativeId, paysGasInCoin: true }
const tempoChain: ChainConfig = { ...onDemand, chainId: tempoId, paysGasInCoin: false }

/** The dollars of either chain. */
export const sandboxDollars = { native: usdc.asset, tempo: pathUsd.address }

export function sandboxRails(
  protocols: Protocols,
  { baseUrl }: HttpConfig,
  till: Address,
): Pick<Config, 'x402' | 'mpp' | 'retired'> {
  const always = [{ fromAmount: 0n as never, blocks: 1 }]
  const common = { treasuryKey: sandboxKey('treasury'), confirmations: always, sinceBlock: null }
  const x402: X402Config = {
    ...common,
    ...usdc,
    chain: nativeChain,
    network: `eip155:${nativeId}`,
    payTo: till,
    facilitator: { kind: 'inproc', settlerKey: sandboxKey('settler') },
  }
  const mpp: MppConfig = {
    ...common,
    chain: tempoChain,
    network: `tempo:${tempoId}`,
    currency: pathUsd,
    recipient: till,
    realm: new URL(baseUrl).hostname,
    secrets: [SANDBOX_MPP_SECRET],
    modes: ['pull', 'push'],
  }
  return {
    x402: protocols.x402 ? x402 : null,
    mpp: protocols.mpp ? mpp : null,
    retired: [
      ...(protocols.x402 ? [] : [{ rail: 'x402' as const, config: x402 }]),
      ...(protocols.mpp ? [] : [{ rail: 'mpp' as const, config: mpp }]),
    ],
  }
}

/** What `/sandbox` tells of them. */
export function describeSandbox({ http, x402, mpp }: Config, rpcUrl: (chainId: number) => string) {
  const { baseUrl, x402BaseUrl } = http
  const native = { chainId: nativeId, network: `eip155:${nativeId}`, rpcUrl: rpcUrl(nativeId) }
  const tempo = { chainId: tempoId, network: `tempo:${tempoId}`, rpcUrl: rpcUrl(tempoId) }
  return {
    baseUrl,
    x402BaseUrl,
    chains: {
      x402: { ...native, asset: x402?.asset ?? null },
      mpp: { ...tempo, currency: mpp?.currency.address ?? null },
      game: { chainId: nativeId, rpcUrl: rpcUrl(nativeId) },
    },
  } satisfies Json
}
