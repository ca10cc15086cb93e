import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { asFetch } from '../support/fetch-handler.ts'
import { fixtureEndpoint, fixtureHttp } from './fixture.ts'
import { officialFault } from './official-schemas.ts'
import { JSON_HEADERS, modernMeta } from './rpc.ts'

// Every way to knock at `POST /mcp`, and what is answered. The endpoint is the shop's own; its tools are fixtures.

type Case = {
  readonly what: string
  readonly method?: string
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly status: number
  /** The error's code, the negotiated revision, or `result`, `isError`, `empty`. */
  readonly says: number | string
}

const answer = asFetch(fixtureEndpoint(fixtureHttp))

const initialize = (protocolVersion: unknown = '2025-11-25') => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'a', version: '1' } },
})
const ask = (method: string, params?: unknown, id: unknown = 1) => ({ jsonrpc: '2.0', id, method, params })
const call = (name: unknown, input?: unknown) => ask('tools/call', { name, arguments: input })

const revision = '2026-07-28'
const modernHeaders = (method: string, name?: string) => ({
  'mcp-protocol-version': revision,
  'mcp-method': method,
  ...(name === undefined ? {} : { 'mcp-name': name }),
})
const modernAsk = (method: string, params: object = {}) => ask(method, { ...params, _meta: modernMeta() })

const opening: readonly Case[] = [
  {
    what: "H-13: the interface's own call: initialize, Accept JSON alone",
    body: initialize(),
    status: 200,
    says: '2025-11-25',
  },
  { what: 'no Accept header', body: initialize(), headers: { accept: undefined }, status: 200, says: '2025-11-25' },
  { what: 'Accept */*', body: initialize(), headers: { accept: '*/*' }, status: 200, says: '2025-11-25' },
  {
    what: 'Accept both types, as the SDKs send',
    body: initialize(),
    headers: { accept: 'application/json, text/event-stream' },
    status: 200,
    says: '2025-11-25',
  },
  {
    what: 'Accept only a stream',
    body: initialize(),
    headers: { accept: 'text/event-stream' },
    status: 406,
    says: -32600,
  },
  { what: 'Accept only HTML', body: initialize(), headers: { accept: 'text/html' }, status: 406, says: -32600 },
  { what: 'P-04: an older revision is kept', body: initialize('2025-06-18'), status: 200, says: '2025-06-18' },
  { what: 'P-04: the oldest revision is kept', body: initialize('2025-03-26'), status: 200, says: '2025-03-26' },
  { what: 'P-04: an unknown revision gets our newest', body: initialize('1.0.0'), status: 200, says: '2025-11-25' },
  {
    what: 'P-04: the modern revision in a handshake gets our newest',
    body: initialize(revision),
    status: 200,
    says: '2025-11-25',
  },
  {
    what: 'a revision named like a property of objects',
    body: initialize('__proto__'),
    status: 200,
    says: '2025-11-25',
  },
  { what: 'a revision that is no string', body: initialize(7), status: 200, says: -32602 },
]

const transport: readonly Case[] = [
  {
    what: 'a body of plain text',
    body: initialize(),
    headers: { 'content-type': 'text/plain' },
    status: 415,
    says: -32600,
  },
  { what: 'no content type', body: initialize(), headers: { 'content-type': undefined }, status: 415, says: -32600 },
  { what: 'a compressed body', body: initialize(), headers: { 'content-encoding': 'gzip' }, status: 415, says: -32600 },
  { what: 'a body over the limit', body: { ...initialize(), x: 'a'.repeat(40_000) }, status: 413, says: -32600 },
  { what: 'GET', method: 'GET', body: undefined, status: 405, says: -32600 },
  { what: 'DELETE', method: 'DELETE', body: undefined, status: 405, says: -32600 },
  { what: 'PUT', method: 'PUT', body: initialize(), status: 405, says: -32600 },
  {
    what: 'P-01: a foreign Origin',
    body: initialize(),
    headers: { origin: 'https://evil.example' },
    status: 403,
    says: -32600,
  },
  { what: 'P-01: Origin null', body: initialize(), headers: { origin: 'null' }, status: 403, says: -32600 },
  {
    what: 'P-01: an allowed Origin',
    body: initialize(),
    headers: { origin: 'https://ok.example' },
    status: 200,
    says: '2025-11-25',
  },
  {
    what: "P-01: the shop's own Origin",
    body: initialize(),
    headers: { origin: 'http://shop.example' },
    status: 200,
    says: '2025-11-25',
  },
]

const messages: readonly Case[] = [
  { what: 'P-04: half a body', body: '{', status: 400, says: -32700 },
  { what: 'P-04: an empty body', body: '', status: 400, says: -32700 },
  { what: 'P-04: bytes that are not UTF-8', body: new Uint8Array([0x7b, 0xff, 0x7d]), status: 400, says: -32700 },
  {
    what: 'P-04: a key given twice',
    body: '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    status: 400,
    says: -32600,
  },
  {
    what: 'P-04: a body nested too deep',
    body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(40)}1${'}'.repeat(41)}`,
    status: 400,
    says: -32600,
  },
  { what: 'P-04: a batch', body: [initialize()], status: 400, says: -32600 },
  { what: 'P-04: an empty batch', body: [], status: 400, says: -32600 },
  { what: 'P-04: no object', body: 7, status: 400, says: -32600 },
  { what: 'P-04: id null', body: ask('ping', {}, null), status: 400, says: -32600 },
  { what: 'P-04: id with a fraction', body: ask('ping', {}, 1.5), status: 400, says: -32600 },
  {
    what: 'P-04: id beyond 2^53',
    body: '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}',
    status: 400,
    says: -32600,
  },
  { what: 'P-04: id that is an object', body: ask('ping', {}, {}), status: 400, says: -32600 },
  { what: 'P-04: JSON-RPC 1.0', body: { ...initialize(), jsonrpc: '1.0' }, status: 400, says: -32600 },
  { what: 'P-04: no method', body: { jsonrpc: '2.0', id: 1 }, status: 400, says: -32600 },
  { what: 'P-04: params as a list', body: ask('tools/list', []), status: 400, says: -32602 },
  {
    what: 'P-04: a notification',
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
    status: 202,
    says: 'empty',
  },
  {
    what: 'P-04: a cancellation',
    body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    status: 202,
    says: 'empty',
  },
  {
    what: 'a tool call without an id is dropped, not run',
    body: { ...call('break'), id: undefined },
    status: 202,
    says: 'empty',
  },
  {
    what: 'a reply to a question we never asked',
    body: { jsonrpc: '2.0', id: 1, result: {} },
    status: 202,
    says: 'empty',
  },
]

const legacy: readonly Case[] = [
  { what: 'ping', body: ask('ping', {}, 'p'), status: 200, says: 'result' },
  {
    what: 'tools/list without a version header, as curl sends it',
    body: ask('tools/list'),
    status: 200,
    says: 'result',
  },
  { what: 'tools/list with an unknown cursor', body: ask('tools/list', { cursor: 'x' }), status: 200, says: -32602 },
  {
    what: 'an unknown session id is ignored',
    body: ask('tools/list'),
    headers: { 'mcp-session-id': 'zzz' },
    status: 200,
    says: 'result',
  },
  {
    what: 'P-04: an unsupported version header',
    body: ask('tools/list'),
    headers: { 'mcp-protocol-version': '1999-01-01' },
    status: 400,
    says: -32600,
  },
  { what: 'P-04: an unknown method', body: ask('foo'), status: 200, says: -32601 },
  { what: 'a method of features we do not declare', body: ask('prompts/list'), status: 200, says: -32601 },
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map((name) => ({
    what: `a method called ${name}`,
    body: ask(name),
    status: 200,
    says: -32601,
  })),
  { what: 'an unknown tool', body: call('nope'), status: 200, says: -32602 },
  { what: 'a tool called __proto__', body: call('__proto__'), status: 200, says: -32602 },
  { what: 'a tool without a name', body: call(undefined), status: 200, says: -32602 },
  { what: 'arguments as a list', body: call('echo', []), status: 200, says: -32602 },
  { what: 'no arguments', body: call('echo'), status: 200, says: 'result' },
  { what: 'a tool that refuses', body: call('refuse', {}), status: 200, says: 'isError' },
  { what: 'a tool that breaks', body: call('break', {}), status: 200, says: 'isError' },
  { what: 'a resource', body: ask('resources/read', { uri: 'test://static-text' }), status: 200, says: 'result' },
  { what: 'no such resource', body: ask('resources/read', { uri: 'test://nope' }), status: 200, says: -32002 },
  { what: 'a resource without an address', body: ask('resources/read'), status: 200, says: -32002 },
]

const modern: readonly Case[] = [
  {
    what: 'server/discover',
    body: modernAsk('server/discover'),
    headers: modernHeaders('server/discover'),
    status: 200,
    says: 'result',
  },
  {
    what: 'tools/list',
    body: modernAsk('tools/list'),
    headers: modernHeaders('tools/list'),
    status: 200,
    says: 'result',
  },
  {
    what: 'tools/list with an unknown cursor',
    body: modernAsk('tools/list', { cursor: 'x' }),
    headers: modernHeaders('tools/list'),
    status: 200,
    says: -32602,
  },
  { what: 'no version header', body: modernAsk('tools/list'), status: 400, says: -32020 },
  {
    what: 'no Mcp-Method header',
    body: modernAsk('tools/list'),
    headers: { 'mcp-protocol-version': revision },
    status: 400,
    says: -32020,
  },
  {
    what: 'an Mcp-Method header of another method',
    body: modernAsk('tools/list'),
    headers: modernHeaders('tools/call'),
    status: 400,
    says: -32020,
  },
  {
    what: 'no Mcp-Name header',
    body: modernAsk('tools/call', { name: 'echo' }),
    headers: modernHeaders('tools/call'),
    status: 400,
    says: -32020,
  },
  {
    what: 'an Mcp-Name header of another tool',
    body: modernAsk('tools/call', { name: 'echo' }),
    headers: modernHeaders('tools/call', 'break'),
    status: 400,
    says: -32020,
  },
  {
    what: 'an Mcp-Name header in base64',
    body: modernAsk('tools/call', { name: 'echo' }),
    headers: modernHeaders('tools/call', `=?base64?${btoa('echo')}?=`),
    status: 200,
    says: 'result',
  },
  {
    what: 'a revision that we do not speak',
    body: ask('tools/list', { _meta: { ...modernMeta(), 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }),
    headers: { ...modernHeaders('tools/list'), 'mcp-protocol-version': '2099-01-01' },
    status: 400,
    says: -32022,
  },
  {
    what: 'the header without the envelope',
    body: ask('tools/list'),
    headers: modernHeaders('tools/list'),
    status: 400,
    says: -32602,
  },
  {
    what: 'a later header without the envelope',
    body: ask('tools/list'),
    headers: { 'mcp-protocol-version': '2027-01-01' },
    status: 400,
    says: -32602,
  },
  {
    what: 'an envelope without capabilities',
    body: ask('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': revision } }),
    headers: modernHeaders('tools/list'),
    status: 400,
    says: -32602,
  },
  {
    what: 'a method of the other era',
    body: modernAsk('ping'),
    headers: modernHeaders('ping'),
    status: 404,
    says: -32601,
  },
  {
    what: 'a method called constructor',
    body: modernAsk('constructor'),
    headers: modernHeaders('constructor'),
    status: 404,
    says: -32601,
  },
  {
    what: 'an unknown tool',
    body: modernAsk('tools/call', { name: 'nope' }),
    headers: modernHeaders('tools/call', 'nope'),
    status: 200,
    says: -32602,
  },
  {
    what: 'no such resource',
    body: modernAsk('resources/read', { uri: 'test://nope' }),
    headers: modernHeaders('resources/read', 'test://nope'),
    status: 200,
    says: -32602,
  },
  {
    what: 'a notification',
    body: { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: modernMeta() } },
    headers: modernHeaders('notifications/cancelled'),
    status: 202,
    says: 'empty',
  },
]

const groups = { opening, transport, messages, 'legacy era': legacy, 'modern era': modern }

for (const [group, cases] of Object.entries(groups)) {
  describe(group, () => {
    for (const { what, method = 'POST', body, headers = {}, status, says } of cases) {
      test(`${what}: ${status}, ${says}`, async () => {
        const sent = Object.entries({ ...JSON_HEADERS, ...headers }).filter(
          (entry): entry is [string, string] => entry[1] !== undefined,
        )
        const response = await answer(
          new Request('http://shop.example/mcp', {
            method,
            headers: sent,
            ...(body === undefined ? {} : { body: bytesOf(body) }),
          }),
        )
        assert.equal(response.status, status)
        assert.equal(gist(await response.text()), says)
      })
    }
  })
}

test('P-04: whatever is thrown at it, the answer is a message of the protocol and never a fault of ours', async () => {
  const method = fc.constantFrom(
    'initialize',
    'ping',
    'tools/list',
    'tools/call',
    'resources/read',
    'server/discover',
    'x',
  )
  const tool = fc.constantFrom('echo', 'refuse', 'test_simple_text', 'nope', '__proto__')
  const meta = fc.oneof(fc.constant(modernMeta()), fc.object(), fc.jsonValue())
  const params = fc.oneof(
    fc.record(
      { name: tool, arguments: fc.jsonValue(), uri: fc.string(), cursor: fc.string(), _meta: meta },
      { requiredKeys: [] },
    ),
    fc.jsonValue(),
  )
  const message = fc.oneof(
    fc.record(
      { jsonrpc: fc.constant('2.0'), id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue()), method, params },
      { requiredKeys: ['jsonrpc'] },
    ),
    fc.jsonValue(),
  )
  const headers = fc.record(
    {
      'mcp-protocol-version': fc.constantFrom('2025-11-25', revision, '1999-01-01', 'x'),
      'mcp-method': method,
      'mcp-name': tool,
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(message, headers, async (body, headers) => {
      const sent = { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) }
      const response = await answer(new Request('http://shop.example/mcp', sent))
      assert.ok([200, 202, 400, 404].includes(response.status), `${response.status}`)
      if (response.status === 202) return
      const said = await response.json()
      const definition = 'error' in (said as object) ? 'JSONRPCErrorResponse' : 'JSONRPCResultResponse'
      assert.equal(officialFault('2025-11-25', definition, said), null)
    }),
    { numRuns: 500 },
  )
})

function bytesOf(body: unknown): Uint8Array<ArrayBuffer> {
  if (body instanceof Uint8Array) return new Uint8Array(body)
  return new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))
}

function gist(text: string): number | string {
  if (text === '') return 'empty'
  const { error, result } = JSON.parse(text)
  return error?.code ?? result.protocolVersion ?? (result.isError ? 'isError' : 'result')
}
