/** Sends one request and resolves with the parsed answer, or throws when none came. */
export type RpcTransport = (request: RpcRequest) => Promise<unknown>
export type RpcRequest = {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}
