import { parseStrictJson } from '../../base/json.ts'
import { isProblem } from '../../base/problem.ts'
import { CODE, isObject, McpError, type RpcId } from './protocol.ts'

/** A question that wants an answer. */
type RpcRequest = { readonly id: RpcId; readonly method: string; readonly params: unknown }

/** A payment inside `_meta` echoes its challenge, JSON Schemas included, a few levels below the envelope. */
const DEPTH_MAX = 32

/** The question in a body, or null for what wants no answer: a notification, or a reply to a question we never asked. */
export function readMessage(bytes: Uint8Array): RpcRequest | null {
  const message = parse(bytes)
  if (Array.isArray(message)) throw invalid('MCP has no JSON-RPC batches; send one message per request')
  if (!isObject(message) || message['jsonrpc'] !== '2.0') throw invalid('the body is not a JSON-RPC 2.0 message')
  const { id, method, params = {} } = message
  if (typeof method !== 'string') {
    if (isId(id) && ('result' in message || 'error' in message)) return null
    throw invalid('`method` is missing')
  }
  if (!Object.hasOwn(message, 'id')) return null
  // A larger number would come back as another one, and null is nobody's question.
  if (!isId(id)) throw invalid('`id` must be a string or a whole number below 2^53')
  return { id, method, params }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseStrictJson(bytes, DEPTH_MAX)
  } catch (error) {
    if (!isProblem(error)) throw error
    if (error.code !== 'invalid_json') throw new McpError(CODE.invalidRequest, error.message, { status: 400 })
    throw new McpError(CODE.parseError, error.message, { status: 400 })
  }
}

function isId(value: unknown): value is RpcId {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function invalid(what: string): McpError {
  return new McpError(CODE.invalidRequest, `Invalid request: ${what}.`, { status: 400 })
}
