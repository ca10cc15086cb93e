import type { Address } from '../../base/address.ts'
import type { FeeCollector } from '../evm/fees.ts'
import { type BlockContext, type Machine, REVERT, type RunOutcome } from '../evm/machine.ts'
import { twoDimensionalKey } from '../evm/nonce-precompile.ts'
import type { State } from '../evm/state.ts'
import { greater } from '../quantity.ts'
import { type Rules, SYSTEM_ADDRESS } from '../rules.ts'
import { checkAdmission, leastGas } from '../transactions/admission.ts'
import type { SentTransaction } from '../transactions/envelope.ts'
import { EXPIRING_NONCE_KEY } from '../transactions/gas.ts'
import type { MinedTransaction } from './block.ts'

/** How one transaction enters a block: its nonce is counted, its fee held, its calls run, and what it used is charged. */
type Inclusion = {
  nonceOf(from: Address, nonceKey: bigint): bigint
  /** Throws RpcError when the transaction does not fit. Leaves its fee held: for a dry run. */
  check(transaction: SentTransaction, context: BlockContext): Promise<void>
  /** Throws RpcError, with the state untouched, when the transaction does not fit. */
  include(transaction: SentTransaction, context: BlockContext): Promise<MinedTransaction>
}

export type InclusionOptions = {
  readonly rules: Rules
  readonly state: State
  readonly machine: Machine
  readonly fees: FeeCollector
  /** Whether this transaction reverts whatever it does. Asked once per execution. */
  readonly reverts: (transaction: SentTransaction) => boolean
}

export function createInclusion({ rules, state, machine, fees, reverts }: InclusionOptions): Inclusion {
  function nonceOf(from: Address, nonceKey: bigint): bigint {
    return nonceKey === 0n ? state.account(from).nonce : state.nonce(twoDimensionalKey(from, nonceKey))
  }

  function countNonce({ from, nonceKey, nonce }: SentTransaction): void {
    if (nonceKey === 0n) state.setAccount(from, { nonce: nonce + 1n })
    else if (nonceKey !== EXPIRING_NONCE_KEY) state.setNonce(twoDimensionalKey(from, nonceKey), nonce + 1n)
  }

  function admit(transaction: SentTransaction, { timestamp }: BlockContext): void {
    const { from, nonceKey } = transaction
    checkAdmission(transaction, {
      rules,
      now: timestamp,
      expectedNonce: nonceOf(from, nonceKey),
      senderHasCode: state.account(from).code.bytes.length > 0,
    })
  }

  async function execute(transaction: SentTransaction, context: BlockContext, gasPrice: bigint): Promise<RunOutcome> {
    if (reverts(transaction)) return forcedRevert
    const { calls, from, accessList, nonceKey } = transaction
    const gas = transaction.gas - transaction.intrinsicGas
    return machine.run({ calls, from, gas, gasPrice, accessList, nonceCounted: nonceKey === 0n }, context)
  }

  async function includeSystem(transaction: SentTransaction, context: BlockContext): Promise<MinedTransaction> {
    countNonce(transaction)
    const outcome = await execute(transaction, context, 0n)
    return mined(transaction, outcome, { gasUsed: 0n, gasPrice: 0n, feeToken: null, logs: outcome.logs })
  }

  return {
    nonceOf,
    async check(transaction, context) {
      admit(transaction, context)
      await fees.hold(transaction, context)
    },
    async include(transaction, context) {
      if (transaction.from === SYSTEM_ADDRESS) return includeSystem(transaction, context)
      admit(transaction, context)
      const fee = await fees.hold(transaction, context)
      countNonce(transaction)
      const outcome = await execute(transaction, context, fee.price)
      const gasUsed = greater(transaction.intrinsicGas + outcome.gasUsed, leastGas(transaction, rules))
      const feeLogs = await fee.settle(gasUsed)
      const { price: gasPrice, feeToken } = fee
      return mined(transaction, outcome, { gasUsed, gasPrice, feeToken, logs: [...outcome.logs, ...feeLogs] })
    },
  }
}

const forcedRevert: RunOutcome = {
  gasUsed: 0n,
  gasSpent: 0n,
  output: '0x',
  failure: REVERT,
  created: null,
  logs: [],
  readsBlock: false,
}

function mined(
  { hash, raw, type, from, feePayer, calls }: SentTransaction,
  { failure, created }: RunOutcome,
  receipt: Omit<MinedTransaction['receipt'], 'succeeded' | 'created'>,
): MinedTransaction {
  const to = calls[0]!.to
  return { hash, raw, type, from, to, feePayer, receipt: { ...receipt, succeeded: failure === null, created } }
}
