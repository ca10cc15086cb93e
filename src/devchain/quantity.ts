import type { Hex } from '../base/hex.ts'

/** A number as JSON-RPC writes it: hexadecimal without leading zeros. */
export function quantity(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

// `Math.min` and `Math.max` take no bigint.

export function lesser(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

export function greater(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
