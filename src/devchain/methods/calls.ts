import { type Hash, ZERO_ADDRESS } from '../../base/address.ts'
import { invalidParams, RpcError } from '../errors.ts'
import { effectiveGasPrice } from '../evm/fees.ts'
import type { BlockContext, Outcome } from '../evm/machine.ts'
import { REVERT } from '../evm/machine.ts'
import type { Methods, Node } from '../node.ts'
import { greater, lesser, quantity } from '../quantity.ts'
import { leastGas } from '../transactions/admission.ts'
import { intrinsicGas } from '../transactions/gas.ts'
import { type CallRequest, readBlock, readCallRequest, readObject } from './params.ts'

const ZERO_HASH: Hash = `0x${'0'.repeat(64)}`

/** Methods that run something and keep nothing of it. */
export function callMethods({ rules, state, history, machine, fees, miner }: Node): Methods {
  /**
   * As the transaction would run, when the request says what it would pay: the price is what a contract sees, and the fee is held
   * first, so a payer who owns exactly the price fails here too. Without fees both the price and the base fee are zero, as nodes have it.
   */
  async function simulate(request: CallRequest, context: BlockContext, gas: bigint): Promise<Outcome> {
    const { calls, from = ZERO_ADDRESS, accessList, maxFeePerGas } = request
    if (!maxFeePerGas) {
      const free = { ...context, baseFeePerGas: 0n }
      return state.dryRun(() => machine.run({ calls, from, gas, gasPrice: 0n, accessList }, free))
    }
    refuseBelowBase(maxFeePerGas, context)
    const price = effectiveGasPrice({ ...request, maxFeePerGas }, rules)
    return state.dryRun(async () => {
      await holdFee(request, maxFeePerGas, gas + intrinsicGas(request), context)
      return machine.run({ calls, from, gas, gasPrice: price, accessList }, context)
    })
  }

  function refuseBelowBase(maxFeePerGas: bigint, { baseFeePerGas }: BlockContext): void {
    if (maxFeePerGas >= baseFeePerGas) return
    const prices = `maxFeePerGas: ${maxFeePerGas}, baseFee: ${baseFeePerGas}`
    throw new RpcError(-32000, `max fee per gas less than block base fee: ${prices}`)
  }

  /** Tempo's clients name a price without a limit when they ask what something costs; then there is nothing to hold yet. */
  async function holdFee(
    request: CallRequest,
    maxFeePerGas: bigint,
    gas: bigint,
    context: BlockContext,
  ): Promise<void> {
    if (rules.name === 'tempo' && request.gas === undefined) return
    const { from = ZERO_ADDRESS, feePayer = from } = request
    await fees.hold({ ...request, from, feePayer, gas, maxFeePerGas }, context)
  }

  /** What is left of the limit when the transaction itself is paid for. */
  function gasForCalls(request: CallRequest): bigint {
    const limit = gasLimit(request)
    const least = intrinsicGas(request)
    if (limit < least) throw new RpcError(-32000, `intrinsic gas too low: have ${limit}, want ${least}`)
    return limit - least
  }

  /** The caller's own limit, no more than a block holds, nor than the payer can pay for. */
  function gasLimit(request: CallRequest): bigint {
    const { gas, from = ZERO_ADDRESS, maxFeePerGas } = request
    const most = gas === undefined ? rules.blockGasLimit + intrinsicGas(request) : lesser(gas, rules.blockGasLimit)
    if (gas !== undefined || !maxFeePerGas || rules.name === 'tempo') return most
    return lesser(most, state.account(from).balance / maxFeePerGas)
  }

  /** As low as the calls go through with, give or take a 64th. */
  async function estimate(request: CallRequest, context: BlockContext): Promise<bigint> {
    const base = intrinsicGas(request)
    const least = leastGas({ calls: request.calls, intrinsicGas: base }, rules)
    const limit = gasForCalls(request)
    const first = await simulate(request, context, limit)
    if (first.failure !== null) throw failureOf(first)
    // A caller keeps a 64th of its gas from every call it makes, and a call with value adds a stipend.
    const guess = lesser(first.gasSpent === 0n ? 0n : (first.gasSpent * 64n) / 63n + 2_300n, limit)
    if ((await simulate(request, context, guess)).failure === null) return greater(base + guess, least)
    let tooLow = guess
    let enough = limit
    while (enough - tooLow > enough / 64n) {
      const middle = (tooLow + enough) / 2n
      if ((await simulate(request, context, middle)).failure === null) enough = middle
      else tooLow = middle
    }
    return greater(base + enough, least)
  }

  /** Completes what the client left open. Whoever is sponsored leaves the fee token to the sponsor. */
  async function fill(given: Readonly<Record<string, unknown>>, context: BlockContext): Promise<unknown> {
    const request = readCallRequest(given)
    const { from = ZERO_ADDRESS, gas, maxFeePerGas, maxPriorityFeePerGas, nonceKey } = request
    const chosenToken = async () => request.feeToken ?? (await state.dryRun(() => fees.feeTokenOf(from, context)))
    return {
      ...given,
      from,
      calls: request.calls.map(({ to, value, data }) => ({ to, value: quantity(value), data, input: data })),
      chainId: quantity(rules.chainId),
      gas: quantity(gas ?? (await estimate(request, context))),
      nonce: given['nonce'] ?? quantity(miner.nonceOf(from, nonceKey)),
      maxFeePerGas: quantity(maxFeePerGas ?? rules.baseFeePerGas),
      maxPriorityFeePerGas: quantity(maxPriorityFeePerGas),
      ...(given['feePayer'] ? {} : { feeToken: await chosenToken() }),
      input: '0x',
      value: '0x0',
      hash: ZERO_HASH,
    }
  }

  /**
   * Runs on the state after the block that the tag names, and in that block, as nodes do. Except that for the newest block it
   * is now: an idle dev chain must not take a signature for valid because its last block was made before it expired.
   */
  async function on<T>(tag: unknown, height: number, work: (context: BlockContext) => Promise<T>): Promise<T> {
    const number = readBlock(tag, height, history.ledger)
    const block = number === undefined || number > height ? undefined : history.ledger.block(number)
    if (!block) throw new RpcError(-32000, 'header not found')
    const next = miner.contextAfter(block.number)
    const isNewest = block.number === history.ledger.head().number
    const context = { ...next, number: block.number, timestamp: isNewest ? next.timestamp : block.timestamp }
    return history.atHeight(block.number, () => work(context))
  }

  return {
    eth_call([query, tag, overrides], height) {
      refuseOverrides(overrides)
      const request = readCallRequest(query)
      return on(tag, height, async (context) => {
        const outcome = await simulate(request, context, gasForCalls(request))
        if (outcome.failure !== null) throw failureOf(outcome)
        return outcome.output
      })
    },
    eth_estimateGas([query, tag, overrides], height) {
      refuseOverrides(overrides)
      const request = readCallRequest(query)
      return on(tag, height, async (context) => quantity(await estimate(request, context)))
    },
    /** Only Tempo's clients ask the node to fill in a transaction; for the rest "no such method" makes viem do it itself. */
    eth_fillTransaction([query], height) {
      const given = readObject(query)
      if (given['type'] !== '0x76') throw new RpcError(-32601, 'the method eth_fillTransaction is not available')
      return on('latest', height, async (context) => ({ raw: '0x', tx: await fill(given, context) }))
    },
  }
}

function failureOf({ failure, output }: Outcome): RpcError {
  if (failure !== REVERT) return new RpcError(-32000, failure ?? 'execution failed')
  const reason = revertReason(output)
  return new RpcError(3, reason === null ? 'execution reverted' : `execution reverted: ${reason}`, output)
}

const ERROR_SELECTOR = '0x08c379a0'

/** The text of `revert("…")`. Other reverts speak through their data. */
function revertReason(output: string): string | null {
  if (!output.startsWith(ERROR_SELECTOR) || output.length < 138) return null
  const length = Number.parseInt(output.slice(74, 138), 16)
  return Buffer.from(output.slice(138, 138 + 2 * length), 'hex').toString()
}

function refuseOverrides(overrides: unknown): void {
  if (overrides !== undefined && overrides !== null && Object.keys(readObject(overrides)).length > 0) {
    throw invalidParams('state overrides are not supported by the dev chain')
  }
}
