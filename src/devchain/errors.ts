/** A refusal a JSON-RPC client sees: `code` and `data` as nodes send them. Anything else that is thrown is a fault of ours. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

export function invalidParams(message: string): RpcError {
  return new RpcError(-32602, message)
}

/**
 * The request was carried out and its answer never arrives. To a caller in this process it looks as a broken socket does,
 * and over HTTP it is one: a JSON-RPC error would say that the node refused, which is not what happened.
 */
export class AnswerLost extends Error {
  readonly code = 'ECONNRESET'
  constructor() {
    super('socket hang up')
    this.name = 'AnswerLost'
  }
}

/** The chain cannot start or go on: its journal is damaged or cannot be written. Worth showing to an operator as it is. */
export class DevChainError extends Error {
  readonly code: 'devchain_corrupt' | 'devchain_unwritable' | 'devchain_stopped'
  constructor(code: DevChainError['code'], message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'DevChainError'
    this.code = code
  }
}
