import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Secret } from '../../src/base/secret.ts'

export type Delivery = {
  readonly orderId: string
  readonly playerId: string
  readonly itemId: string
  readonly quantity: number
}

/** What goes wrong between the shop and the backend, or in it. */
export type Fault =
  /** Every connection is cut. */
  | 'down'
  /** Every request is answered 500. */
  | 'error'
  /** Answers come without a signature. */
  | 'unsigned'
  /** Deliveries, and questions about them, are answered 500. */
  | 'delivery_error'
  /** The backend delivers, and the connection is cut before its answer. */
  | 'answer_lost'
  /** The connection is cut before the backend hears of the delivery. */
  | 'request_lost'
  /** The backend delivers, and its answer takes longer than anybody waits. */
  | 'slow'
  /** Every delivery is refused. */
  | 'refused'
  | 'wrong_player'
  | 'wrong_quantity'
  /** The answer is lost, and the backend later says that it does not know. */
  | 'cannot_say'
  /** The answer is lost, and a second request for the same order would deliver again. */
  | 'no_dedupe'

/** The sample backend as a real process, and a wire to it that can be broken. */
export type Studio = {
  readonly url: string
  /** The backend itself, without the wire. */
  readonly directUrl: string
  readonly secret: Secret
  fault: Fault | null
  /** Requests that reached the wire: `POST /deliveries` and so on. */
  readonly calls: readonly string[]
  /** What the game has given, read from its own file. */
  deliveries(): readonly Delivery[]
  /** Nobody listens any more, and the shop's side has noticed: every further connection is refused. */
  hangUp(): Promise<void>
  /** Undoes it, if need be. */
  listenAgain(): Promise<void>
  /** kill -9, and a new process on the same data. */
  restart(): Promise<void>
  stop(): Promise<void>
}

const SAMPLE = join(import.meta.dirname, '../../examples/studio-backend.ts')

export async function startStudio(wallet: string): Promise<Studio> {
  const secret = new Secret('a secret between a test and its studio')
  const folder = mkdtempSync(join(tmpdir(), 'sutler-studio-'))
  const file = join(folder, 'game.json')
  writeFileSync(file, JSON.stringify(gameWith(wallet)))
  const env = { ...process.env, PORT: '0', GAME_FILE: file, SUTLER_GAME_BACKEND_SECRET: secret.reveal() }

  /** It serves several tests, and ends with this process at the latest. */
  async function startBackend() {
    const child = spawn(process.execPath, [SAMPLE], { stdio: ['ignore', 'pipe', 'inherit'], env })
    process.once('exit', () => child.kill('SIGKILL'))
    const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string]
    return { child, exit: once(child, 'exit'), url: /http:\S+/.exec(line)![0] }
  }
  async function kill(): Promise<void> {
    backend.child.kill('SIGKILL')
    await backend.exit
  }
  let backend = await startBackend()

  const calls: string[] = []
  const ordersSeen = new Set<string>()
  const sign = (content: string) => `v1=${createHmac('sha256', secret.reveal()).update(content).digest('hex')}`

  async function pass(request: IncomingMessage, body: string): Promise<{ status: number; body: string }> {
    const { method = '', url = '' } = request
    const timestamp = String(Date.now())
    const signature = sign(`${timestamp}.${method}.${url}.${body}`)
    const headers = { 'sutler-timestamp': timestamp, 'sutler-signature': signature }
    const answer = await fetch(backend.url + url, { method, headers, ...(method === 'POST' ? { body } : {}) })
    return { status: answer.status, body: await answer.text() }
  }

  function reply(request: IncomingMessage, response: ServerResponse, status: number, body: string) {
    const signature = sign(`${request.headers['sutler-signature']}.${status}.${body}`)
    response.writeHead(status, studio.fault === 'unsigned' ? {} : { 'sutler-signature': signature }).end(body)
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request
    const body = await text(request)
    calls.push(`${method} ${url.replace(/ord_\w+/, '{orderId}')}`)
    const isDelivery = method === 'POST' && url === '/deliveries'
    const isQuestion = method === 'GET' && url.startsWith('/deliveries/')
    const { fault } = studio
    const fails = fault === 'error' || (fault === 'delivery_error' && (isDelivery || isQuestion))
    if (fault === 'down' || (fault === 'request_lost' && isDelivery)) return void response.destroy()
    if (fails) return void response.writeHead(500).end('oops')
    if (fault === 'cannot_say' && isQuestion)
      return reply(request, response, 200, JSON.stringify({ state: 'unknown', orderId: url.split('/')[2] }))
    if (fault === 'refused' && isDelivery)
      return reply(
        request,
        response,
        200,
        JSON.stringify({ state: 'refused', orderId: orderIn(body), reason: 'banned' }),
      )
    const answer = await pass(request, fault === 'no_dedupe' && isDelivery ? undeduped(body) : body)
    if (!isDelivery) return reply(request, response, answer.status, answer.body)
    switch (fault) {
      case 'answer_lost':
      case 'cannot_say':
      case 'no_dedupe':
        return void response.destroy()
      case 'slow':
        return
      case 'wrong_player':
        return reply(request, response, 200, JSON.stringify({ ...JSON.parse(answer.body), playerId: 'p-2' }))
      case 'wrong_quantity':
        return reply(request, response, 200, JSON.stringify({ ...JSON.parse(answer.body), quantity: 99 }))
      default:
        return reply(request, response, answer.status, answer.body)
    }
  }

  /** A backend that does not know an order again would take the second request for another one. */
  function undeduped(body: string): string {
    const order = JSON.parse(body) as Delivery
    const orderId = ordersSeen.has(order.orderId) ? `${order.orderId}x${calls.length}` : order.orderId
    ordersSeen.add(order.orderId)
    return JSON.stringify({ ...order, orderId })
  }

  const wire = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const listen = (port: number) => new Promise<void>((resolve) => wire.listen(port, '127.0.0.1', resolve))
  await listen(0)
  const { port } = wire.address() as AddressInfo
  const hangUp = async () => {
    wire.close()
    wire.closeAllConnections()
    while (!(await isRefused(`http://127.0.0.1:${port}/health`)));
  }

  const studio: Studio = {
    url: `http://127.0.0.1:${port}`,
    get directUrl() {
      return backend.url
    },
    secret,
    fault: null,
    calls,
    deliveries: () => Object.values(JSON.parse(readFileSync(file, 'utf8')).deliveries) as Delivery[],
    hangUp,
    listenAgain: async () => (wire.listening ? undefined : listen(port)),
    async restart() {
      await kill()
      backend = await startBackend()
    },
    async stop() {
      await hangUp()
      await kill()
      rmSync(folder, { recursive: true })
    },
  }
  return studio
}

const orderIn = (body: string) => (JSON.parse(body) as Delivery).orderId

async function isRefused(url: string): Promise<boolean> {
  try {
    await (await fetch(url)).body?.cancel()
    return false
  } catch (error) {
    return ((error as Error).cause as { code?: string }).code === 'ECONNREFUSED'
  }
}

function gameWith(wallet: string) {
  const item = (id: string, price: string, more: object = {}) => ({
    id,
    name: id,
    description: `${id} of the studio`,
    price,
    stock: null,
    limitPerPlayer: null,
    ...more,
  })
  return {
    players: [
      { playerId: 'p-1', nickname: 'Wren', level: 30, wallets: [wallet] },
      { playerId: 'p-2', nickname: 'Moss', level: 2, wallets: [] },
    ],
    items: [
      item('gems:100', '0.99'),
      item('airship:1', '1.00', { stock: { left: 3, delivered: 0 } }),
      item('banner:1', '0.10', { limitPerPlayer: 2 }),
    ],
    deliveries: {},
  }
}
