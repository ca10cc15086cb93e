import type { RpcRequest, RpcTransport } from '../../src/chain/transport.ts'

/** Stands between a shop and its chains, and changes what passes as long as a test wants it to. */
export type Meddler = {
  wrap(chainId: number, transport: RpcTransport): RpcTransport
  /** From now on these calls are answered by `answer`, which may ask whoever meddled before it, and in the end the chain. Returns how to stop. */
  meddle(method: string, answer: Answer): () => void
  /** Every request of this method that passed, meddled with or not. */
  seen(method: string): readonly RpcRequest[]
}

/** What it returns is the `result` the shop sees. Throwing is silence, throwing `Refused` the node's no. */
export type Answer = (params: readonly string[], ask: () => Promise<unknown>, chainId: number) => unknown

export function createMeddler(): Meddler {
  const answers: { readonly method: string; readonly answer: Answer }[] = []
  const requests: RpcRequest[] = []
  return {
    wrap: (chainId, transport) => async (request) => {
      requests.push(request)
      const atWork = answers.filter(({ method }) => method === request.method)
      if (atWork.length === 0) return transport(request)
      const askChain = async (): Promise<unknown> => {
        const answer = (await transport(request)) as { result?: unknown; error?: { message: string } }
        if (answer.error) throw new Refused(answer.error)
        return answer.result
      }
      const answered = atWork.reduce(
        (ask, { answer }) =>
          async () =>
            answer(request.params as readonly string[], ask, chainId),
        askChain,
      )
      try {
        return { result: await answered() }
      } catch (error) {
        if (error instanceof Refused) return { error: error.error }
        throw error
      }
    },
    meddle(method, answer) {
      const entry = { method, answer }
      answers.push(entry)
      return () => void answers.splice(answers.indexOf(entry), 1)
    },
    seen: (method) => requests.filter((request) => request.method === method),
  }
}

/** What a node says no with. */
export class Refused extends Error {
  readonly error: { readonly message: string; readonly code?: number; readonly data?: unknown }
  constructor(error: Refused['error']) {
    super(error.message)
    this.error = error
  }
}
