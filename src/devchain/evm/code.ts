import { type Hex, toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'

/** Contract code with its hash in both forms, so that no lookup hashes or decodes. */
export type Code = { readonly hash: Hex; readonly hashBytes: Uint8Array; readonly bytes: Uint8Array }

export function makeCode(bytes: Uint8Array): Code {
  const hashBytes = keccak256(bytes)
  return { hash: toHex(hashBytes), hashBytes, bytes }
}

export const noCode = makeCode(new Uint8Array())
