import { type Hash, ZERO_ADDRESS } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Block } from '../blocks/block.ts'
import { invalidParams, RpcError } from '../errors.ts'
import type { Reading } from '../evm/cells.ts'
import type { BlockContext } from '../evm/machine.ts'
import type { Methods, Node } from '../node.ts'
import { quantity } from '../quantity.ts'
import { findBlock, readCallRequest, readObject } from './params.ts'
import { estimateGas, outputOf } from './simulation.ts'

const ANSWERS_MAX = 2_000

/** An answer holds for every state that reads the same where it looked. */
type Answer = { readonly output: Hex; readonly reading: Reading }

/** Methods that run something and keep nothing of it. */
export function callMethods(node: Node): Methods {
  /** Shops ask the same again and again, and what they ask about seldom changes. */
  const known = new Map<string, Answer>()

  async function answer(query: unknown, context: BlockContext): Promise<Hex> {
    const { state } = node
    const question = JSON.stringify(query)
    const kept = known.get(question)
    if (kept && state.stillReads(kept.reading)) return kept.output
    const request = readCallRequest(query)
    const { result, reading } = await state.watch(() => outputOf(node, request, context))
    const { output, readsBlock } = result
    if (known.size >= ANSWERS_MAX) known.clear()
    // What it would pay depends on the fees of the moment.
    if (!readsBlock && !request.maxFeePerGas) known.set(question, { output, reading })
    return output
  }

  return {
    async eth_call([query, tag, overrides], height) {
      refuseOverrides(overrides)
      return runOn(node, { tag, height }, (context) => answer(query, context))
    },
    eth_estimateGas([query, tag, overrides], height) {
      refuseOverrides(overrides)
      const request = readCallRequest(query)
      return runOn(node, { tag, height }, async (context) => quantity(await estimateGas(node, request, context)))
    },
    /** Only Tempo's clients ask the node to fill in a transaction; for the rest "no such method" makes viem do it itself. */
    eth_fillTransaction([query], height) {
      const given = readObject(query)
      if (given['type'] !== '0x76') throw new RpcError(-32601, 'the method eth_fillTransaction is not available')
      return runOn(node, { tag: 'latest', height }, async (context) => ({
        raw: '0x',
        tx: await fill(node, given, context),
      }))
    },
  }
}

/**
 * Runs on the state after the block that the tag names, and in that block, as nodes do. Except that for the newest block it
 * is now: an idle dev chain must not take a signature for valid because its last block was made before it expired.
 */
async function runOn<T>(node: Node, place: Place, work: (context: BlockContext) => Promise<T>): Promise<T> {
  const { history, miner } = node
  const block = blockAt(node, place)
  const next = miner.contextAfter(block.number)
  const isNewest = block.number === history.ledger.head().number
  const context = { ...next, number: block.number, timestamp: isNewest ? next.timestamp : block.timestamp }
  return history.atHeight(block.number, () => work(context))
}

type Place = { readonly tag: unknown; readonly height: number }

function blockAt({ history }: Node, { tag, height }: Place): Block {
  const block = findBlock(tag, height, history.ledger)
  if (!block) throw new RpcError(-32000, 'header not found')
  return block
}

const ZERO_HASH: Hash = `0x${'0'.repeat(64)}`

/** Completes what the client left open. Whoever is sponsored leaves the fee token to the sponsor. */
async function fill(node: Node, given: Readonly<Record<string, unknown>>, context: BlockContext): Promise<unknown> {
  const { rules, state, fees, miner } = node
  const request = readCallRequest(given)
  const { from = ZERO_ADDRESS, gas, maxFeePerGas, maxPriorityFeePerGas, nonceKey } = request
  const chosenToken = async () => request.feeToken ?? (await state.dryRun(() => fees.feeTokenOf(from, context)))
  return {
    ...given,
    from,
    calls: request.calls.map(({ to, value, data }) => ({ to, value: quantity(value), data, input: data })),
    chainId: quantity(rules.chainId),
    gas: quantity(gas ?? (await estimateGas(node, request, context))),
    nonce: given['nonce'] ?? quantity(miner.nonceOf(from, nonceKey)),
    maxFeePerGas: quantity(maxFeePerGas ?? rules.baseFeePerGas),
    maxPriorityFeePerGas: quantity(maxPriorityFeePerGas),
    ...(given['feePayer'] ? {} : { feeToken: await chosenToken() }),
    input: '0x',
    value: '0x0',
    hash: ZERO_HASH,
  }
}

function refuseOverrides(overrides: unknown): void {
  if (overrides !== undefined && overrides !== null && Object.keys(readObject(overrides)).length > 0) {
    throw invalidParams('state overrides are not supported by the dev chain')
  }
}
