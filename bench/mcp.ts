// What one MCP request costs a server in CPU time, over HTTP: the shop's own endpoint on its own server, a bare Hono handler that answers
// the same bytes, and a server made with the official SDK v1 the stateless way, all with the same fifteen tools, each in a process of its
// own. Figures of one run are comparable; absolute ones are the machine's.
//   node bench/mcp.ts [--requests=500] [--rounds=7]
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseArgs } from 'node:util'
import { serve } from '@hono/node-server'
import { McpServer as SdkServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import { Hono } from 'hono'
import * as z from 'zod'
import { startServer } from '../src/api/http/server.ts'
import { createMcpEndpoint } from '../src/api/mcp/endpoint.ts'
import { inputSchemaOf, listingOf } from '../src/api/mcp/listing.ts'
import { createProblemResults } from '../src/api/mcp/problem-result.ts'
import { text } from '../src/api/mcp/server.ts'
import { systemRandom } from '../src/base/id.ts'
import { silentLog } from '../src/base/log.ts'
import { defaultLimits } from '../src/config/limits.ts'
import type { ToolDescription } from '../src/domain/tool-description.ts'
import { toolTexts as craftFaces } from '../src/surfaces/craft/tools.ts'
import { toolTexts as gatewayFaces } from '../src/surfaces/gateway/tools.ts'
import { toolTexts as saleFaces } from '../src/surfaces/sale/tools.ts'
import { toolTexts as shopFaces } from '../src/surfaces/shop/tools.ts'
import { median } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'

const names = ['bare Hono', 'Sutler', 'SDK v1'] as const
const methods = ['initialize', 'tools/list', 'tools/call'] as const
type Name = (typeof names)[number]
type Method = (typeof methods)[number]

const TIMES_BARE_MAX = 1.7
const TIMES_CHEAPER_MIN = 6
const CONNECTIONS = 8
/** The SDK is so much slower that fewer requests tell as much. */
const SDK_SHARE = 1 / 5

export async function benchMcp({ requests = 500, rounds = 7 } = {}): Promise<Report> {
  const servers = await Promise.all(names.map(startChild))
  const samples = new Map<string, number[]>()
  try {
    for (let round = 0; round <= rounds; round++) {
      // Interleaved, so that a neighbour's burst of work falls on all of them. The first round warms up.
      for (const method of methods) {
        for (const server of servers) {
          const count = Math.ceil(server.name === 'SDK v1' ? requests * SDK_SHARE : requests)
          const micros = await cpuMicrosPerRequest(server, method, count)
          const key = `${server.name} ${method}`
          if (round > 0) samples.set(key, [...(samples.get(key) ?? []), micros])
        }
      }
    }
  } finally {
    for (const { child } of servers) child.kill()
  }
  const of = (name: Name, method: Method) => samples.get(`${name} ${method}`)!
  const ratio = (a: Name, b: Name) => median(of(a, 'tools/list').map((micros, i) => micros / of(b, 'tools/list')[i]!))
  return {
    title: 'MCP',
    figures: names.flatMap((name) =>
      methods.map((method) => ({ what: `${name} ${method}`, value: median(of(name, method)), unit: 'µs of CPU' })),
    ),
    ratios: [
      { what: 'Sutler tools/list : bare Hono', value: ratio('Sutler', 'bare Hono'), atMost: TIMES_BARE_MAX },
      { what: 'SDK v1 tools/list : Sutler', value: ratio('SDK v1', 'Sutler'), atLeast: TIMES_CHEAPER_MIN },
    ],
  }
}

type Child = { readonly name: Name; readonly port: number; readonly child: ChildProcess }

async function startChild(name: Name): Promise<Child> {
  const child = fork(import.meta.filename, ['--serve', name])
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  return { name, port, child }
}

async function cpuMicrosPerRequest({ port, child }: Child, method: Method, requests: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const before = await cpuMicros(child)
  let left = requests
  const caller = async () => {
    while (left-- > 0) await post(agent, port, bodies[method])
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, caller))
  const after = await cpuMicros(child)
  agent.destroy()
  return (after - before) / requests
}

async function cpuMicros(child: ChildProcess): Promise<number> {
  child.send('cpu')
  const [{ cpu }] = (await once(child, 'message')) as [{ cpu: number }]
  return cpu
}

function post(agent: Agent, port: number, body: string): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    accept: 'application/json, text/event-stream',
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, port, host: '127.0.0.1', path: '/mcp', method: 'POST', headers }, (incoming) => {
      incoming.resume()
      if (incoming.statusCode !== 200) reject(new Error(`answered ${incoming.statusCode}`))
      incoming.once('end', resolve)
    })
    outgoing.once('error', reject).end(body)
  })
}

const shape = {
  saleId: z.int().min(0).describe('Identifier from the active sale catalog'),
  quantity: z.int().min(1).max(100).default(1).describe('Number of NFTs to mint from the sale'),
  beneficiary: z
    .string()
    .regex(/^0x[0-9a-fA-F]{40}$/)
    .describe('EVM wallet address that receives the minted NFTs'),
}
const toolTexts = [saleFaces, shopFaces, craftFaces, gatewayFaces].flatMap((one): ToolDescription[] =>
  Object.values(one),
)
const tools = [...toolTexts, saleFaces.quoteSaleLot, saleFaces.buySaleLot].map((face, index) => ({
  ...face,
  name: `${face.name}_${index}`,
}))

const params: Readonly<Record<Method, object>> = {
  initialize: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
  'tools/list': {},
  'tools/call': {
    name: tools[0]!.name,
    arguments: { saleId: 392, beneficiary: '0x000000000000000000000000000000000000dEaD' },
  },
}
const bodies = Object.fromEntries(
  methods.map((method) => [method, JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params[method] })]),
) as Readonly<Record<Method, string>>

const input = z.strictObject(shape)
const listings = tools.map((face) => listingOf(face, { inputSchema: inputSchemaOf(input) }))

/** Each starts its server and tells the port. */
const starters: Readonly<Record<Name, () => Promise<number>>> = {
  async Sutler() {
    const http = {
      host: '127.0.0.1',
      port: 0,
      baseUrl: 'http://shop.example',
      x402BaseUrl: 'http://shop.example',
      proxyHops: 0,
      isForThisMachine: false,
      mcpOrigins: [],
    }
    const endpoint = createMcpEndpoint({
      server: {
        info: { name: 'bench', title: 'Bench', version: '1' },
        instructions: 'Bench.',
        tools: listings.map((listing) => ({
          name: listing.name,
          listing: () => listing,
          call: async (given) => ({ content: [text(JSON.stringify(input.parse(given)))] }),
        })),
        resources: [],
        templates: [],
        prompts: [],
        capabilities: { legacy: {}, modern: {} },
      },
      // The port is not known yet, so the check of the Host header, one look into a set, is left to the public form.
      http: { ...http, host: '0.0.0.0' },
      bodyBytesMax: defaultLimits.bodyBytesMax,
      count: () => {},
      problemResult: createProblemResults('http://shop.example/errors', systemRandom),
      log: silentLog,
    })
    const app = {
      answer: (asked: Parameters<typeof endpoint>[0]) => endpoint(asked, {}),
      isVital: () => false,
      refusal: () => ({ status: 503, headers: {}, body: null }),
    }
    return (await startServer({ app, http, limits: defaultLimits, log: silentLog, onTurnedAway() {} })).port
  },

  async 'bare Hono'() {
    const app = new Hono()
    const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { tools: listings } })
    app.post('/mcp', async (c) => {
      await c.req.json()
      return c.body(answer, 200, { 'Content-Type': 'application/json' })
    })
    return portOf(app)
  },

  /** As the SDK's own documentation makes a stateless server: a fresh one for every request, or answers cross between clients. */
  async 'SDK v1'() {
    const app = new Hono()
    app.all('/mcp', async (c) => {
      const server = new SdkServer({ name: 'bench', version: '1' })
      for (const { name, title, description } of tools)
        server.registerTool(name, { title, description, inputSchema: shape }, async (given) => ({
          content: [{ type: 'text', text: JSON.stringify(given) }],
        }))
      const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
      await server.connect(transport)
      return transport.handleRequest(c.req.raw)
    })
    return portOf(app)
  },
}

async function portOf(app: Hono): Promise<number> {
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { serve: { type: 'string' } }, strict: false })
  if (typeof values.serve === 'string') {
    process.on('message', () => {
      const { user, system } = process.cpuUsage()
      process.send!({ cpu: user + system })
    })
    process.send!({ port: await starters[values.serve as Name]() })
  } else report([await benchMcp(numbersOf(process.argv.slice(2), ['requests', 'rounds']))])
}
