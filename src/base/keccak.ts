import { keccak_256 } from '@noble/hashes/sha3.js'

/** Keccak-256, the hash of Ethereum. Node's own crypto has only the later SHA-3 with other padding. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return keccak_256(bytes)
}
