import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { requestOf } from '../../src/api/http/request.ts'
import { send } from '../../src/api/http/send.ts'
import type { McpEndpoint } from '../../src/api/mcp/endpoint.ts'
import { createMcpEndpoint } from '../../src/api/mcp/endpoint.ts'
import { createProblemResults } from '../../src/api/mcp/problem-result.ts'
import { McpError } from '../../src/api/mcp/protocol.ts'
import { type McpServer, type McpTool, type ToolCall, type ToolResult, text } from '../../src/api/mcp/server.ts'
import { systemRandom } from '../../src/base/id.ts'
import type { JsonObject } from '../../src/base/json.ts'
import { silentLog } from '../../src/base/log.ts'
import { Problem } from '../../src/base/problem.ts'
import type { HttpConfig } from '../../src/config/config.ts'

// The tools and resources that the official conformance suites call by name, on the very core that the shop runs on. They exist in
// tests only.

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='
const SILENCE = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const image = { type: 'image', data: PIXEL, mimeType: 'image/png' }
const embedded = (uri: string) => ({
  type: 'resource',
  resource: { uri, mimeType: 'text/plain', text: 'This is an embedded resource content.' },
})

function tool(
  name: string,
  call: (input: JsonObject, call: ToolCall) => ToolResult | Promise<ToolResult>,
  inputSchema: JsonObject = { type: 'object', properties: {} },
): McpTool {
  return {
    name,
    listing: () => ({ name, description: `Fixture ${name}`, inputSchema }),
    call: async (input, context) => call(input, context),
  }
}

const says =
  (...content: NonNullable<ToolResult['content']>) =>
  (): ToolResult => ({ content })

const SCHEMA_2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

const tools: readonly McpTool[] = [
  tool('test_simple_text', says(text('This is a simple text response for testing.'))),
  tool('test_image_content', says(image)),
  tool('test_audio_content', says({ type: 'audio', data: SILENCE, mimeType: 'audio/wav' })),
  tool('test_embedded_resource', says(embedded('test://embedded-resource'))),
  tool(
    'test_multiple_content_types',
    says(text('Multiple content types test:'), image, embedded('test://mixed-content-resource')),
  ),
  tool('test_error_handling', () => ({
    content: [text('This tool intentionally returns an error for testing')],
    isError: true,
  })),
  tool('json_schema_2020_12_tool', says(text('ok')), SCHEMA_2020),
  tool('test_missing_capability', (_input, { clientCapabilities }) => {
    if (clientCapabilities['sampling'] === undefined)
      throw new McpError(-32021, 'Missing required client capability', {
        status: 400,
        data: { requiredCapabilities: { sampling: {} } },
      })
    return { content: [text('ok')] }
  }),
  // Made to tempt a server into speaking out of turn; a server that only ever answers does not.
  tool('test_streaming_elicitation', says(text('ok'))),
  tool('test_logging_tool', says(text('ok'))),
  tool('echo', (input) => ({ content: [text(JSON.stringify(input))] })),
  tool('refuse', () => {
    throw new Problem('item_unavailable', 'Lot 398 is sold out; nothing was taken.')
  }),
  tool('break', () => {
    throw new Error('a detail that nobody outside may see')
  }),
]

export const fixtureServer: McpServer = {
  info: { name: 'fixture', title: 'Fixture', version: '1.0.0' },
  instructions: 'A fixture.',
  tools,
  resources: [
    {
      listing: { uri: 'test://static-text', name: 'static-text', mimeType: 'text/plain' },
      read: async () => ({ text: 'This is the content of the static text resource.' }),
    },
    {
      listing: { uri: 'test://static-binary', name: 'static-binary', mimeType: 'image/png' },
      read: async () => ({ blob: PIXEL }),
    },
  ],
  templates: [],
  prompts: [],
  capabilities: { legacy: {}, modern: {} },
}

export const fixtureHttp: HttpConfig = {
  host: '0.0.0.0',
  port: 0,
  baseUrl: 'http://shop.example',
  x402BaseUrl: 'http://shop.example',
  proxyHops: 0,
  isForThisMachine: false,
  mcpOrigins: ['https://ok.example'],
}

export function fixtureEndpoint(http: HttpConfig, log = silentLog): McpEndpoint {
  const problemResult = createProblemResults('http://shop.example/errors', systemRandom)
  const count = () => {}
  return createMcpEndpoint({ server: fixtureServer, http, bodyBytesMax: 32 * 1024, count, problemResult, log })
}

/** The fixture on a loopback port of its own. */
export async function startFixture(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const stopping = new AbortController()
  const server = createServer(async (incoming, outgoing) => {
    const exchange = { incoming, outgoing, peer: 'unknown', isExcess: false, onGone() {} }
    await send(exchange, await endpoint(requestOf(incoming), {}), stopping.signal)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const baseUrl = `http://localhost:${port}`
  const endpoint = fixtureEndpoint({ ...fixtureHttp, host: '127.0.0.1', port, baseUrl, x402BaseUrl: baseUrl })
  return {
    url: `${baseUrl}/mcp`,
    async stop() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
