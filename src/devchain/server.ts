import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isFixedName, isLocalOrigin } from '../base/own-names.ts'
import { answerRpc } from './answer.ts'
import type { DevChain } from './chain.ts'

export type RpcServer = {
  /** Where the only chain answers; of several, append the chain id: `${url}/84532`. */
  readonly url: string
  close(): Promise<void>
}

const BODY_BYTES_MAX = 5_000_000
/** As long as nodes and their proxies do. Whoever is closed on while they ask does not know whether they were heard. */
const KEEP_ALIVE_MS = 65_000

/** Serves one chain at every path, or several, each at `/<chain id>`, as JSON-RPC over HTTP. For development only: whoever is no web page from elsewhere may do anything. */
export async function serveRpc(
  chains: DevChain | readonly DevChain[],
  { host = '127.0.0.1', port = 0 }: { readonly host?: string; readonly port?: number } = {},
): Promise<RpcServer> {
  const chainAt = (path: string): DevChain | undefined =>
    isMany(chains) ? chains.find(({ chainId }) => path === `/${chainId}`) : chains

  const server = createServer((request, response) => {
    const { host: name = 'localhost', origin = 'http://localhost' } = request.headers
    if (!isFixedName(name)) return void response.writeHead(421).end()
    if (!isLocalOrigin(origin)) return void response.writeHead(403).end()
    response.setHeader('access-control-allow-origin', '*')
    response.setHeader('access-control-allow-headers', '*')
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    if (request.method !== 'POST') return void response.writeHead(405, { allow: 'POST, OPTIONS' }).end()
    const chain = chainAt(new URL(request.url ?? '/', 'http://rpc').pathname)
    if (!chain) return void response.writeHead(404).end()
    // A lost answer, a caller that hung up in mid-sentence: either way nobody is left to answer.
    answer(chain, request, response).catch(() => response.destroy())
  })

  server.keepAliveTimeout = KEEP_ALIVE_MS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, resolve)
  })
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(chain: DevChain, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request)
  if (body === null) return void response.writeHead(413, { connection: 'close' }).end(() => response.destroy())
  const text = await answerRpc(chain, body)
  response.writeHead(text === '' ? 204 : 200, { 'content-type': 'application/json' }).end(text)
}

/** Null when it is too long. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop must not break the connection: the refusal still has to go out.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > BODY_BYTES_MAX) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function isMany(chains: DevChain | readonly DevChain[]): chains is readonly DevChain[] {
  return Array.isArray(chains)
}
