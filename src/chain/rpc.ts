import { type Clock, msSince } from '../base/clock.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { type ChainMeter, noChainMeter } from './chain-meter.ts'
import { createNodes, type NodeHead, type NodeStanding, type Nodes, type RpcNode, UNMUTED } from './nodes.ts'
import { type RpcRequest, type RpcTransport, SEND, TooLarge } from './transport.ts'

/** Speaks JSON-RPC with one chain. A refusal by the node is an RpcError, no answer at all a ChainSilent, one that is too long an AnswerTooLarge. */
export type Rpc = {
  readonly chainId: number
  request<Result = unknown>(method: string, params?: readonly unknown[], answerBytesMax?: number): Promise<Result>
  /** The newest block. Where there are several nodes all are asked, and one that lags is not listened to until it has caught up. */
  newest(): Promise<NodeHead>
  /** The oldest of the newest blocks of all nodes that may be asked from now on: what is asked as of it, each of them can tell. */
  shared(): Promise<NodeHead>
  /** What each node says by itself, believed or not; undefined for those that gave no answer. */
  everyone<Result = unknown>(
    method: string,
    params?: readonly unknown[],
    answerBytesMax?: number,
  ): Promise<readonly (Result | undefined)[]>
  /** How each of them stood when it was last asked. */
  standing(): readonly NodeStanding[]
  /** Counts that nodes did not show the same where they had to. */
  disagreed(): void
}

/** The node answered, and said no. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(message: string, code: number, data: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

/** Nobody answered: what we sent may or may not have been taken. Clients see `chain_unavailable`. */
export class ChainSilent extends Problem {
  constructor(chainId: number, method: string, cause: unknown) {
    super('chain_unavailable', `Chain ${chainId} did not answer ${method}; try again shortly.`, { cause })
    this.name = 'ChainSilent'
  }
}

/** The chain has an answer that we do not read to its end. Asking again brings the same; clients see `chain_unavailable` all the same. */
export class AnswerTooLarge extends Problem {
  constructor(chainId: number, method: string, cause: unknown) {
    super('chain_unavailable', `The answer of chain ${chainId} to ${method} is too large to be read.`, { cause })
    this.name = 'AnswerTooLarge'
  }
}

type RpcOptions = {
  readonly chainId: number
  readonly transports: readonly RpcTransport[]
  readonly clock: Clock
  readonly meter?: ChainMeter | undefined
}

/** Several nodes are asked in turn: the next one only when the one before did not answer for the chain. */
export function createRpc({ chainId, transports, clock, meter = noChainMeter }: RpcOptions): Rpc {
  const doors = transports.map((transport) => ofChain(transport, chainId, clock))
  const nodes = createNodes(doors, clock)
  let lastId = 0

  async function askOne<Result>(node: RpcNode, { method, params = [], answerBytesMax }: Question): Promise<Result> {
    const request: RpcRequest = { jsonrpc: '2.0', id: ++lastId, method, params }
    const askedAt = clock.now()
    const tell = (outcome: 'answered' | 'refused' | 'silent') =>
      meter.asked({ chainId, node: node.place, outcome, ms: Math.max(0, clock.now() - askedAt) })
    try {
      const answer = await node.ask(request, answerBytesMax)
      node.muted = UNMUTED
      const result = resultOf(answer) as Result
      tell('answered')
      return result
    } catch (error) {
      const isSilence = !isWord(error) && !isTooLarge(error, method)
      if (isSilence) nodes.mute(node)
      tell(isSilence ? 'silent' : 'refused')
      throw error
    }
  }

  async function askHead(node: RpcNode): Promise<void> {
    node.head = headOf(await askOne<RawHead>(node, { method: 'eth_getBlockByNumber', params: ['latest', false] }))
  }

  const ask = <Result>(question: Question) =>
    askInTurn(nodes.inOrder(), (node) => askOne<Result>(node, question), { chainId, method: question.method })

  /** The heads of those that may be asked, best first. */
  async function heads(): Promise<readonly NodeHead[]> {
    if (nodes.all.length === 1)
      return [headOf(await ask<RawHead>({ method: 'eth_getBlockByNumber', params: ['latest', false] }))]
    await survey(nodes, clock, askHead)
    const awake = nodes.inOrder().filter((node) => !nodes.isMuted(node))
    const shown = [...awake, ...nodes.inOrder().filter(nodes.isMuted)].flatMap(({ head }) => head ?? [])
    if (awake.length === 0 || shown.length === 0) throw new ChainSilent(chainId, 'eth_getBlockByNumber', null)
    return shown
  }

  return {
    chainId,
    request: (method, params, answerBytesMax) => ask({ method, params, answerBytesMax }),
    newest: async () => (await heads())[0]!,
    shared: async () => (await heads()).reduce((oldest, head) => (head.number < oldest.number ? head : oldest)),
    everyone: <Result>(method: string, params?: readonly unknown[], answerBytesMax?: number) =>
      Promise.all(
        nodes.all.map((node) => askOne<Result>(node, { method, params, answerBytesMax }).catch(() => undefined)),
      ),
    standing: nodes.standing,
    disagreed: () => meter.disagreed(chainId),
  }
}

/**
 * Nobody waits long for the slowest: a node that is a second later than another counts as silent, and so does one that was silent just
 * now. What they say when they speak again counts for the next look.
 */
async function survey(nodes: Nodes, clock: Clock, askHead: (node: RpcNode) => Promise<void>): Promise<void> {
  const awake = nodes.all.filter((node) => !nodes.isMuted(node))
  const late = new Set(nodes.all)
  const asked = nodes.all.map(async (node) => {
    await askHead(node)
    late.delete(node)
  })
  for (const one of asked) one.catch(() => {})
  const waited = asked.filter((_, index) => awake.length === 0 || awake.includes(nodes.all[index]!))
  const done = new AbortController()
  await Promise.any(waited).catch(() => {})
  await Promise.race([Promise.allSettled(waited), clock.sleep(LATE_MS, done.signal)])
  done.abort()
  for (const node of late) nodes.mute(node)
  if (nodes.all.some(({ head }) => head !== null)) nodes.judge()
}

async function askInTurn<Result>(
  nodes: readonly RpcNode[],
  ask: (node: RpcNode) => Promise<Result>,
  { chainId, method }: { readonly chainId: number; readonly method: string },
): Promise<Result> {
  let silence: unknown
  let tooLarge: unknown
  for (const node of nodes) {
    try {
      return await ask(node)
    } catch (error) {
      // Another node may use fewer words, or have a higher limit.
      if (isTooLarge(error, method)) tooLarge = error
      // Whoever was silent may have taken it, whatever the next one says.
      else if (isWord(error) && !(method === SEND && silence !== undefined)) throw error
      silence = error
    }
  }
  throw tooLarge ? new AnswerTooLarge(chainId, method, tooLarge) : new ChainSilent(chainId, method, silence)
}

type Question = {
  readonly method: string
  readonly params?: readonly unknown[] | undefined
  readonly answerBytesMax?: number | undefined
}

/** A block as nodes show it, as far as we look. */
export type RawHead = { readonly number: string; readonly timestamp: string; readonly baseFeePerGas?: string }

export function headOf({ number, timestamp, baseFeePerGas }: RawHead): NodeHead {
  return { number: BigInt(number), timestampMs: Number(timestamp) * 1000, baseFee: BigInt(baseFeePerGas ?? 0) }
}

const CHAIN_CHECK_MS = 60_000
const LATE_MS = 1_000

/** Asked before anything else, and again every minute: an address that leads to another chain must not tell us who paid. */
function ofChain(transport: RpcTransport, chainId: number, clock: Clock): RpcTransport {
  let checked: { readonly at: number; readonly done: Promise<void> } | null = null
  async function check(): Promise<void> {
    const answer = resultOf(await transport({ jsonrpc: '2.0', id: 0, method: 'eth_chainId', params: [] }))
    if (Number(answer) !== chainId) throw new Error(`the endpoint serves chain ${Number(answer)}, not ${chainId}`)
  }
  return async (request, answerBytesMax) => {
    if (checked === null || msSince(clock, checked.at) > CHAIN_CHECK_MS) {
      const done = check()
      done.catch(() => {
        checked = null
      })
      checked = { at: clock.now(), done }
    }
    await checked.done.catch((error: unknown) => {
      // Whatever it said, it was not asked about the request.
      throw new Error('the endpoint did not prove its chain', { cause: error })
    })
    return transport(request, answerBytesMax)
  }
}

/** Did a node of the chain itself say no? */
function isWord(error: unknown): error is RpcError {
  return error instanceof RpcError && !isGateways(error)
}

function resultOf(answer: unknown): unknown {
  if (typeof answer === 'object' && answer !== null) {
    if ('result' in answer) return answer.result
    if ('error' in answer && typeof answer.error === 'object' && answer.error !== null) {
      const { message, code, data } = answer.error as { message?: unknown; code?: unknown; data?: unknown }
      throw new RpcError(String(message), Number(code), data)
    }
  }
  throw new Error('the answer is not JSON-RPC')
}

const SIZE_WORDS = /\b(results|logs|range|response size)\b/i

/** More than we read, or than the node shows: a search that finds too much is refused under the codes of quotas, and in many words. */
function isTooLarge(error: unknown, method: string): boolean {
  return (
    error instanceof TooLarge ||
    (error instanceof RpcError && method === 'eth_getLogs' && SIZE_WORDS.test(error.message))
  )
}

const GATEWAY_CODES: ReadonlySet<number> = new Set([429, -32002, -32005, -32603])
const GATEWAY_WORDS = /rate limit|request limit|too many requests|timed out|timeout|unavailable/i

/** Did whoever stands before the node say no, for want of time or quota? Then the request may have been passed on, and nothing is known. */
function isGateways({ code, message, data }: RpcError): boolean {
  if (typeof data === 'string' || /revert/i.test(message)) return false
  return GATEWAY_CODES.has(code) || GATEWAY_WORDS.test(message)
}

/** Null for whoever is silent, or refuses. */
export async function answerOrNull<Word>(asked: Promise<Word>): Promise<Word | null> {
  try {
    return await asked
  } catch (error) {
    if (isProblem(error) || error instanceof RpcError) return null
    throw error
  }
}
