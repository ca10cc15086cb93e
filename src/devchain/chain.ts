import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Hash } from '../base/address.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { type Arrivals, createArrivals } from './blocks/arrivals.ts'
import type { Block } from './blocks/block.ts'
import { createMining } from './blocks/mining.ts'
import { AnswerLost, DevChainError, RpcError } from './errors.ts'
import { addressesIn, createFaults, type Faults, noFaults } from './faults.ts'
import { accountMethods } from './methods/accounts.ts'
import { blockMethods } from './methods/blocks.ts'
import { callMethods } from './methods/calls.ts'
import { devMethods, faultMethods } from './methods/development.ts'
import { factMethods } from './methods/facts.ts'
import { readNumber } from './methods/params.ts'
import { sendMethods } from './methods/sends.ts'
import { type Methods, type Node, openNode } from './node.ts'
import { createQueue, type Queue } from './queue.ts'
import { type RuleSet, ruleSets } from './rules.ts'

export type RpcRequest = { readonly method: string; readonly params?: readonly unknown[] }

/** A chain on this machine: an EIP-1193 provider, so viem's `custom(chain)` takes it as it is. */
export type DevChain = {
  readonly chainId: number
  /** Requests are carried out in the order in which they come. Rejects with an `Error` that has `code` and `data` as a node's. */
  request(request: RpcRequest): Promise<unknown>
  /** Waits for what is under way. */
  close(): Promise<void>
}

/** A chain in this thread. */
type LocalDevChain = DevChain & {
  /** All that happened, oldest first: `past` of another chain. */
  blocks(): readonly Block[]
}

export type DevChainOptions = {
  /** `native`: an ordinary EVM chain, 84532, with USDC. `tempo`: 42431, with pathUSD and Tempo's transactions. */
  readonly rules: RuleSet
  /** Where the journal is kept; nobody else may write there meanwhile. Without a folder the chain lives in memory. */
  readonly dataDir?: string | undefined
  /** Absent: each transaction gets its block at once. Otherwise a block is made every so often, empty or not. */
  readonly blockTimeMs?: number | undefined
  /** Offers `dev_fault`, `dev_clearFaults`, `dev_reorg`, `dev_dropPool` and `dev_setBaseFee`. */
  readonly faults?: boolean | undefined
  readonly clock?: Clock | undefined
  /** A new chain starts with these blocks of one with the same rules, as if all of it had happened now. Nothing is run again. */
  readonly past?: readonly Block[] | undefined
}

export async function createDevChain(options: DevChainOptions): Promise<LocalDevChain> {
  const { dataDir, blockTimeMs, clock = systemClock } = options
  // Its own copy: the base fee of one chain is not that of another.
  const rules = { ...ruleSets[options.rules] }
  const faults = options.faults ? createFaults() : noFaults
  const path = dataDir === undefined ? null : join(await makeFolder(dataDir), `chain-${rules.chainId}.journal`)
  const node = await openNode({
    rules,
    clock,
    path,
    past: options.past,
    reverts: ({ calls }) => faults.strike('revert', { addresses: () => calls.map(({ to }) => to) }) !== null,
  })

  const queue = createQueue()
  const arrivals = createArrivals(clock)
  const mining = createMining(node, arrivals)
  const automine = blockTimeMs === undefined
  const methods: Methods = {
    ...factMethods(node),
    ...blockMethods(node),
    ...accountMethods(node),
    ...callMethods(node),
    ...sendMethods({ node, mining, faults, automine }),
    ...devMethods({ node, mining }),
    ...(options.faults && faultMethods({ faults, mining, node, automine })),
  }
  const answer = requester({ node, methods, queue, faults, arrivals, clock })
  const stop = new AbortController()
  const miningLoop = automine ? Promise.resolve() : mineEvery(blockTimeMs)

  async function mineEvery(ms: number): Promise<void> {
    while (!stop.signal.aborted) {
      await clock.sleep(ms, stop.signal)
      if (!stop.signal.aborted) await queue(() => mining.mineBlock())
    }
  }

  return {
    chainId: rules.chainId,
    request: (request) => (stop.signal.aborted ? Promise.reject(stopped(rules.chainId)) : answer(request)),
    blocks: () => node.history.ledger.all(),
    async close() {
      if (stop.signal.aborted) return
      stop.abort()
      await miningLoop
      await queue(async () => {})
      await node.history.close()
    },
  }
}

async function makeFolder(path: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true })
    return path
  } catch (error) {
    throw new DevChainError(
      'devchain_unwritable',
      `The dev chain cannot use ${path}: ${(error as Error).message}.`,
      error,
    )
  }
}

function stopped(chainId: number): DevChainError {
  return new DevChainError('devchain_stopped', `The dev chain ${chainId} was closed.`)
}

/** How long `eth_sendRawTransactionSync` waits if the caller does not say (EIP-7966). */
const SYNC_TIMEOUT_MS = 20_000

function requester(options: {
  readonly node: Node
  readonly methods: Methods
  readonly queue: Queue
  readonly faults: Faults
  readonly arrivals: Arrivals
  readonly clock: Clock
}): DevChain['request'] {
  const { node, methods, queue, faults, arrivals, clock } = options
  const { rules, history } = node

  /**
   * Nothing is answered before it is on disk, reads and refusals ("already known") included: what a caller was told must still
   * be so after a crash.
   */
  async function run(method: string, params: readonly unknown[], lag = 0): Promise<unknown> {
    const handle = methods[method]
    if (!handle) throw new RpcError(-32601, `the method ${method} does not exist/is not available`)
    try {
      return await queue(async () => handle(params, Math.max(history.ledger.head().number - lag, 0)))
    } finally {
      await history.settled()
    }
  }

  async function sendSync([raw, timeout]: readonly unknown[]): Promise<unknown> {
    const ms = timeout === undefined || timeout === null ? SYNC_TIMEOUT_MS : readNumber(timeout)
    const hash = (await run('eth_sendRawTransaction', [raw])) as Hash
    // Looked for and waited for without a pause in between, so that no block can slip through.
    const arrived = history.ledger.find(hash) !== undefined || (await arrivals.wait(hash, ms))
    if (!arrived) throw new RpcError(4, `the transaction was added to the pool but not mined within ${ms} ms`, hash)
    return run('eth_getTransactionReceipt', [hash])
  }

  async function underFaults(method: string, params: readonly unknown[]): Promise<unknown> {
    const occasion = { method, addresses: () => addressesIn(method, params, rules) }
    const delay = faults.strike('delay', occasion)
    if (delay) await clock.sleep(delay.ms)
    const refusal = faults.strike('refuse', occasion)
    if (refusal) throw new RpcError(refusal.code, refusal.message)
    const lag = faults.strike('stale', occasion)?.blocks
    const lost = faults.strike('lose', occasion)
    const answer = await (method === 'eth_sendRawTransactionSync' ? sendSync(params) : run(method, params, lag))
    if (lost) throw new AnswerLost()
    return answer
  }

  // The methods that set faults are beyond their reach.
  return ({ method, params = [] }) => (/^(dev|evm)_/.test(method) ? run(method, params) : underFaults(method, params))
}
