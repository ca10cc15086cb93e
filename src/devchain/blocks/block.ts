import type { Address, Hash } from '../../base/address.ts'
import { fromHex, type Hex, toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'
import type { Change } from '../evm/cells.ts'
import type { Log } from '../evm/machine.ts'

export type Receipt = {
  readonly succeeded: boolean
  readonly gasUsed: bigint
  readonly gasPrice: bigint
  readonly created: Address | null
  readonly feeToken: Address | null
  readonly logs: readonly Log[]
}

/** The raw bytes are the truth about a transaction; what a receipt does not show is decoded from them again. */
export type MinedTransaction = {
  readonly hash: Hash
  readonly raw: Hex
  readonly type: Hex
  readonly from: Address
  readonly to: Address | null
  readonly feePayer: Address
  readonly receipt: Receipt
}

/** A change that no transaction made: `dev_setBalance`, `dev_setCode`. It survives a reorg that drops every transaction. */
export type Override = { readonly address: Address; readonly balance?: bigint; readonly code?: Hex }

export type Block = {
  readonly number: number
  readonly hash: Hash
  readonly parentHash: Hash
  readonly timestamp: number
  /** Which reorg made it: blocks that differ in nothing else still have different hashes. */
  readonly fork: number
  readonly transactions: readonly MinedTransaction[]
  readonly overrides: readonly Override[]
  /** What the block did to the state; null once it is too old to be taken back. */
  readonly changes: readonly Change[] | null
}

/** Gives the block its hash. It commits to what the block holds, not to Ethereum's tries: the dev chain has none. */
export function sealBlock(block: Omit<Block, 'hash'>): Block {
  const { number, parentHash, timestamp, fork, transactions } = block
  const header = [parentHash, number, timestamp, fork, ...transactions.map(({ hash }) => hash)].join()
  return { ...block, hash: toHex(keccak256(Buffer.from(header))) }
}

export function blockGasUsed({ transactions }: Block): bigint {
  return transactions.reduce((sum, { receipt }) => sum + receipt.gasUsed, 0n)
}

/** The 2048-bit filter over addresses and topics that lets clients skip blocks (yellow paper, 4.3.1). */
export function bloomOf(logs: readonly Log[]): Hex {
  const bloom = new Uint8Array(256)
  for (const value of new Set(logs.flatMap(({ address, topics }) => [address, ...topics]))) {
    const hash = keccak256(fromHex(value))
    for (const at of [0, 2, 4]) {
      const bit = ((hash[at]! << 8) | hash[at + 1]!) & 2047
      bloom[255 - (bit >> 3)]! |= 1 << (bit & 7)
    }
  }
  return toHex(bloom)
}
