import type { Hex } from '../../src/base/hex.ts'

/** An address or other short hex value, as calls and topics carry it: 32 bytes. */
export function addressWord(address: string): Hex {
  return `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
}

/** A number in 32 bytes. */
export function numberWord(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
}
