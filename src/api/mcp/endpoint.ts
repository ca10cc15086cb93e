import { stringify } from '../../base/json.ts'
import type { Log } from '../../base/log.ts'
import { isProblem } from '../../base/problem.ts'
import type { HttpConfig } from '../../config/config.ts'
import { readBody } from '../http/body.ts'
import { preflightHeaders } from '../http/cors.ts'
import type { Handler, Headers, Reply } from '../http/reply.ts'
import type { HttpRequest } from '../http/request.ts'
import { createCalls } from './calls.ts'
import { legacyDialect } from './legacy.ts'
import { readMessage } from './message.ts'
import { modernDialect } from './modern.ts'
import { createOriginCheck } from './origin-check.ts'
import type { ProblemResults } from './problem-result.ts'
import { CODE, isObject, McpError, META, type Members, MODERN_REVISIONS, type RpcId } from './protocol.ts'
import type { McpServer } from './server.ts'

type McpEndpointOptions = {
  readonly server: McpServer
  readonly http: HttpConfig
  readonly bodyBytesMax: number
  /** Counts what no tool and no resource counts, and throws when the caller has had enough of it. */
  readonly count: (http: HttpRequest) => void
  readonly problemResult: ProblemResults
  readonly log: Log
}

export type McpEndpoint = Handler

/**
 * MCP over HTTP: one POST, one JSON answer, no session and no stream. Both official server SDKs refuse the call of contract 4.4.1 (it
 * accepts JSON alone) and rebuild their tool list for every request; this keeps the lists as text and splices in the id.
 */
export function createMcpEndpoint({
  server,
  http: config,
  bodyBytesMax,
  count,
  problemResult,
  log,
}: McpEndpointOptions): McpEndpoint {
  const originCheck = createOriginCheck(config)
  const calls = createCalls(server, problemResult, log)
  const dialects = { legacy: legacyDialect(server, calls), modern: modernDialect(server, calls) }

  async function converse(http: HttpRequest): Promise<Reply> {
    const question = readMessage(await readBody(http, bodyBytesMax))
    if (question === null) {
      count(http)
      return { status: 202, headers: originCheck.headers(http), body: null }
    }
    const { id, method, params } = question
    try {
      if (!COUNTED_INSIDE.has(method)) count(http)
      if (!isObject(params)) throw new McpError(CODE.invalidParams, 'params must be an object', { status: 400 })
      const dialect = isModern(params, http) ? dialects.modern : dialects.legacy
      return json(200, await dialect.answer({ id, method, params, http }), originCheck.headers(http))
    } catch (error) {
      return refuse(http, error, id)
    }
  }

  function refuse(http: HttpRequest, error: unknown, id?: RpcId): Reply {
    const { code, message, status, data } = asMcpError(error)
    if (code === CODE.internalError && !isProblem(error, 'overloaded')) log.error('MCP request failed', { error })
    // An error that no question can be named for has no id: MCP's schema knows no null there.
    const body = { jsonrpc: '2.0', ...(id === undefined ? {} : { id }), error: { code, message, data } }
    return json(status, stringify(body), { ...originCheck.headers(http), ...refusalHeaders(status, error) })
  }

  return async (http) => {
    try {
      originCheck.admit(http)
      if (http.method !== 'POST') count(http)
      if (http.method === 'OPTIONS')
        return { status: 204, headers: { ...preflightHeaders(['POST']), ...originCheck.headers(http) }, body: null }
      assertConversation(http)
      return await converse(http)
    } catch (error) {
      return refuse(http, error)
    }
  }
}

/** Each tool and each resource uses up an allowance of its own. */
const COUNTED_INSIDE: ReadonlySet<string> = new Set(['tools/call', 'resources/read'])

function refusalHeaders(status: number, error: unknown): Headers {
  if (status === 405) return { Allow: 'POST' }
  if (!isProblem(error)) return {}
  const { afterSeconds, headers = {} } = error.extra
  return afterSeconds === undefined ? headers : { 'Retry-After': String(afterSeconds), ...headers }
}

/** The envelope makes a request modern; a header that promises it without the envelope makes it a broken modern one. */
function isModern(params: Members, http: HttpRequest): boolean {
  if (isObject(params['_meta']) && params['_meta'][META.revision] !== undefined) return true
  const revision = http.header('mcp-protocol-version')
  return revision !== undefined && revision >= MODERN_REVISIONS[0]
}

const ADMITS_JSON = /(^|,)\s*(application\/json|application\/\*|\*\/\*)\s*(;|,|$)/i
const IS_JSON = /^\s*application\/json\s*(;|$)/i

function assertConversation(http: HttpRequest): void {
  const refuse = (status: number, message: string) => new McpError(CODE.invalidRequest, message, { status })
  if (http.method !== 'POST')
    throw refuse(405, 'Method not allowed: POST only; there is no stream to GET and no session to DELETE')
  if (!IS_JSON.test(http.header('content-type') ?? '')) throw refuse(415, 'Content-Type must be application/json')
  const accept = http.header('accept')
  if (accept !== undefined && !ADMITS_JSON.test(accept))
    throw refuse(406, 'This endpoint answers application/json only')
}

/** Transport problems keep their status; anything unknown is a fault of ours and says nothing of itself. */
function asMcpError(error: unknown): McpError {
  if (error instanceof McpError) return error
  if (isProblem(error, 'overloaded')) return new McpError(CODE.internalError, error.message, { status: error.status })
  if (isProblem(error) && error.status < 500)
    return new McpError(CODE.invalidRequest, error.message, { status: error.status })
  return new McpError(CODE.internalError, 'Internal error', { status: 500 })
}

function json(status: number, body: string, headers: Headers): Reply {
  return { status, headers: { ...headers, 'Content-Type': 'application/json' }, body }
}
