/** Sends one request and resolves with the parsed answer, or throws when none came. An answer of more than the bytes given is not read to its end. */
export type RpcTransport = (request: RpcRequest, answerBytesMax?: number) => Promise<unknown>
export type RpcRequest = {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: readonly unknown[]
}

/** No usual answer comes near it. */
export const ANSWER_BYTES_MAX = 8 * 1024 * 1024
/** For what strangers can fill and we have to read all the same: a receipt, the transfers of one block. An empty log is 300 bytes and costs 375 gas. */
export const LARGE_ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** The node answered, with more than is read. It is not to blame: whoever filled the answer was somebody else. */
export class TooLarge extends Error {}
