import { type Hash, ZERO_ADDRESS } from '../base/address.ts'
import { leastGas } from './admission.ts'
import { invalidParams, RpcError } from './errors.ts'
import { intrinsicGas } from './gas.ts'
import type { BlockContext, Outcome } from './machine.ts'
import { REVERT } from './machine.ts'
import type { Methods, Node } from './node.ts'
import { type CallRequest, readBlock, readCallRequest, readObject } from './params.ts'
import { greater, lesser, quantity } from './quantity.ts'

const ZERO_HASH: Hash = `0x${'0'.repeat(64)}`

/** Methods that run something and keep nothing of it. */
export function callMethods({ rules, state, history, machine, fees, miner }: Node): Methods {
  async function simulate(request: CallRequest, context: BlockContext, gas: bigint): Promise<Outcome> {
    const { calls, from = ZERO_ADDRESS, accessList } = request
    return state.dryRun(() => machine.run({ calls, from, gas, gasPrice: 0n, accessList }, context))
  }

  /**
   * As `simulate`, with the fee held first when the request says what it would pay: a payer who owns exactly the price has to
   * fail here as the transaction would.
   */
  async function simulatePaid(request: CallRequest, context: BlockContext): Promise<Outcome> {
    const { from = ZERO_ADDRESS, gas, maxFeePerGas } = request
    const least = intrinsicGas(request)
    const gasForCalls =
      gas !== undefined && gas > least ? lesser(gas - least, rules.blockGasLimit) : rules.blockGasLimit
    if (rules.name !== 'tempo' || gas === undefined || !maxFeePerGas) return simulate(request, context, gasForCalls)
    return state.dryRun(async () => {
      const feePayer = request.feePayer ?? from
      await fees.hold({ ...request, from, feePayer, gas, maxFeePerGas }, context)
      return simulate(request, context, gasForCalls)
    })
  }

  /** As low as the calls go through with, give or take a 64th. */
  async function estimate(request: CallRequest, context: BlockContext): Promise<bigint> {
    const base = intrinsicGas(request)
    const least = leastGas({ calls: request.calls, intrinsicGas: base }, rules)
    const first = await simulate(request, context, rules.blockGasLimit)
    if (first.failure !== null) throw failureOf(first)
    // A caller keeps a 64th of its gas from every call it makes, and a call with value adds a stipend.
    const guess = first.gasSpent === 0n ? 0n : (first.gasSpent * 64n) / 63n + 2_300n
    if ((await simulate(request, context, guess)).failure === null) return greater(base + guess, least)
    let tooLow = guess
    let enough = rules.blockGasLimit
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
        const outcome = await simulatePaid(request, context)
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
