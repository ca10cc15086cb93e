import { stringify } from '../base/json.ts'
import type { DevChain, RpcRequest } from './chain.ts'
import { AnswerLost, RpcError } from './errors.ts'

const BATCH_MAX = 1_000

/**
 * Answers the text of a JSON-RPC request or batch with the text of its response; empty when it held only notifications.
 * Rejects with `AnswerLost` when a fault swallowed the answer: whoever carries the text should break the connection.
 */
export async function answerRpc(chain: Pick<DevChain, 'request'>, body: string): Promise<string> {
  const parsed = parse(body)
  if (parsed === undefined) return stringify(failed(null, new RpcError(-32700, 'parse error')))
  if (!Array.isArray(parsed)) return text(await answerOne(chain, parsed))
  if (parsed.length === 0 || parsed.length > BATCH_MAX) {
    return stringify(failed(null, new RpcError(-32600, `a batch holds 1 to ${BATCH_MAX} requests`)))
  }
  const answers = await Promise.all(parsed.map((request) => answerOne(chain, request)))
  const responses = answers.filter((answer) => answer !== null)
  return responses.length === 0 ? '' : stringify(responses)
}

function text(answer: unknown): string {
  return answer === null ? '' : stringify(answer)
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

type Id = string | number | null

/** Null for a notification, which wants no answer. */
async function answerOne(chain: Pick<DevChain, 'request'>, value: unknown): Promise<unknown> {
  const request = readRequest(value)
  if (request === null) return failed(null, new RpcError(-32600, 'invalid request'))
  const { id, ...call } = request
  const response = await chain.request(call).then(
    (result) => ({ jsonrpc: '2.0', id, result: result ?? null }),
    (error: unknown) => {
      if (isLost(error)) throw error
      return failed(id ?? null, error)
    },
  )
  return id === undefined ? null : response
}

function readRequest(value: unknown): (RpcRequest & { readonly id: Id | undefined }) | null {
  if (typeof value !== 'object' || value === null) return null
  const { id, method, params = [] } = value as { id?: unknown; method?: unknown; params?: unknown }
  if (typeof method !== 'string' || !Array.isArray(params)) return null
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number') return null
  return { id, method, params }
}

/** By code, not by class: over a thread's boundary an error keeps its fields and loses its prototype. */
function isLost(error: unknown): boolean {
  return error instanceof AnswerLost || (error as { code?: unknown } | null)?.code === 'ECONNRESET'
}

function failed(id: Id, error: unknown) {
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown }
  return {
    jsonrpc: '2.0',
    id,
    error: {
      code: typeof code === 'number' ? code : -32603,
      message: typeof message === 'string' ? message : 'internal error',
      ...(data === undefined ? {} : { data }),
    },
  }
}
