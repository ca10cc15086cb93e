import type { HttpRequest } from '../http/request.ts'
import type { Members, RpcId } from './protocol.ts'

/** One dialect of the protocol. */
export type Dialect = {
  /** The whole answer as JSON text; throws RpcError otherwise. */
  answer(question: McpRequest): Promise<string>
}

export type McpRequest = {
  readonly id: RpcId
  readonly method: string
  readonly params: Members
  readonly http: HttpRequest
}

/** Puts a result that is JSON text already into its envelope. */
export function envelope(id: RpcId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}
