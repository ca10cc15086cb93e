import { multicall3 } from '../artifacts/Multicall3.ts'
import { testFeeManager } from '../artifacts/TestFeeManager.ts'
import { testTip20 } from '../artifacts/TestTip20.ts'
import { testUsdc } from '../artifacts/TestUsdc.ts'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'

/** The chain's own caller (the one of EIP-4788): faucet, fees. No key exists for it. */
export const SYSTEM_ADDRESS: Address = '0xfffffffffffffffffffffffffffffffffffffffe'
export const USDC_ADDRESS: Address = '0x036cbd53842c5426634e7929541ec2318f3dcf7e'
export const PATH_USD_ADDRESS: Address = '0x20c0000000000000000000000000000000000000'
export const FEE_MANAGER_ADDRESS: Address = '0xfeec000000000000000000000000000000000000'
export const NONCE_PRECOMPILE_ADDRESS: Address = '0x4e4f4e4345000000000000000000000000000000'
export const MULTICALL3_ADDRESS: Address = '0xca11bde05977b3631167028862be2a173976ca11'

/** The factory that stands at this address on all chains we know of, and makes contracts whose addresses are known beforehand (CREATE2). */
const CREATE2_FACTORY: { readonly address: Address; readonly runtime: Hex } = {
  address: '0x4e59b44847b379578588920ca78fbf26c0b4956c',
  runtime:
    '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3',
}

export type RuleSet = 'native' | 'tempo'

/** What differs between an ordinary EVM chain and Tempo, as data. How fees are paid is in `fees.ts`. */
export type Rules = {
  readonly name: RuleSet
  readonly chainId: number
  /** A dev chain has no congestion to price; only `dev_setBaseFee` changes it. */
  baseFeePerGas: bigint
  readonly priorityFeePerGas: bigint
  readonly blockGasLimit: bigint
  /** What the chain's usual node answers for a transaction that it does not take: geth -32000, reth -32003. */
  readonly refusalCode: number
  /** Contracts that are simply there. The runtime code is planted, no constructor runs. */
  readonly genesis: readonly { readonly address: Address; readonly runtime: Hex }[]
}

// EthereumJS runs about four million gas a second: this is what nobody should have to wait for.
const BLOCK_GAS_LIMIT = 30_000_000n

const native: Rules = {
  name: 'native',
  chainId: 84532,
  baseFeePerGas: 1_000_000n,
  priorityFeePerGas: 1_000_000n,
  blockGasLimit: BLOCK_GAS_LIMIT,
  refusalCode: -32000,
  genesis: [
    { address: USDC_ADDRESS, runtime: testUsdc.runtime },
    { address: MULTICALL3_ADDRESS, runtime: multicall3.runtime },
    CREATE2_FACTORY,
  ],
}

const tempo: Rules = {
  name: 'tempo',
  chainId: 42431,
  baseFeePerGas: 20_000_000_000n,
  priorityFeePerGas: 0n,
  blockGasLimit: BLOCK_GAS_LIMIT,
  refusalCode: -32003,
  genesis: [
    { address: PATH_USD_ADDRESS, runtime: testTip20.runtime },
    { address: FEE_MANAGER_ADDRESS, runtime: testFeeManager.runtime },
    { address: MULTICALL3_ADDRESS, runtime: multicall3.runtime },
    CREATE2_FACTORY,
  ],
}

export const ruleSets: Readonly<Record<RuleSet, Rules>> = { native, tempo }

/** TIP-20 tokens share an address prefix on Tempo; nothing else can live there. */
export function isTip20(address: Address): boolean {
  return address.toLowerCase().startsWith('0x20c000000000000000000000')
}
