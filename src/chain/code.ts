import type { Address } from '../base/address.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { blockOrLatest } from './block-tag.ts'
import { answerOrNull, type Rpc } from './rpc.ts'

/** What stands at an address: nothing for a plain key. */
type Code = Hex

/** A key that delegates to a contract (EIP-7702) is still a person's key. */
const DELEGATION = '0xef0100'

export function isContractCode(code: Code): boolean {
  return code !== '0x' && !code.toLowerCase().startsWith(DELEGATION)
}

/**
 * Who is held to account for what the code at an address does: the code, at whatever address it stands, because whoever made one such
 * contract can make a thousand. Nobody for a key, even one that delegates: it can point at a popular contract as soon as the damage is done.
 * Nor for a proxy: most wallets are the same few bytes, and what these run is what the owner of each has chosen. Nor for code that only asks another
 * contract, which may be as much the owner's choice, and burns the gas as well.
 */
export function codeSuspects(code: Code): readonly string[] {
  const bytes = fromHex(code)
  return isContractCode(code) && !needsOtherCode(bytes) ? [`code:${toHex(keccak256(bytes))}`] : []
}

/** CALL, CALLCODE, DELEGATECALL and STATICCALL. */
const CALLS: ReadonlySet<number> = new Set([0xf1, 0xf2, 0xf4, 0xfa])
const [PUSH1, PUSH32] = [0x60, 0x7f] as const

/** Read as the EVM finds the places that may be jumped to: what a push carries is data, and no instruction that runs is overlooked. */
function needsOtherCode(code: Uint8Array): boolean {
  for (let at = 0; at < code.length; at++) {
    const instruction = code[at]!
    if (CALLS.has(instruction)) return true
    if (instruction >= PUSH1 && instruction <= PUSH32) at += instruction - PUSH1 + 1
  }
  return false
}

/** Now, or as of a block. */
export function readCode(rpc: Rpc, address: Address, block?: bigint): Promise<Code> {
  return rpc.request<Code>('eth_getCode', [address, blockOrLatest(block)])
}

/** A node may say that a state which it has thrown away is empty: then nothing stands where a contract has to. */
export async function isForgotten(rpc: Rpc, contract: Address, block: bigint): Promise<boolean> {
  const code = await answerOrNull(readCode(rpc, contract, block))
  return code === null || code === '0x'
}
