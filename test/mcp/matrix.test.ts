import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import { asFetch } from '../support/fetch-handler.ts'
import { fixtureEndpoint, fixtureHttp } from './fixture.ts'
import { officialFault } from './official-schemas.ts'
import { JSON_HEADERS, modernMeta } from './rpc.ts'

// Every way to knock at `POST /mcp`, and what is answered. The endpoint is the shop's own; its tools are fixtures.

/** `says` is the error's code, the negotiated revision, or `result`, `isError`, `empty`. */
type Case = readonly [
  what: string,
  body: unknown,
  status: number,
  says: number | string,
  headers?: Readonly<Record<string, string | undefined>>,
  method?: string,
]

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
  ["H-13: the interface's own call: initialize, Accept JSON alone", initialize(), 200, '2025-11-25'],
  [
    'Accept both types, as the SDKs send',
    initialize(),
    200,
    '2025-11-25',
    { accept: 'application/json, text/event-stream' },
  ],
  ['Accept only a stream', initialize(), 406, -32600, { accept: 'text/event-stream' }],
  ['P-04: an older revision is kept', initialize('2025-06-18'), 200, '2025-06-18'],
  ['P-04: the modern revision in a handshake gets our newest', initialize(revision), 200, '2025-11-25'],
  ['a revision named like a property of objects', initialize('__proto__'), 200, '2025-11-25'],
  ['a revision that is no string', initialize(7), 200, -32602],
]

const transport: readonly Case[] = [
  ['a body of plain text', initialize(), 415, -32600, { 'content-type': 'text/plain' }],
  ['no content type', initialize(), 415, -32600, { 'content-type': undefined }],
  ['a compressed body', initialize(), 415, -32600, { 'content-encoding': 'gzip' }],
  ['a body over the limit', { ...initialize(), x: 'a'.repeat(40_000) }, 413, -32600],
  ['GET', undefined, 405, -32600, {}, 'GET'],
  ['P-01: a foreign Origin', initialize(), 403, -32600, { origin: 'https://evil.example' }],
  ['P-01: an allowed Origin', initialize(), 200, '2025-11-25', { origin: 'https://ok.example' }],
  ["P-01: the shop's own Origin", initialize(), 200, '2025-11-25', { origin: 'http://shop.example' }],
]

const messages: readonly Case[] = [
  ['P-04: half a body', '{', 400, -32700],
  ['P-04: bytes that are not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 400, -32700],
  ['P-04: a key given twice', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32600],
  [
    'P-04: a body nested too deep',
    `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(40)}1${'}'.repeat(41)}`,
    400,
    -32600,
  ],
  ['P-04: a batch', [initialize()], 400, -32600],
  ['P-04: id with a fraction', ask('ping', {}, 1.5), 400, -32600],
  ['P-04: id beyond 2^53', '{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', 400, -32600],
  ['P-04: JSON-RPC 1.0', { ...initialize(), jsonrpc: '1.0' }, 400, -32600],
  ['P-04: params as a list', ask('tools/list', []), 400, -32602],
  ['P-04: a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, 202, 'empty'],
  ['a tool call without an id is dropped, not run', { ...call('break'), id: undefined }, 202, 'empty'],
  ['a reply to a question we never asked', { jsonrpc: '2.0', id: 1, result: {} }, 202, 'empty'],
]

const legacy: readonly Case[] = [
  ['ping', ask('ping', {}, 'p'), 200, 'result'],
  ['tools/list without a version header, as curl sends it', ask('tools/list'), 200, 'result'],
  ['tools/list with an unknown cursor', ask('tools/list', { cursor: 'x' }), 200, -32602],
  ['an unknown session id is ignored', ask('tools/list'), 200, 'result', { 'mcp-session-id': 'zzz' }],
  ['P-04: an unsupported version header', ask('tools/list'), 400, -32600, { 'mcp-protocol-version': '1999-01-01' }],
  ['P-04: an unknown method', ask('foo'), 200, -32601],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty'].map(
    (name): Case => [`a method called ${name}`, ask(name), 200, -32601],
  ),
  ['an unknown tool', call('nope'), 200, -32602],
  ['a tool called __proto__', call('__proto__'), 200, -32602],
  ['arguments as a list', call('echo', []), 200, -32602],
  ['no arguments', call('echo'), 200, 'result'],
  ['a tool that refuses', call('refuse', {}), 200, 'isError'],
  ['a tool that breaks', call('break', {}), 200, 'isError'],
  ['a resource', ask('resources/read', { uri: 'test://static-text' }), 200, 'result'],
  ['no such resource', ask('resources/read', { uri: 'test://nope' }), 200, -32002],
]

const modern: readonly Case[] = [
  ['server/discover', modernAsk('server/discover'), 200, 'result', modernHeaders('server/discover')],
  ['tools/list', modernAsk('tools/list'), 200, 'result', modernHeaders('tools/list')],
  [
    'tools/list with an unknown cursor',
    modernAsk('tools/list', { cursor: 'x' }),
    200,
    -32602,
    modernHeaders('tools/list'),
  ],
  ['no version header', modernAsk('tools/list'), 400, -32020],
  ['no Mcp-Method header', modernAsk('tools/list'), 400, -32020, { 'mcp-protocol-version': revision }],
  ['an Mcp-Method header of another method', modernAsk('tools/list'), 400, -32020, modernHeaders('tools/call')],
  ['no Mcp-Name header', modernAsk('tools/call', { name: 'echo' }), 400, -32020, modernHeaders('tools/call')],
  [
    'an Mcp-Name header of another tool',
    modernAsk('tools/call', { name: 'echo' }),
    400,
    -32020,
    modernHeaders('tools/call', 'break'),
  ],
  [
    'an Mcp-Name header in base64',
    modernAsk('tools/call', { name: 'echo' }),
    200,
    'result',
    modernHeaders('tools/call', `=?base64?${btoa('echo')}?=`),
  ],
  [
    'a revision that we do not speak',
    ask('tools/list', { _meta: { ...modernMeta(), 'io.modelcontextprotocol/protocolVersion': '2099-01-01' } }),
    400,
    -32022,
    { ...modernHeaders('tools/list'), 'mcp-protocol-version': '2099-01-01' },
  ],
  ['the header without the envelope', ask('tools/list'), 400, -32602, modernHeaders('tools/list')],
  [
    'an envelope without capabilities',
    ask('tools/list', { _meta: { 'io.modelcontextprotocol/protocolVersion': revision } }),
    400,
    -32602,
    modernHeaders('tools/list'),
  ],
  ['a method of the other era', modernAsk('ping'), 404, -32601, modernHeaders('ping')],
  ['an unknown tool', modernAsk('tools/call', { name: 'nope' }), 200, -32602, modernHeaders('tools/call', 'nope')],
  [
    'no such resource',
    modernAsk('resources/read', { uri: 'test://nope' }),
    200,
    -32602,
    modernHeaders('resources/read', 'test://nope'),
  ],
  [
    'a notification',
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1, _meta: modernMeta() } },
    202,
    'empty',
    modernHeaders('notifications/cancelled'),
  ],
]

const groups = { opening, transport, messages, 'legacy era': legacy, 'modern era': modern }

for (const [group, cases] of Object.entries(groups)) {
  describe(group, () => {
    for (const [what, body, status, says, headers = {}, method = 'POST'] of cases) {
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
