import type { Address } from '../../base/address.ts'
import { fromHex, type Hex, toHex } from '../../base/hex.ts'
import type { Write } from '../evm/cells.ts'
import { type Code, makeCode, noCode } from '../evm/code.ts'
import { quantity } from '../quantity.ts'
import type { Block, MinedTransaction, Override } from './block.ts'

/** What the journal says happened, in order. Replaying the writes rebuilds the chain without running anything. */
export type Event =
  | {
      readonly kind: 'block'
      readonly block: Omit<Block, 'changes'>
      readonly writes: readonly Write[]
      readonly timeOffset: number
    }
  | { readonly kind: 'rewind'; readonly height: number; readonly timeOffset: number }

/** Translates events to JSON and back. It remembers which code it has seen: each is written once, and then known by its hash. */
export function createCodec(): { encode(event: Event): unknown; decode(record: unknown): Event } {
  const codes = new Map<Hex, Code>([[noCode.hash, noCode]])

  function encodeWrite({ table, key, after }: Write): WriteRecord {
    if (after === undefined) return [table, key]
    if (typeof after === 'bigint') return [table, key, quantity(after)]
    if (after instanceof Uint8Array) return [table, key, toHex(after)]
    const { nonce, balance, code } = after
    const known = codes.has(code.hash)
    codes.set(code.hash, code)
    return [table, key, quantity(nonce), quantity(balance), code.hash, ...(known ? [] : [toHex(code.bytes)])]
  }

  function decodeWrite([table, key, ...values]: WriteRecord): Write {
    if (values.length === 0) return { table, key, after: undefined }
    if (table === 'nonce') return { table, key, after: BigInt(values[0]!) }
    if (table === 'storage') return { table, key, after: fromHex(values[0]!) }
    const [nonce, balance, hash, bytes] = values
    if (bytes !== undefined) codes.set(hash!, makeCode(fromHex(bytes)))
    return { table, key, after: { nonce: BigInt(nonce!), balance: BigInt(balance!), code: codes.get(hash!)! } }
  }

  return {
    encode(event) {
      if (event.kind === 'rewind') return event
      const { block, writes, timeOffset } = event
      return {
        kind: 'block',
        block: {
          ...block,
          transactions: block.transactions.map(encodeTransaction),
          overrides: block.overrides.map(encodeOverride),
        },
        writes: writes.map(encodeWrite),
        timeOffset,
      } satisfies BlockRecord
    },
    decode(record) {
      // Trusted: the journal's checksum has proved that these are our own bytes.
      const event = record as BlockRecord | Extract<Event, { kind: 'rewind' }>
      if (event.kind === 'rewind') return event
      return {
        kind: 'block',
        block: {
          ...event.block,
          transactions: event.block.transactions.map(decodeTransaction),
          overrides: event.block.overrides.map(decodeOverride),
        },
        writes: event.writes.map(decodeWrite),
        timeOffset: event.timeOffset,
      }
    },
  }
}

type WriteRecord = readonly [table: Write['table'], key: string, ...values: Hex[]]
type OverrideRecord = { readonly address: Address; readonly balance?: Hex; readonly code?: Hex }
type TransactionRecord = Omit<MinedTransaction, 'receipt'> & {
  readonly receipt: Omit<MinedTransaction['receipt'], 'gasUsed' | 'gasPrice'> & {
    readonly gasUsed: Hex
    readonly gasPrice: Hex
  }
}
type BlockRecord = {
  readonly kind: 'block'
  readonly block: Omit<Block, 'changes' | 'transactions' | 'overrides'> & {
    readonly transactions: readonly TransactionRecord[]
    readonly overrides: readonly OverrideRecord[]
  }
  readonly writes: readonly WriteRecord[]
  readonly timeOffset: number
}

function encodeTransaction({ receipt, ...transaction }: MinedTransaction): TransactionRecord {
  const { gasUsed, gasPrice } = receipt
  return { ...transaction, receipt: { ...receipt, gasUsed: quantity(gasUsed), gasPrice: quantity(gasPrice) } }
}

function decodeTransaction({ receipt, ...transaction }: TransactionRecord): MinedTransaction {
  return {
    ...transaction,
    receipt: { ...receipt, gasUsed: BigInt(receipt.gasUsed), gasPrice: BigInt(receipt.gasPrice) },
  }
}

function encodeOverride({ balance, ...override }: Override): OverrideRecord {
  return { ...override, ...(balance === undefined ? {} : { balance: quantity(balance) }) }
}

function decodeOverride({ balance, ...override }: OverrideRecord): Override {
  return { ...override, ...(balance === undefined ? {} : { balance: BigInt(balance) }) }
}
