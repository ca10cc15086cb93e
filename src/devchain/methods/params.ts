import { type Address, type Hash, isAddress, isHash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Block } from '../blocks/block.ts'
import type { Ledger, LogFilter } from '../blocks/ledger.ts'
import { invalidParams } from '../errors.ts'
import type { AccessList, EvmCall } from '../evm/machine.ts'

// JSON-RPC parameters come from anybody. What leaves these functions is checked, and addresses and hashes are in lower case.

export function readAddress(value: unknown): Address {
  if (typeof value !== 'string' || !isAddress(value)) throw invalidParams(`not an address: ${show(value)}`)
  return value.toLowerCase() as Address
}

export function readHash(value: unknown): Hash {
  if (typeof value !== 'string' || !isHash(value)) throw invalidParams(`not a 32-byte hash: ${show(value)}`)
  return value.toLowerCase() as Hash
}

export function readData(value: unknown): Hex {
  if (typeof value !== 'string' || !/^0x([0-9a-fA-F]{2})*$/.test(value))
    throw invalidParams(`not hex data: ${show(value)}`)
  return value.toLowerCase() as Hex
}

/** A hexadecimal quantity, or a plain number where tools send one (`evm_increaseTime`). */
export function readQuantity(value: unknown): bigint {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return BigInt(value)
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value))
    throw invalidParams(`not a quantity: ${show(value)}`)
  return BigInt(value)
}

export function readNumber(value: unknown): number {
  const number = readQuantity(value)
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw invalidParams(`too large: ${show(value)}`)
  return Number(number)
}

export function readObject(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidParams(`not an object: ${show(value)}`)
  return value as Record<string, unknown>
}

const NEWEST = ['latest', 'pending', 'safe', 'finalized']

/**
 * The number of the block that a tag, a number or an EIP-1898 object names, seen from a head at `height`. It may lie beyond
 * the head. Undefined when a hash is unknown.
 */
export function readBlock(value: unknown, height: number, ledger: Ledger): number | undefined {
  if (value === undefined || value === null || NEWEST.includes(value as string)) return height
  if (value === 'earliest') return 0
  if (typeof value === 'string') return isHash(value) ? numberOf(value, height, ledger) : readNumber(value)
  const { blockHash, blockNumber } = readObject(value)
  return blockHash === undefined ? readBlock(blockNumber, height, ledger) : numberOf(blockHash, height, ledger)
}

/** The block itself, if the head at `height` has come so far. */
export function findBlock(value: unknown, height: number, ledger: Ledger): Block | undefined {
  const number = readBlock(value, height, ledger)
  return number === undefined || number > height ? undefined : ledger.block(number)
}

function numberOf(hash: unknown, height: number, ledger: Ledger): number | undefined {
  const number = ledger.blockByHash(readHash(hash))?.number
  return number === undefined || number > height ? undefined : number
}

type LogRange = { readonly from: number; readonly to: number }

/** Null when the filter names a block that is not there. */
export function readLogRange(value: unknown, height: number, ledger: Ledger): LogRange | null {
  const { blockHash, fromBlock, toBlock } = readObject(value)
  if (blockHash !== undefined) {
    if (fromBlock !== undefined || toBlock !== undefined)
      throw invalidParams('blockHash excludes fromBlock and toBlock')
    const number = numberOf(blockHash, height, ledger)
    return number === undefined ? null : { from: number, to: number }
  }
  const from = readBlock(fromBlock, height, ledger)
  const to = readBlock(toBlock, height, ledger)
  if (from === undefined || to === undefined) return null
  // A range that starts beyond the head is empty, not wrong: pollers ask for the block that comes next.
  if (from > to && from <= height) throw invalidParams('invalid block range params')
  return { from, to: Math.min(to, height) }
}

export function readLogFilter(value: unknown): LogFilter {
  const { address, topics = [] } = readObject(value)
  if (!Array.isArray(topics) || topics.length > 4) throw invalidParams('topics: a list of up to four')
  return {
    addresses: address === undefined || address === null ? null : [address].flat().map(readAddress),
    topics: topics.map((topic) => readTopic(topic)),
  }
}

/** An empty list and a list with a null in it both mean "any", as nodes take them. */
function readTopic(topic: unknown): readonly Hash[] | null {
  if (topic === null) return null
  const choices: unknown[] = [topic].flat()
  return choices.length === 0 || choices.includes(null) ? null : choices.map(readHash)
}

/** The object of `eth_call` and its relatives. */
export type CallRequest = {
  readonly from: Address | undefined
  readonly calls: readonly EvmCall[]
  readonly gas: bigint | undefined
  readonly maxFeePerGas: bigint | undefined
  readonly maxPriorityFeePerGas: bigint
  readonly nonceKey: bigint
  readonly feePayer: Address | undefined
  readonly feeToken: Address | undefined
  readonly signatureType: 'secp256k1' | 'p256' | 'webAuthn'
  readonly accessList: AccessList
}

export function readCallRequest(value: unknown): CallRequest {
  const request = readObject(value)
  // Tempo's calls come as a list; everybody else's single call is the object itself.
  const calls = Array.isArray(request['calls']) && request['calls'].length > 0 ? request['calls'] : [request]
  return {
    from: optional(request['from'], readAddress),
    calls: calls.map(readCall),
    gas: optional(request['gas'], readQuantity),
    maxFeePerGas: optional(request['maxFeePerGas'] ?? request['gasPrice'], readQuantity),
    // A price without a tip is an old transaction's, which pays it whole.
    maxPriorityFeePerGas: optional(request['maxPriorityFeePerGas'] ?? request['gasPrice'], readQuantity) ?? 0n,
    nonceKey: optional(request['nonceKey'], readQuantity) ?? 0n,
    feePayer: readFeePayer(request['feePayer']),
    feeToken: optional(request['feeToken'], readAddress),
    signatureType:
      request['keyType'] === 'p256' || request['keyType'] === 'webAuthn' ? request['keyType'] : 'secp256k1',
    accessList: optional(request['accessList'], readAccessList) ?? [],
  }
}

/** viem says `true` for "somebody else will pay", and names them, as address or account, once it knows. */
function readFeePayer(payer: unknown): Address | undefined {
  if (payer === undefined || payer === null || typeof payer === 'boolean') return undefined
  return readAddress(typeof payer === 'object' ? (payer as { address?: unknown }).address : payer)
}

function readCall(value: unknown): EvmCall {
  const { to, value: amount, input, data } = readObject(value)
  return {
    to: optional(to, readAddress) ?? null,
    value: amount === '0x' ? 0n : (optional(amount, readQuantity) ?? 0n),
    data: optional(input ?? data, readData) ?? '0x',
  }
}

function readAccessList(value: unknown): AccessList {
  if (!Array.isArray(value)) throw invalidParams('accessList: a list')
  return value.map((entry) => {
    const { address, storageKeys = [] } = readObject(entry)
    if (!Array.isArray(storageKeys)) throw invalidParams('storageKeys: a list')
    return { address: readAddress(address), storageKeys: storageKeys.map(readHash) }
  })
}

function optional<T>(value: unknown, read: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : read(value)
}

function show(value: unknown): string {
  return String(JSON.stringify(value)).slice(0, 80)
}
