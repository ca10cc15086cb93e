import type { Address } from '../base/address.ts'

/** How deep a transaction lies when no public network that we know takes it back. Only refunds, and whoever is to hear that nothing was taken after all, wait for it. */
export const BURIAL = { blocks: 12n, ms: 20_000 }
/** A chain that makes a block when somebody sends something buries nothing by itself. */
export const BURIAL_ON_DEMAND = { blocks: 1n, ms: 0 }

/** What must be known of a network before money is taken on it. */
type X402Network = {
  readonly chainId: number
  readonly asset: Address
  readonly assetName: string
  readonly assetVersion: string
  readonly currency: string
  readonly isTestnet: boolean
}

type MppNetwork = {
  readonly chainId: number
  readonly currency: { readonly address: Address; readonly code: string }
  readonly isTestnet: boolean
}

export const x402Networks: Readonly<Record<string, X402Network>> = {
  base: {
    chainId: 8453,
    asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
    assetName: 'USD Coin',
    assetVersion: '2',
    currency: 'USDC',
    isTestnet: false,
  },
  'base-sepolia': {
    chainId: 84532,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    assetName: 'USDC',
    assetVersion: '2',
    currency: 'USDC',
    isTestnet: true,
  },
}

export const mppNetworks: Readonly<Record<string, MppNetwork>> = {
  tempo: {
    chainId: 4217,
    currency: { address: '0x20C000000000000000000000b9537d11c60E8b50', code: 'USDC' },
    isTestnet: false,
  },
  'tempo-moderato': {
    chainId: 42431,
    currency: { address: '0x20c0000000000000000000000000000000000000', code: 'pathUSD' },
    isTestnet: true,
  },
}

/** What gas is paid in there. */
export function coinOf(chainId: number): string {
  return chainId === 8453 || chainId === 84532 ? 'ETH' : 'coin'
}

/** Where people look transactions up. */
const explorers: Readonly<Record<number, string>> = {
  8453: 'https://basescan.org',
  84532: 'https://sepolia.basescan.org',
  4217: 'https://explore.tempo.xyz',
  42431: 'https://explore.testnet.tempo.xyz',
}

/** Null: nobody that we know shows that chain. */
export function transactionLink(chainId: number, transaction: string): string | null {
  const explorer = explorers[chainId]
  return explorer === undefined ? null : `${explorer}/tx/${transaction}`
}
