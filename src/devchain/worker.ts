// The thread that runs the chains. Started by `startDevChains`; the messages are described in chains.ts.
import { parentPort, workerData } from 'node:worker_threads'
import { createDevChain, type DevChain, type DevChainOptions } from './chain.ts'
import type { ChainWorkerOptions, FromChainWorker, ToChainWorker } from './chains.ts'

const port = parentPort!
const { chains: options } = workerData as ChainWorkerOptions
const send = (message: FromChainWorker) => port.postMessage(message)

try {
  const chains = await openAll(options)
  port.on('message', (message: ToChainWorker) => void handle(chains, message))
  send({ kind: 'ready', chainIds: chains.map(({ chainId }) => chainId) })
} catch (error) {
  send({ kind: 'failed', error: plain(error) })
}

/** All or none: a chain left open would keep its journal open for as long as this process lives. */
async function openAll(options: readonly DevChainOptions[]): Promise<readonly DevChain[]> {
  const opened: DevChain[] = []
  try {
    for (const one of options) opened.push(await createDevChain(one))
    return opened
  } catch (error) {
    await Promise.allSettled(opened.map((chain) => chain.close()))
    throw error
  }
}

async function handle(chains: readonly DevChain[], message: ToChainWorker): Promise<void> {
  if (message.kind === 'close') {
    const closed = await Promise.allSettled(chains.map((chain) => chain.close()))
    const failure = closed.find((result) => result.status === 'rejected')
    if (failure) send({ kind: 'failed', error: plain(failure.reason) })
    // With nobody left to listen to, the thread ends.
    port.close()
    return
  }
  const { id, chain, request } = message
  try {
    send({ kind: 'result', id, result: await chains[chain]!.request(request) })
  } catch (error) {
    send({ kind: 'error', id, error: plain(error) })
  }
}

/** Errors cross the boundary as data: cloning keeps neither the class nor the code. */
function plain(error: unknown) {
  const { name, message, code, data } = error as { name: string; message: string; code?: unknown; data?: unknown }
  return { name, message, code, data }
}
