import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// What the machine-readable contracts say of the interface, word for word.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

type Schema = {
  readonly type?: string
  readonly const?: string
  readonly pattern?: string
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly minItems?: number
  readonly maxItems?: number
  readonly default?: unknown
  readonly additionalProperties?: boolean
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly $ref?: string
}
type Answer = { readonly content?: Readonly<Record<string, unknown>>; readonly $ref?: string }
type Operation = {
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly 'x-payment-info': {
    readonly price: unknown
    readonly atomic: string
    readonly rateLimited: boolean
    readonly protocols: readonly { readonly mpp?: unknown; readonly x402?: unknown }[]
    readonly [term: string]: unknown
  }
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } }
  readonly responses: Readonly<Record<string, Answer>>
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
}
type Contract = {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, object>>
    readonly responses: Readonly<Record<string, Answer>>
  }
  readonly webhooks?: object
}

const read = async (path: string): Promise<Contract> => (await (await fetch(shop.url + path)).json()) as Contract
const bodyOf = ({ requestBody }: Operation): Schema => requestBody!.content['application/json'].schema
const keysOf = ({ paths }: Contract) =>
  Object.entries(paths).flatMap(([path, on]) => Object.keys(on).map((method) => `${method.toUpperCase()} ${path}`))

test('openapi.json holds exactly the paid routes, openapi.full.json reads, quotes, status and discovery', async () => {
  verifies('1.10', '9.1', '9.2', '9.5')
  const [payable, full] = [await read('/openapi.json'), await read('/openapi.full.json')]
  for (const { openapi, info } of [payable, full]) assert.deepEqual([openapi, info.version], ['3.1.0', '1.1.0'])
  assert.deepEqual(keysOf(payable).sort(), [
    'GET /x402/cheap-health',
    'POST /agentic/mpp/buy',
    'POST /agentic/x402/buy',
    'POST /craft/mpp/accelerate',
    'POST /craft/mpp/burn',
    'POST /craft/x402/accelerate',
    'POST /craft/x402/burn',
    'POST /shop/mpp/buy',
    'POST /shop/mpp/player-lookup',
    'POST /shop/x402/buy',
    'POST /x402/report-tx',
  ])
  const free = new Set(keysOf(full))
  for (const key of [
    'GET /catalog',
    'GET /craft/mpp/config',
    'POST /craft/mpp/quote',
    'GET /craft/mpp/actions/{paymentTx}',
    'GET /openapi.json',
  ])
    assert.ok(free.has(key), key)
  for (const path of [...Object.keys(payable.paths), ...Object.keys(full.paths)])
    assert.doesNotMatch(path, /\/v\d/, 'a path carries no version')
})

test('a host of its own serves the routes of its own protocol, and its contract names them; x402 craft is on both', async () => {
  verifies('1.10', '4.1.8', '4.3.12', 'D1.2')
  const hosts = { mpp: 'mpp.shop.test', x402: 'x402.shop.test' }
  const two = await startShop({
    env: { SUTLER_BASE_URL: `http://${hosts.mpp}`, SUTLER_X402_BASE_URL: `http://${hosts.x402}` },
  })
  try {
    for (const [protocol, host] of Object.entries(hosts)) {
      const contract = JSON.parse((await ask(two, host, 'GET', '/openapi.json')).text) as Contract
      const named = new Set(Object.keys(contract.paths))
      for (const [path, on] of Object.entries((await read('/openapi.json')).paths)) {
        const [method] = Object.keys(on)
        const isHere = path.includes(`/${protocol}/`) || (protocol === 'mpp' && path.startsWith('/craft/x402/'))
        const { status } = await ask(two, host, method!.toUpperCase(), path)
        assert.deepEqual([host, path, status, named.has(path)], [host, path, isHere ? 402 : 404, isHere])
      }
    }
  } finally {
    await two.stop()
  }
})

/** As a proxy asks: fetch does not let its caller choose the Host. */
function ask({ service }: TestShop, host: string, method: string, path: string) {
  const { port } = new URL(service.url)
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path, headers: { host } }, async (response) => {
      const text = Buffer.concat((await response.toArray()) as Buffer[]).toString()
      resolve({ status: response.statusCode!, text })
    })
      .on('error', reject)
      .end()
  })
}

test('the MPP credential is declared as an API key in the header Authorization; free routes declare none', async () => {
  verifies('5.2.2', '5.3')
  const [payable, full] = [await read('/openapi.json'), await read('/openapi.full.json')]
  const { mpp } = payable.components.securitySchemes
  assert.deepEqual({ ...mpp, type: 'apiKey', in: 'header', name: 'Authorization' }, mpp)
  for (const action of ['burn', 'accelerate'])
    assert.deepEqual(payable.paths[`/craft/mpp/${action}`]!['post']!.security, [{ mpp: [] }, {}])
  for (const [path, method] of [
    ['/craft/mpp/config', 'get'],
    ['/craft/mpp/quote', 'post'],
    ['/craft/mpp/actions/{paymentTx}', 'get'],
  ] as const)
    assert.deepEqual(full.paths[path]![method]!.security ?? [], [])
})

test('the payment terms of the MPP craft routes are the interface’s, in the contract and in the config', async () => {
  verifies(
    '4.3.1',
    '4.3.2',
    '4.3.10',
    '5.4.1',
    '5.4.2',
    '5.4.3',
    '5.4.4',
    '5.4.5',
    '5.4.6',
    '5.4.7',
    '5.4.8',
    '5.4.9',
    '9.1',
  )
  const { currency, recipient } = shop.config.mpp!
  const terms = {
    method: 'tempo/charge',
    intent: 'purchase',
    network: 'tempo:42431',
    currency: currency.address,
    recipient,
  }
  const around = {
    price: { mode: 'fixed', currency: 'USD', amount: '0.001' },
    authMode: 'paid',
    retryHeader: 'Authorization: Payment',
    retryBodyMode: 'reuse_original_json',
    recommendedClient: 'mppx',
    atomic: '1000',
  }
  const { paths } = await read('/openapi.json')
  for (const action of ['burn', 'accelerate']) {
    const info = paths[`/craft/mpp/${action}`]!['post']!['x-payment-info']
    assert.deepEqual({ ...info, ...around }, info)
    assert.deepEqual(info.protocols, [{ mpp: terms }])
  }
  const response = await fetch(`${shop.url}/craft/mpp/config`)
  assert.equal(response.status, 200)
  const config = (await response.json()) as { version: string; payment: object }
  assert.equal(config.version, '1.1.0')
  assert.deepEqual({ ...config.payment, ...terms, price: around.price, authMode: 'paid' }, config.payment)
})

test('every paid row says its price, its atomic amount and whether it is rate limited', async () => {
  verifies('4.1.5', '4.2.1', '4.2.2', '4.2.6', '8.2', '8.3', '8.4', '8.5')
  const { paths } = await read('/openapi.json')
  for (const [path, amount, atomic, isLimited] of [
    ['/x402/cheap-health', '0.001', '1000', true],
    ['/x402/report-tx', '0.001', '1000', false],
    ['/craft/mpp/burn', '0.001', '1000', true],
    ['/craft/mpp/accelerate', '0.001', '1000', true],
    ['/craft/x402/burn', '0.001', '1000', true],
    ['/craft/x402/accelerate', '0.001', '1000', true],
    ['/shop/mpp/player-lookup', '0.02', '20000', true],
  ] as const) {
    const [operation] = Object.values(paths[path]!)
    const info = operation!['x-payment-info']
    assert.deepEqual(info.price, { mode: 'fixed', currency: 'USD', amount }, path)
    assert.deepEqual([info.atomic, info.rateLimited], [atomic, isLimited], path)
  }
})

const ADDRESS = '^0x[0-9a-fA-F]{40}$'

test('the request schemas print the patterns and bounds of the interface', async () => {
  verifies(
    '2.4.1',
    '2.4.2',
    '2.4.3',
    '2.4.4',
    '2.5.2',
    '2.5.3',
    '2.5.4',
    '2.5.5',
    '2.5.6',
    '2.6.2',
    '2.6.3',
    '2.6.4',
    '8.1',
  )
  const { paths } = await read('/openapi.json')
  const schemaOf = (path: string) => bodyOf(paths[path]!['post']!)
  const report = schemaOf('/x402/report-tx')
  assert.deepEqual([report.required, report.additionalProperties], [['userId', 'txHash'], false])
  assert.deepEqual(
    [report.properties!['userId']!.type, report.properties!['txHash']!.pattern],
    ['string', '^0x[0-9a-fA-F]{64}$'],
  )
  for (const protocol of ['mpp', 'x402']) {
    const burn = schemaOf(`/craft/${protocol}/burn`)
    assert.deepEqual([burn.required, burn.additionalProperties], [['user', 'nfts'], false])
    const { user, nfts } = burn.properties!
    assert.deepEqual([user!.pattern, nfts!.minItems, nfts!.maxItems], [ADDRESS, 1, 20])
    const nft = nfts!.items!
    assert.deepEqual([nft.required, nft.additionalProperties], [['contract', 'tokenId'], false])
    assert.deepEqual([nft.properties!['contract']!.pattern, nft.properties!['tokenId']!.pattern], [ADDRESS, '^\\d+$'])
    const accelerate = schemaOf(`/craft/${protocol}/accelerate`)
    assert.deepEqual([accelerate.required, accelerate.additionalProperties], [['user'], false])
    assert.deepEqual(
      [accelerate.properties!['user']!.pattern, accelerate.properties!['amount']!.pattern],
      [ADDRESS, '^[1-9]\\d*$'],
    )
  }
})

test('the quote schema is exactly one of two variants, each with its own constant type', async () => {
  verifies('2.5.1', '2.6.1', '2.6.5')
  const { paths } = await read('/openapi.full.json')
  const { oneOf = [] } = bodyOf(paths['/craft/mpp/quote']!['post']!)
  assert.deepEqual(
    oneOf.map(({ properties }) => properties!['type']!.const),
    ['burn', 'accelerate'],
  )
  for (const { required, additionalProperties } of oneOf)
    assert.deepEqual([required?.includes('type'), additionalProperties], [true, false])
})

test('the craft rows list the statuses of the interface, and the path parameter of the status is required', async () => {
  verifies('2.7.1', '4.3.3', '4.3.4', '4.3.5', '4.3.6')
  const [payable, full] = [await read('/openapi.json'), await read('/openapi.full.json')]
  for (const [operation, statuses] of [
    [payable.paths['/craft/mpp/burn']!['post']!, ['200', '202', '402', '403', '409']],
    [payable.paths['/craft/mpp/accelerate']!['post']!, ['200', '202', '402', '403', '409']],
    [full.paths['/craft/mpp/config']!['get']!, ['200']],
    [full.paths['/craft/mpp/quote']!['post']!, ['200', '400']],
    [full.paths['/craft/mpp/actions/{paymentTx}']!['get']!, ['200', '202', '404']],
  ] as const)
    for (const status of statuses) assert.ok(operation.responses[status], status)
  const [parameter] = full.paths['/craft/mpp/actions/{paymentTx}']!['get']!.parameters!.filter(
    ({ in: at }) => at === 'path',
  )
  assert.deepEqual([parameter!.name, parameter!.required], ['paymentTx', true])
})

test('bodies are application/json in every paid row, sent and answered', async () => {
  verifies('2.4.3', '4.0')
  const { paths, components } = await read('/openapi.json')
  const resolved = (answer: Answer) => (answer.$ref ? components.responses[answer.$ref.split('/').at(-1)!]! : answer)
  for (const [path, on] of Object.entries(paths)) {
    for (const { requestBody, responses } of Object.values(on)) {
      if (requestBody) assert.deepEqual(Object.keys(requestBody.content), ['application/json'], path)
      for (const { content = {} } of [responses['200']!, responses['402']!].map(resolved))
        assert.deepEqual(Object.keys(content), ['application/json'], path)
    }
  }
  const report = await fetch(`${shop.url}/x402/report-tx`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify({ userId: 'u', txHash: `0x${'ab'.repeat(32)}` }),
  })
  assert.equal(report.status, 415)
  assert.equal(report.headers.get('content-type'), 'application/json')
})

test('the contract describes the events that webhooks carry', async () => {
  verifies('6.1')
  const { webhooks = {} } = await read('/openapi.full.json')
  for (const kind of ['order.created', 'payment.settled', 'order.confirmed', 'refund.completed'])
    assert.ok(kind in webhooks, kind)
})

test('the JSON-RPC endpoint takes the interface’s own initialize call', async () => {
  verifies('1.8', '4.4.1', '4.4.2', '4.4.3', '4.4.4', '4.4.5', '4.4.6', '4.4.7', '4.4.8', '9.4')
  type Rpc = { jsonrpc: string; id: unknown; result?: { protocolVersion: string }; error?: { code: number } }
  const call = async (message: object): Promise<Rpc> => {
    const response = await fetch(`${shop.config.http.x402BaseUrl}/mcp`, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(message),
    })
    assert.equal(response.headers.get('content-type'), 'application/json')
    return (await response.json()) as Rpc
  }
  const clientInfo = { name: 'an agent', version: '1.0.0' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const hello = { jsonrpc: '2.0', id: 7, method: 'initialize', params }
  const { jsonrpc, id, result } = await call(hello)
  assert.deepEqual([jsonrpc, id, result?.protocolVersion], ['2.0', 7, '2025-11-25'])
  for (const [what, message] of Object.entries({
    'another version of JSON-RPC': { ...hello, jsonrpc: '1.0' },
    'an id that is an object': { ...hello, id: {} },
    'another method': { ...hello, method: 'initialise' },
    'a protocolVersion that is no string': { ...hello, params: { ...params, protocolVersion: 1 } },
    'capabilities that are no object': { ...hello, params: { ...params, capabilities: 'none' } },
    'a client name that is no string': { ...hello, params: { ...params, clientInfo: { ...clientInfo, name: 7 } } },
    'a client version that is no string': {
      ...hello,
      params: { ...params, clientInfo: { ...clientInfo, version: 1 } },
    },
  })) {
    const { error } = await call(message)
    assert.ok(error && error.code <= -32600, what)
  }
})
