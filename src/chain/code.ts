import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'

/** What stands at an address: nothing for a plain key. */
export type Code = Hex

/** A key that delegates to a contract (EIP-7702) is still a person's key. */
const DELEGATION = '0xef0100'

export function isContractCode(code: Code): boolean {
  return code !== '0x' && !code.toLowerCase().startsWith(DELEGATION)
}

/** By what the code of a contract is held to account, at whatever address it stands. */
export function codeSuspect(code: Code): string {
  return `code:${toHex(keccak256(fromHex(code)))}`
}
