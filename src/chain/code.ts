import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { blockOrLatest } from './block-tag.ts'
import type { Rpc } from './rpc.ts'

/** What stands at an address: nothing for a plain key. */
type Code = Hex

/** A key that delegates to a contract (EIP-7702) is still a person's key. */
const DELEGATION = '0xef0100'

export function isContractCode(code: Code): boolean {
  return code !== '0x' && !code.toLowerCase().startsWith(DELEGATION)
}

/** Now, or as of a block. */
export function readCode(rpc: Rpc, address: Address, block?: bigint): Promise<Code> {
  return rpc.request<Code>('eth_getCode', [address, blockOrLatest(block)])
}
