import type { Hex } from '../base/hex.ts'

/** A block as nodes are asked for it. */
export const blockTag = (block: bigint): Hex => `0x${block.toString(16)}`

/** The same where nobody says which: the newest. */
export const blockOrLatest = (block: bigint | undefined): Hex | 'latest' =>
  block === undefined ? 'latest' : blockTag(block)
