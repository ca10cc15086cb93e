import { ZERO_ADDRESS } from '../../base/address.ts'
import { RpcError } from '../errors.ts'
import { effectiveGasPrice } from '../evm/fees.ts'
import { type BlockContext, REVERT, type RunOutcome } from '../evm/machine.ts'
import type { Node } from '../node.ts'
import { greater, lesser } from '../quantity.ts'
import { leastGas } from '../transactions/admission.ts'
import { intrinsicGas } from '../transactions/gas.ts'
import type { CallRequest } from './params.ts'

/** What the calls return, and whether it is so in this block only. Throws the node's error when they fail. */
export async function outputOf(
  node: Node,
  request: CallRequest,
  context: BlockContext,
): Promise<Pick<RunOutcome, 'output' | 'readsBlock'>> {
  const outcome = await simulate(node, request, context, gasForCalls(node, request))
  if (outcome.failure !== null) throw failureOf(outcome)
  return outcome
}

/** As low as the calls go through with, give or take a 64th. */
export async function estimateGas(node: Node, request: CallRequest, context: BlockContext): Promise<bigint> {
  const base = intrinsicGas(request)
  const least = leastGas({ calls: request.calls, intrinsicGas: base }, node.rules)
  const limit = gasForCalls(node, request)
  const suffices = async (gas: bigint) => (await simulate(node, request, context, gas)).failure === null
  const first = await simulate(node, request, context, limit)
  if (first.failure !== null) throw failureOf(first)
  // A caller keeps a 64th of its gas from every call it makes, and a call with value adds a stipend.
  const guess = lesser(first.gasSpent === 0n ? 0n : (first.gasSpent * 64n) / 63n + 2_300n, limit)
  if (await suffices(guess)) return greater(base + guess, least)
  let tooLow = guess
  let enough = limit
  while (enough - tooLow > enough / 64n) {
    const middle = (tooLow + enough) / 2n
    if (await suffices(middle)) enough = middle
    else tooLow = middle
  }
  return greater(base + enough, least)
}

/**
 * As the transaction would run, when the request says what it would pay: the price is what a contract sees, and the fee is held
 * first, so a payer who owns exactly the price fails here too. Without fees both the price and the base fee are zero, as nodes have it.
 */
async function simulate(node: Node, request: CallRequest, context: BlockContext, gas: bigint): Promise<RunOutcome> {
  const { rules, state, machine } = node
  const { calls, from = ZERO_ADDRESS, accessList, maxFeePerGas } = request
  if (!maxFeePerGas) {
    const free = { ...context, baseFeePerGas: 0n }
    return state.dryRun(() => machine.run({ calls, from, gas, gasPrice: 0n, accessList }, free))
  }
  refuseBelowBase(maxFeePerGas, context)
  const priced = { ...request, maxFeePerGas }
  const gasPrice = effectiveGasPrice(priced, rules)
  return state.dryRun(async () => {
    await holdFee(node, priced, context, gas + intrinsicGas(request))
    return machine.run({ calls, from, gas, gasPrice, accessList }, context)
  })
}

function refuseBelowBase(maxFeePerGas: bigint, { baseFeePerGas }: BlockContext): void {
  if (maxFeePerGas >= baseFeePerGas) return
  const prices = `maxFeePerGas: ${maxFeePerGas}, baseFee: ${baseFeePerGas}`
  throw new RpcError(-32000, `max fee per gas less than block base fee: ${prices}`)
}

type Priced = CallRequest & { readonly maxFeePerGas: bigint }

/** Tempo's clients name a price without a limit when they ask what something costs; then there is nothing to hold yet. */
async function holdFee({ rules, fees }: Node, request: Priced, context: BlockContext, gas: bigint): Promise<void> {
  if (rules.name === 'tempo' && request.gas === undefined) return
  const { from = ZERO_ADDRESS, feePayer = from } = request
  await fees.hold({ ...request, from, feePayer, gas }, context)
}

/** What is left of the limit when the transaction itself is paid for. */
function gasForCalls(node: Node, request: CallRequest): bigint {
  const limit = gasLimit(node, request)
  const least = intrinsicGas(request)
  if (limit < least) throw new RpcError(-32000, `intrinsic gas too low: have ${limit}, want ${least}`)
  return limit - least
}

/** The caller's own limit, no more than a block holds, nor than the payer can pay for. */
function gasLimit({ rules, state }: Node, request: CallRequest): bigint {
  const { gas, from = ZERO_ADDRESS, maxFeePerGas } = request
  const most = gas === undefined ? rules.blockGasLimit + intrinsicGas(request) : lesser(gas, rules.blockGasLimit)
  if (gas !== undefined || !maxFeePerGas || rules.name === 'tempo') return most
  return lesser(most, state.account(from).balance / maxFeePerGas)
}

function failureOf({ failure, output }: RunOutcome): RpcError {
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
