import { Worker } from 'node:worker_threads'
import type { DevChain, DevChainOptions, RpcRequest } from './chain.ts'
import { DevChainError } from './errors.ts'

/** Both chains, in one thread of their own. `close` on either closes both. */
export type DevChains = {
  readonly native: DevChain
  readonly tempo: DevChain
  close(): Promise<void>
}

/** As for a single chain, except that time is the system's: a clock cannot cross into another thread. */
export type DevChainsOptions = Omit<DevChainOptions, 'rules' | 'clock'>

export type ChainWorkerOptions = { readonly chains: readonly DevChainOptions[] }
export type ToChainWorker =
  | { readonly kind: 'request'; readonly id: number; readonly chain: number; readonly request: RpcRequest }
  | { readonly kind: 'close' }
export type FromChainWorker =
  | { readonly kind: 'ready'; readonly chainIds: readonly number[] }
  | { readonly kind: 'result'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly error: PlainError }
  /** The chains could not be opened, or not be closed in order. The thread ends next. */
  | { readonly kind: 'failed'; readonly error: PlainError }
type PlainError = { readonly name: string; readonly message: string; readonly code?: unknown; readonly data?: unknown }

/** Runs both chains in one worker thread, so that the caller's event loop never waits for the EVM. */
export async function startDevChains(options: DevChainsOptions = {}): Promise<DevChains> {
  const chains: DevChainOptions[] = [
    { ...options, rules: 'native' },
    { ...options, rules: 'tempo' },
  ]
  const worker = new Worker(new URL('./worker.ts', import.meta.url), {
    workerData: { chains } satisfies ChainWorkerOptions,
  })
  const pending = new Map<number, PromiseWithResolvers<unknown>>()
  const started = Promise.withResolvers<readonly number[]>()
  const ended = Promise.withResolvers<void>()
  let failure: Error | null = null
  let lastId = 0

  function send(message: ToChainWorker): void {
    worker.postMessage(message)
  }

  function take(id: number): PromiseWithResolvers<unknown> {
    const waiter = pending.get(id)!
    pending.delete(id)
    return waiter
  }

  worker.on('message', (message: FromChainWorker) => {
    switch (message.kind) {
      case 'ready':
        return started.resolve(message.chainIds)
      case 'result':
        return take(message.id).resolve(message.result)
      case 'error':
        return take(message.id).reject(revive(message.error))
      case 'failed':
        failure = revive(message.error)
    }
  })
  worker.on('error', (error: Error) => {
    failure = error
  })
  // The last word in every case: a failed start, a crash, a close.
  worker.on('exit', () => {
    failure ??= new DevChainError('devchain_stopped', 'The dev chains were closed.')
    started.reject(failure)
    for (const { reject } of pending.values()) reject(failure)
    pending.clear()
    if (failure instanceof DevChainError && failure.code === 'devchain_stopped') ended.resolve()
    else ended.reject(failure)
  })
  ended.promise.catch(() => {})

  function request(chain: number, request: RpcRequest): Promise<unknown> {
    if (failure) return Promise.reject(failure)
    const id = ++lastId
    const waiter = Promise.withResolvers<unknown>()
    pending.set(id, waiter)
    send({ kind: 'request', id, chain, request })
    return waiter.promise
  }

  function close(): Promise<void> {
    if (!failure) send({ kind: 'close' })
    return ended.promise
  }

  const chainIds = await started.promise
  const handle = (chain: number): DevChain => ({
    chainId: chainIds[chain]!,
    request: (message) => request(chain, message),
    close,
  })
  return { native: handle(0), tempo: handle(1), close }
}

/** An error from the other side, with everything that callers look at. */
function revive({ name, message, code, data }: PlainError): Error {
  if (name === 'DevChainError') return new DevChainError(code as DevChainError['code'], message)
  return Object.assign(new Error(message), {
    name,
    ...(code === undefined ? {} : { code }),
    ...(data === undefined ? {} : { data }),
  })
}
