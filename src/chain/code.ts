import type { Address } from '../base/address.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { Rpc } from './rpc.ts'

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
 */
export function codeSuspects(code: Code): readonly string[] {
  return isContractCode(code) ? [`code:${toHex(keccak256(fromHex(code)))}`] : []
}

export function readCode(rpc: Rpc, address: Address): Promise<Code> {
  return rpc.request<Code>('eth_getCode', [address, 'latest'])
}
