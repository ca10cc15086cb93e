import type { Address } from '../../base/address.ts'
import { fromHex } from '../../base/hex.ts'
import { RpcError } from '../errors.ts'
import type { Fees } from '../evm/fees.ts'
import { type BlockContext, type Machine, type Outcome, REVERT } from '../evm/machine.ts'
import { twoDimensionalKey } from '../evm/nonce-precompile.ts'
import { makeCode, type State } from '../evm/state.ts'
import { greater } from '../quantity.ts'
import { type Rules, SYSTEM_ADDRESS } from '../rules.ts'
import { checkAdmission, leastGas } from '../transactions/admission.ts'
import type { Transaction } from '../transactions/envelope.ts'
import { EXPIRING_NONCE_KEY } from '../transactions/gas.ts'
import { type Block, type MinedTransaction, type Override, sealBlock } from './block.ts'
import type { History } from './history.ts'

/** Turns transactions into blocks: the one path on which the chain's state changes. */
export type Miner = {
  /** What a transaction would see if it ran now, on top of the block at `height`. */
  contextAfter(height: number): BlockContext
  nonceOf(from: Address, nonceKey: bigint): bigint
  /** Throws the node's refusal of a transaction that no next block could hold. Changes nothing. */
  check(transaction: Transaction): Promise<void>
  mine(content: BlockContent): Promise<Block>
}

export type BlockContent = {
  /** Hands out transactions until it gives none. */
  readonly next?: () => Transaction | undefined
  /** Hears of a transaction that turned out not to fit: expired while it waited, or its payer is broke by now. */
  readonly unfit?: (transaction: Transaction, refusal: RpcError) => void
  readonly overrides?: readonly Override[]
  /** A block that replaces another keeps its time and bears the number of the reorg. */
  readonly timestamp?: number
  readonly fork?: number
}

export function createMiner(options: {
  readonly rules: Rules
  readonly state: State
  readonly history: History
  readonly machine: Machine
  readonly fees: Fees
  /** Whether this transaction reverts whatever it does. Asked once per execution. */
  readonly reverts: (transaction: Transaction) => boolean
}): Miner {
  const { rules, state, history, machine, fees, reverts } = options
  const { ledger } = history

  function contextAfter(height: number): BlockContext {
    const parent = ledger.block(height)!
    return {
      number: parent.number + 1,
      timestamp: Math.max(parent.timestamp, history.now()),
      baseFeePerGas: rules.baseFeePerGas,
      gasLimit: rules.blockGasLimit,
      randomness: parent.hash,
    }
  }

  function nonceOf(from: Address, nonceKey: bigint): bigint {
    return nonceKey === 0n ? state.account(from).nonce : state.nonce(twoDimensionalKey(from, nonceKey))
  }

  function countNonce({ from, nonceKey, nonce }: Transaction): void {
    if (nonceKey === 0n) state.setAccount(from, { nonce: nonce + 1n })
    else if (nonceKey !== EXPIRING_NONCE_KEY) state.setNonce(twoDimensionalKey(from, nonceKey), nonce + 1n)
  }

  function checkAgainst(transaction: Transaction, { timestamp }: BlockContext): void {
    const { from, nonceKey } = transaction
    checkAdmission(transaction, {
      rules,
      now: timestamp,
      expectedNonce: nonceOf(from, nonceKey),
      senderHasCode: state.account(from).code.bytes.length > 0,
    })
  }

  async function execute(transaction: Transaction, context: BlockContext, gasPrice: bigint): Promise<Outcome> {
    if (reverts(transaction)) return forcedRevert
    const { calls, from, accessList, nonceKey } = transaction
    const gas = transaction.gas - transaction.intrinsicGas
    return machine.run({ calls, from, gas, gasPrice, accessList, nonceCounted: nonceKey === 0n }, context)
  }

  /** Throws RpcError, with the state untouched, when the transaction does not fit. */
  async function include(transaction: Transaction, context: BlockContext): Promise<MinedTransaction> {
    if (transaction.from === SYSTEM_ADDRESS) return includeSystem(transaction, context)
    checkAgainst(transaction, context)
    const fee = await fees.hold(transaction, context)
    countNonce(transaction)
    const outcome = await execute(transaction, context, fee.price)
    const gasUsed = greater(transaction.intrinsicGas + outcome.gasUsed, leastGas(transaction, rules))
    const feeLogs = await fee.settle(gasUsed)
    const { price: gasPrice, feeToken } = fee
    return mined(transaction, outcome, { gasUsed, gasPrice, feeToken, logs: [...outcome.logs, ...feeLogs] })
  }

  async function includeSystem(transaction: Transaction, context: BlockContext): Promise<MinedTransaction> {
    countNonce(transaction)
    const outcome = await execute(transaction, context, 0n)
    return mined(transaction, outcome, { gasUsed: 0n, gasPrice: 0n, feeToken: null, logs: outcome.logs })
  }

  /** An error here is a fault of ours or of the EVM. The block is given up, and the next one starts from a clean state. */
  async function fill(content: BlockContent, context: BlockContext): Promise<MinedTransaction[]> {
    try {
      for (const override of content.overrides ?? []) applyOverride(state, override)
      return await includeAll(content, context)
    } catch (error) {
      state.dropChanges()
      throw error
    }
  }

  async function includeAll({ next, unfit }: BlockContent, context: BlockContext): Promise<MinedTransaction[]> {
    const included: MinedTransaction[] = []
    for (let transaction = next?.(); transaction; transaction = next?.()) {
      try {
        included.push(await include(transaction, context))
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        unfit?.(transaction, error)
      }
    }
    return included
  }

  return {
    contextAfter,
    nonceOf,
    check: (transaction) =>
      state.dryRun(async () => {
        const context = contextAfter(ledger.head().number)
        checkAgainst(transaction, context)
        await fees.hold(transaction, context)
      }),
    async mine(content) {
      const parent = ledger.head()
      const { overrides = [], fork = parent.fork } = content
      const natural = contextAfter(parent.number)
      const context = { ...natural, timestamp: content.timestamp ?? natural.timestamp }
      const transactions = await fill(content, context)
      const block = sealBlock({
        number: context.number,
        parentHash: parent.hash,
        timestamp: context.timestamp,
        fork,
        transactions,
        overrides,
        changes: state.takeChanges(),
      })
      history.append(block)
      return block
    },
  }
}

const forcedRevert: Outcome = { gasUsed: 0n, gasSpent: 0n, output: '0x', failure: REVERT, created: null, logs: [] }

function mined(
  { hash, raw, type, from, feePayer, calls }: Transaction,
  { failure, created }: Outcome,
  receipt: Omit<MinedTransaction['receipt'], 'succeeded' | 'created'>,
): MinedTransaction {
  const to = calls[0]!.to
  return { hash, raw, type, from, to, feePayer, receipt: { ...receipt, succeeded: failure === null, created } }
}

function applyOverride(state: State, { address, balance, code }: Override): void {
  state.setAccount(address, {
    ...(balance === undefined ? {} : { balance }),
    ...(code === undefined ? {} : { code: makeCode(fromHex(code)) }),
  })
}
