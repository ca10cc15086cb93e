import { type Hex, toHex } from './hex.ts'
import { keccak256 } from './keccak.ts'

/** An Ethereum address. Kept in checksum form inside the service; compare with `sameAddress`. */
export type Address = Hex
/** A 32-byte transaction or block hash, lower case. */
export type Hash = Hex

export const ZERO_ADDRESS: Address = `0x${'0'.repeat(40)}`

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-fA-F]{64}$/

export function isAddress(text: string): text is Address {
  return ADDRESS.test(text)
}

export function isHash(text: string): text is Hash {
  return HASH.test(text)
}

export function sameAddress(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

/** Mixed case is a promise (EIP-55) that the sender checked the address; a broken promise is a typing mistake. */
export function hasWrongChecksum(address: string): boolean {
  return isMixedCase(address) && checksumAddress(address) !== address
}

function isMixedCase(address: string): boolean {
  let hasLower = false
  let hasUpper = false
  for (let i = '0x'.length; i < address.length; i++) {
    const char = address.charCodeAt(i)
    if (char >= 0x61) hasLower = true
    else if (char >= 0x41) hasUpper = true
  }
  return hasLower && hasUpper
}

const KNOWN_MAX = 4096
const known = new Map<string, Address>()

/** Remembers the last few thousand: one purchase asks for the same address a dozen times, and each answer takes 17 microseconds. */
export function checksumAddress(address: string): Address {
  const remembered = known.get(address)
  if (remembered !== undefined) return remembered
  if (known.size >= KNOWN_MAX) known.clear()
  const checksum = computeChecksum(address)
  known.set(address, checksum)
  return checksum
}

function computeChecksum(address: string): Address {
  const lower = address.slice(2).toLowerCase()
  const hash = toHex(keccak256(Buffer.from(lower, 'ascii'))).slice(2)
  let out = '0x'
  for (let i = 0; i < 40; i++) out += Number.parseInt(hash[i]!, 16) >= 8 ? lower[i]!.toUpperCase() : lower[i]
  return out as Address
}
