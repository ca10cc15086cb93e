import { ZERO_ADDRESS } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { type Block, blockGasUsed, bloomOf } from '../blocks/block.ts'
import { type BlockPlace, logsOf, type PlacedLog } from '../blocks/ledger.ts'
import { effectiveGasPrice } from '../evm/fees.ts'
import { quantity } from '../quantity.ts'
import type { Rules } from '../rules.ts'
import type { Envelope, SentTransaction, Signers } from '../transactions/envelope.ts'
import { decodeEnvelope } from '../transactions/transaction.ts'

// How blocks, transactions, receipts and logs look in JSON-RPC answers.

type Fields = Readonly<Record<string, unknown>>

const ZERO_HASH: Hex = `0x${'0'.repeat(64)}`

export function viewBlock(block: Block, transactions: readonly unknown[], rules: Rules): Fields {
  return {
    number: quantity(block.number),
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: quantity(block.timestamp),
    gasUsed: quantity(blockGasUsed(block)),
    gasLimit: quantity(rules.blockGasLimit),
    baseFeePerGas: quantity(rules.baseFeePerGas),
    transactions,
    logsBloom: bloomOf(block.transactions.flatMap(({ receipt }) => receipt.logs)),
    extraData: quantityBytes(block.fork),
    // The dev chain has no tries, no miners and no proof of work.
    miner: ZERO_ADDRESS,
    mixHash: block.hash,
    nonce: '0x0000000000000000',
    difficulty: '0x0',
    totalDifficulty: '0x0',
    size: '0x0',
    sha3Uncles: ZERO_HASH,
    stateRoot: ZERO_HASH,
    receiptsRoot: ZERO_HASH,
    transactionsRoot: ZERO_HASH,
    uncles: [],
  }
}

function quantityBytes(value: number): Hex {
  const digits = value === 0 ? '' : value.toString(16)
  return `0x${digits.padStart(digits.length + (digits.length % 2), '0')}`
}

export function viewMined({ block, index, transaction }: BlockPlace, rules: Rules): Fields {
  return {
    ...viewEnvelope(decodeEnvelope(transaction.raw, rules), transaction, rules),
    gasPrice: quantity(transaction.receipt.gasPrice),
    blockHash: block.hash,
    blockNumber: quantity(block.number),
    transactionIndex: quantity(index),
  }
}

export function viewPending(transaction: SentTransaction, rules: Rules): Fields {
  return {
    ...viewEnvelope(transaction, transaction, rules),
    blockHash: null,
    blockNumber: null,
    transactionIndex: null,
  }
}

function viewEnvelope(envelope: Omit<Envelope, 'signers'>, { from }: Signers, rules: Rules): Fields {
  const isPriced = envelope.type === '0x2' || envelope.type === '0x76'
  return {
    hash: envelope.hash,
    type: envelope.type,
    from,
    nonce: quantity(envelope.nonce),
    gas: quantity(envelope.gas),
    gasPrice: quantity(isPriced ? effectiveGasPrice(envelope, rules) : envelope.maxFeePerGas),
    ...(isPriced && {
      maxFeePerGas: quantity(envelope.maxFeePerGas),
      maxPriorityFeePerGas: quantity(envelope.maxPriorityFeePerGas),
    }),
    ...(envelope.chainId === undefined ? {} : { chainId: quantity(envelope.chainId) }),
    ...envelope.fields,
  }
}

export function viewReceipt({ block, index, transaction }: BlockPlace, rules: Rules): Fields {
  const { hash, type, from, to, feePayer, receipt } = transaction
  const before = block.transactions.slice(0, index + 1)
  return {
    transactionHash: hash,
    transactionIndex: quantity(index),
    blockHash: block.hash,
    blockNumber: quantity(block.number),
    type,
    status: receipt.succeeded ? '0x1' : '0x0',
    from,
    to,
    contractAddress: receipt.created,
    gasUsed: quantity(receipt.gasUsed),
    cumulativeGasUsed: quantity(before.reduce((sum, { receipt }) => sum + receipt.gasUsed, 0n)),
    effectiveGasPrice: quantity(receipt.gasPrice),
    logs: logsOf(block)
      .filter(({ place }) => place.index === index)
      .map(viewLog),
    logsBloom: bloomOf(receipt.logs),
    ...(rules.name === 'tempo' && { feePayer, feeToken: receipt.feeToken }),
  }
}

export function viewLog({ log, logIndex, place: { block, index, transaction } }: PlacedLog): Fields {
  return {
    address: log.address,
    topics: log.topics,
    data: log.data,
    blockNumber: quantity(block.number),
    blockHash: block.hash,
    blockTimestamp: quantity(block.timestamp),
    transactionHash: transaction.hash,
    transactionIndex: quantity(index),
    logIndex: quantity(logIndex),
    removed: false,
  }
}
