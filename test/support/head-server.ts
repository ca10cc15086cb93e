import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { DevChain } from '../../src/devchain/chain.ts'

/** A node that tells of new blocks over WebSocket, by the stock server that most of them are built with. */
export type HeadServer = {
  readonly url: string
  /** What it was asked, by method. */
  readonly asked: readonly string[]
  /** How many listen now. */
  listeners(): number
  /** How many have ever called. */
  calls(): number
  /** Tells all that listen of the newest block of a chain. Resolves when they have taken it. */
  announce(chain: Pick<DevChain, 'request'>): Promise<void>
  /** Says anything at all to all that listen, and resolves when they have taken it, or hung up. */
  say(...texts: readonly string[]): Promise<void>
  /** From now on it reads nothing, and so answers nothing, and keeps every connection. Returns how to go on. */
  stall(): () => void
  /** Hangs up on everybody, without a word. */
  drop(): void
  close(): Promise<void>
}

type RpcQuestion = { readonly id: number; readonly method: string; readonly params: readonly unknown[] }
/** Undefined: it says nothing. */
type RpcAnswer = (question: Pick<RpcQuestion, 'method'>) => object | undefined

const SUBSCRIPTION = '0x9cef478923ff08bf67fde6c64013158d'

/** Answers as a node of that chain does, unless told otherwise. */
export async function startHeadServer(chainId: number, answer = answersOf(chainId), port = 0): Promise<HeadServer> {
  const server = new WebSocketServer({ host: '127.0.0.1', port, perMessageDeflate: true })
  const asked: string[] = []
  let calls = 0
  server.on('connection', (socket) => {
    calls++
    socket.on('error', () => {})
    socket.on('message', (data) => {
      const question = JSON.parse(String(data)) as RpcQuestion
      asked.push(question.method)
      const said = answer(question)
      if (said) socket.send(JSON.stringify({ jsonrpc: '2.0', id: question.id, ...said }))
    })
  })
  await once(server, 'listening')

  /** What was sent before a ping has been taken when its answer comes. */
  async function say(...texts: readonly string[]): Promise<void> {
    await Promise.all(
      [...server.clients].map((socket) => {
        const taken = new Promise<void>((resolve) => {
          const done = () => {
            socket.off('pong', done).off('close', done)
            resolve()
          }
          socket.on('pong', done).on('close', done)
        })
        for (const text of texts) socket.send(text)
        socket.ping()
        return taken
      }),
    )
  }

  function drop(): void {
    for (const socket of server.clients) socket.terminate()
  }

  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    listeners: () => server.clients.size,
    calls: () => calls,
    say,
    async announce(chain) {
      const result = await chain.request({ method: 'eth_getBlockByNumber', params: ['latest', false] })
      await say(headMessage(result))
    },
    stall() {
      for (const socket of server.clients) socket.pause()
      return () => {
        for (const socket of server.clients) socket.resume()
      }
    },
    drop,
    close() {
      drop()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

export function headMessage(result: unknown): string {
  const params = { subscription: SUBSCRIPTION, result }
  return JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params })
}

/** What a node says that will tell of new blocks. */
export function answersOf(chainId: number): RpcAnswer {
  return ({ method }) => {
    if (method === 'eth_chainId') return { result: `0x${chainId.toString(16)}` }
    return method === 'eth_subscribe' ? { result: SUBSCRIPTION } : { error: { code: -32601, message: 'unknown' } }
  }
}
