import http from 'node:http'
import https from 'node:https'
import { Problem } from '../base/problem.ts'

/** Speaks JSON-RPC with one chain. A refusal by the node is an RpcError; no answer at all is a ChainSilent. */
export type Rpc = {
  readonly chainId: number
  request<Result = unknown>(method: string, params?: readonly unknown[]): Promise<Result>
}

/** Sends one request and resolves with the parsed answer, or throws when none came. */
export type RpcTransport = (request: RpcRequest) => Promise<unknown>
export type RpcRequest = {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
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

const ANSWER_BYTES_MAX = 8 * 1024 * 1024

/** Several transports are asked in turn: the next one only when the one before did not answer. */
export function createRpc(options: { chainId: number; transports: readonly RpcTransport[] }): Rpc {
  const { chainId, transports } = options
  let lastId = 0
  return {
    chainId,
    async request<Result>(method: string, params: readonly unknown[] = []) {
      const request: RpcRequest = { jsonrpc: '2.0', id: ++lastId, method, params }
      let silence: unknown
      for (const transport of transports) {
        let answer: unknown
        try {
          answer = await transport(request)
        } catch (error) {
          silence = error
          continue
        }
        return resultOf(answer, chainId, method) as Result
      }
      throw new ChainSilent(chainId, method, silence)
    },
  }
}

function resultOf(answer: unknown, chainId: number, method: string): unknown {
  if (typeof answer === 'object' && answer !== null) {
    if ('result' in answer) return answer.result
    if ('error' in answer && typeof answer.error === 'object' && answer.error !== null) {
      const { message, code, data } = answer.error as { message?: unknown; code?: unknown; data?: unknown }
      throw new RpcError(String(message), Number(code), data)
    }
  }
  throw new ChainSilent(chainId, method, new Error('the answer is not JSON-RPC'))
}

/**
 * HTTP with kept connections. Node's `http` costs about half the CPU of `fetch` per call, and a purchase makes several;
 * a request is never repeated here, because a repeated send is for the journal to decide.
 */
export function httpTransport(
  url: string,
  timeoutMs: number,
  headers: Readonly<Record<string, string>> = {},
): RpcTransport {
  const { protocol } = new URL(url)
  const client = protocol === 'https:' ? https : http
  const agent = new client.Agent({ keepAlive: true, maxSockets: 64 })
  return (rpcRequest) =>
    new Promise((resolve, reject) => {
      const body = JSON.stringify(rpcRequest)
      const request = client.request(
        url,
        {
          method: 'POST',
          agent,
          timeout: timeoutMs,
          headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers },
        },
        (response) => {
          const chunks: Buffer[] = []
          let size = 0
          response.on('data', (chunk: Buffer) => {
            size += chunk.length
            if (size > ANSWER_BYTES_MAX) request.destroy(new Error('the answer is too large'))
            else chunks.push(chunk)
          })
          response.on('error', reject)
          response.on('end', () => {
            try {
              resolve(JSON.parse(Buffer.concat(chunks).toString('utf8')))
            } catch (cause) {
              reject(new Error(`status ${response.statusCode}, and the body is not JSON`, { cause }))
            }
          })
        },
      )
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeoutMs} ms`)))
      request.on('error', reject)
      request.end(body)
    })
}

/** In-process chains (an EIP-1193 provider), used by the sandbox and by tests. */
export function providerTransport(provider: {
  request(call: { method: string; params: unknown[] }): Promise<unknown>
}): RpcTransport {
  return async ({ method, params }) => {
    try {
      return { result: await provider.request({ method, params: [...params] }) }
    } catch (error) {
      const { code, data, message } = error as { code?: unknown; data?: unknown; message: string }
      if (typeof code === 'number') return { error: { code, data, message } }
      throw error
    }
  }
}
