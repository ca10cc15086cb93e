import type { CustomPrecompile } from '@ethereumjs/evm'
import type { Address } from '../../base/address.ts'
import { fromHex, toHex } from '../../base/hex.ts'
import { NONCE_PRECOMPILE_ADDRESS } from '../rules.ts'
import type { State } from './state.ts'

const GET_NONCE = '0x89535803'

/** Tempo's nonce manager, as far as clients read it: `getNonce(address account, uint256 nonceKey) returns (uint64)`. */
export function noncePrecompile(state: State): CustomPrecompile {
  return {
    address: NONCE_PRECOMPILE_ADDRESS,
    function({ data }) {
      const input = toHex(data)
      const known = input.startsWith(GET_NONCE) && data.length === 68
      const from = `0x${input.slice(34, 74)}` as const
      const nonce = known ? state.nonce(twoDimensionalKey(from, BigInt(`0x${input.slice(74)}`))) : 0n
      return { executionGasUsed: 100n, returnValue: fromHex(`0x${nonce.toString(16).padStart(64, '0')}`) }
    },
  }
}

export function twoDimensionalKey(from: Address, nonceKey: bigint): string {
  return `${from.toLowerCase()}:${nonceKey}`
}
