import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Message = {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: { readonly type: string; readonly timestamp: string; readonly data: Record<string, unknown> }
}

export type Receiver = {
  readonly url: string
  /** Everything that arrived, in its order, whatever was answered. */
  readonly messages: readonly Message[]
  /** What was answered with 200. */
  readonly taken: readonly Message[]
  /** So many different ones. */
  distinct(): number
  stop(): Promise<void>
}

/** The status to answer with; null: never answer. */
export type Answer = (
  message: Message,
  count: number,
) => number | null | { status: number; body: string; location?: string }

/** Somebody's webhook receiver, on this machine. */
export async function startReceiver(answer: Answer = () => 200): Promise<Receiver> {
  const messages: Message[] = []
  const taken: Message[] = []
  const ids = new Set<string>()
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const message = {
      id: String(incoming.headers['webhook-id']),
      headers: incoming.headers,
      body,
      event: JSON.parse(body),
    }
    messages.push(message)
    const said = answer(message, messages.length)
    if (said === null) return
    const {
      status,
      body: text,
      location,
    } = typeof said === 'number' ? { status: said, body: '', location: undefined } : said
    if (status === 200) {
      taken.push(message)
      ids.add(message.id)
    }
    outgoing.writeHead(status, location ? { location } : {}).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/hook`,
    messages,
    taken,
    distinct: () => ids.size,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
