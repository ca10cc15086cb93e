import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as z from 'zod'
import { problemSchema } from '../../src/api/http/problem-body.ts'
import type { Route } from '../../src/domain/route.ts'
import { seedLots } from '../../src/sandbox/goods.ts'
import { openWire, type RawAnswer, type Wire } from '../http/wire.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { edited, mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { type Dice, diceOf } from './random.ts'
import { type Known, mangled, mutated, type Schema, sampleOf } from './values.ts'

// Requests made from the schemas of the route table, then bent: values, structure, bytes, headers, queries, paths. Whatever comes in, an
// answer of a known shape goes out. TEST_FUZZ=1000000 for a long run, TEST_SEED to have one again.

const INPUTS = Number(process.env['TEST_FUZZ'] ?? 1_000)
const SEED = Number(process.env['TEST_SEED'] ?? randomInt(2 ** 31))
const CONNECTIONS = 8

let shop: TestShop
let known: Known
/** Payments that were made for one request each; every other use of them must be refused. */
let payments: { readonly x402: string; readonly mpp: string }

before(async () => {
  // The same payments are shown again and again, and every time somebody shall look at them.
  shop = await startShop({
    configure: (config) => ({ ...config, limits: { ...config.limits, replaysPerPayment: 1_000_000 } }),
  })
  const buyer = await fundedWallet(shop)
  const lot = { saleId: 392, beneficiary: buyer.address }
  const pay = async (rail: typeof x402UnderTest) =>
    rail.pay(shop, buyer, await fetch(`${shop.url}/agentic/${rail.rail}/buy`, post(lot)))
  payments = { x402: await pay(x402UnderTest), mpp: await pay(mppPullUnderTest) }
  known = {
    saleId: seedLots.map(({ saleId }) => saleId),
    itemId: ['keys:5'],
    nickname: ['Demo'],
    user: [buyer.address],
    address: [buyer.address],
    beneficiary: [buyer.address],
    contract: shop.world.contracts.collections,
  }
})
after(() => shop.stop())

type Target = {
  readonly kind: Route['kind'] | 'operator' | 'mcp'
  readonly route: Route | null
  readonly method: string
  readonly path: string
  readonly body: Schema | null
  readonly query: Schema | null
}

const schemaOf = (schema: z.ZodType | null): Schema | null =>
  schema && (z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema)

function targets(): readonly Target[] {
  const { routes, operatorRoutes } = shop.service
  return [
    ...routes.map((route) => ({
      kind: route.kind,
      route,
      method: route.method,
      path: route.path,
      body: schemaOf(route.body),
      query: route.kind === 'free' ? schemaOf(route.query) : null,
    })),
    ...operatorRoutes.map(({ method, path, body, query }) => ({
      kind: 'operator' as const,
      route: null,
      method,
      path,
      body: schemaOf(body),
      query: schemaOf(query),
    })),
    { kind: 'mcp', route: null, method: 'POST', path: '/mcp', body: rpcSchema(), query: null },
  ]
}

function rpcSchema(): Schema {
  const tools = ['buy_nft', 'get_catalog', 'quote_nft', 'nothing', 'craft_quote', 'get_payment']
  const call = {
    type: 'object',
    properties: { name: { enum: tools }, arguments: { type: 'object' }, _meta: { type: 'object' } },
    required: ['name'],
  }
  const hello = {
    type: 'object',
    properties: {
      protocolVersion: { enum: ['2025-11-25', '2024-11-05', '1'] },
      capabilities: { type: 'object' },
      clientInfo: { type: 'object' },
    },
    required: ['protocolVersion', 'capabilities'],
  }
  return {
    type: 'object',
    properties: {
      jsonrpc: { const: '2.0' },
      id: { type: 'integer' },
      method: {
        enum: ['initialize', 'tools/list', 'tools/call', 'ping', 'resources/list', 'resources/read', 'nothing'],
      },
      params: { anyOf: [call, hello, { type: 'object' }] },
    },
    required: ['jsonrpc', 'id', 'method'],
  }
}

type Shot = { readonly target: Target; readonly bytes: Buffer }

function shoot(target: Target, dice: Dice): Shot {
  const method = dice.chance(0.03) ? dice.pick(['PUT', 'DELETE', 'GET', 'POST', 'PATCH']) : target.method
  const body = method === 'GET' && dice.chance(0.9) ? null : bodyOf(target, dice)
  const lines = [
    `${method} ${pathOf(target, dice)}${searchOf(target, dice)} HTTP/1.1`,
    `Host: ${new URL(shop.url).host}`,
    ...headersOf(target, dice),
    ...(body === null ? [] : [`Content-Length: ${body.length}`]),
  ]
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
  return { target, bytes: body === null ? head : Buffer.concat([head, body]) }
}

function bodyOf({ body }: Target, dice: Dice): Buffer {
  let value = sampleOf(body ?? { type: 'object', properties: { a: { type: 'string' } } }, known, dice)
  if (dice.chance(0.85)) value = mutated(value, dice)
  const bytes = Buffer.from(JSON.stringify(value) ?? '')
  return dice.chance(0.3) ? mangled(bytes, dice) : bytes
}

function pathOf({ path }: Target, dice: Dice): string {
  const parameter = () =>
    dice.pick([
      'nothing',
      `0x${'ab'.repeat(32)}`,
      '%',
      '%00',
      '%F0%9F%98%80',
      '..',
      `${'x'.repeat(300)}`,
      "'%20or%201=1",
      '%2F',
      'ord_x',
      '*',
    ])
  const filled = path.replace(/\{\w+\}/g, parameter)
  return dice.chance(0.03) ? filled + dice.pick(['/', '//', '%2e', ';x', '\\']) : filled
}

function searchOf({ query }: Target, dice: Dice): string {
  if (query === null && dice.chance(0.9)) return ''
  const value = query ? sampleOf(query, known, dice) : {}
  const entries = Object.entries((dice.chance(0.85) ? mutated(value, dice) : value) ?? {})
  const text = entries.map(
    ([name, item]) => `${escaped(name)}=${escaped(typeof item === 'string' ? item : (JSON.stringify(item) ?? ''))}`,
  )
  if (dice.chance(0.1)) text.push(dice.pick(['a', '=', '&&', 'x=%', 'x=%zz', '__proto__=1', 'a=1&a=2']))
  // The header block has 16 KiB in all.
  return `?${text.join('&')}`.slice(0, 6_000)
}

function escaped(text: string): string {
  return encodeURIComponent(text.toWellFormed()).slice(0, 3_000)
}

const TYPES = ['application/json', 'application/json; charset=utf-8', 'text/plain', 'application/xml', '']
const ACCEPTS = ['*/*', 'application/json', 'text/html', 'application/json, text/event-stream', ';;;', 'a/b;q=x']

function headersOf({ kind }: Target, dice: Dice): readonly string[] {
  const lines = [`Content-Type: ${dice.chance(0.95) ? TYPES[0] : dice.pick(TYPES)}`]
  if (kind === 'operator') {
    const token = dice.chance(0.95) ? shop.config.operatorToken!.reveal() : 'guessed'
    return [...lines, `Authorization: Bearer ${token}`]
  }
  if (dice.chance(0.3)) lines.push(`Accept: ${dice.chance(0.8) ? 'application/json' : dice.pick(ACCEPTS)}`)
  if (dice.chance(0.1))
    lines.push(`Idempotency-Key: ${dice.pick(['12345678', 'x', 'é', 'a b c d e f', 'x'.repeat(200)])}`)
  if (dice.chance(0.1)) lines.push(`X-Flow-Id: ${dice.pick(['mine', '<b>', 'x'.repeat(200)])}`)
  if (dice.chance(0.05)) lines.push(`Origin: ${dice.pick(['https://a.example', 'null', ''])}`)
  if (dice.chance(0.15)) lines.push(`PAYMENT-SIGNATURE: ${credentialOf(payments.x402, dice)}`)
  if (dice.chance(0.15)) lines.push(`Authorization: ${credentialOf(payments.mpp, dice)}`)
  if (dice.chance(0.02)) lines.push(`Authorization: ${dice.pick(['Bearer x', 'Payment', 'Basic YTpi'])}`)
  return lines
}

/** Bent in its meaning, or in its letters. Line breaks would end the header, so there are none. */
function credentialOf(credential: string, dice: Dice): string {
  const bent = dice.chance(0.6)
    ? edited(credential, (value) => mutated(value, dice) ?? {})
    : mangled(Buffer.from(credential), dice).toString('latin1')
  return bent.replace(/[\r\n\0]/g, '').slice(0, 9_000)
}

function check({ target, bytes }: Shot, answer: RawAnswer): void {
  const { status, headers, body } = answer
  const told = () => `${bytes.toString('latin1').slice(0, 600)}\n→ ${status} ${body.slice(0, 400)}`
  assert.ok(status < 500, told())
  if (body === '') assert.ok([202, 204, 304].includes(status), told())
  else if (isPage(answer))
    assert.match(bytes.toString('latin1'), /^GET .*Accept: text\/html|^GET \/(docs|errors)?[ ?]/s, told())
  else if (headers.get('content-type') !== 'application/json')
    assert.ok(mayBe(target, headers.get('content-type')), told())
  else checkJson(target, answer, JSON.parse(body), told)
}

/** What a person gets, under a policy that lets nothing in. */
function isPage({ headers, body }: RawAnswer): boolean {
  return (
    headers.get('content-type') === 'text/html; charset=utf-8' &&
    body.startsWith('<!doctype html>') &&
    headers.get('content-security-policy')!.startsWith("default-src 'none'")
  )
}

/** Documents for people, and figures for the operator, are not JSON. */
function mayBe({ path, route }: Target, contentType: string | undefined): boolean {
  if (path === '/metrics') return contentType === 'text/plain; version=0.0.4; charset=utf-8'
  if (
    /^\/operator\/(orders|money|audit|transfers|players|webhooks\/[^/]+\/deliveries)$/.test(path) &&
    contentType === 'text/csv; charset=utf-8'
  )
    return true
  return route?.kind === 'free' && route.contentType === contentType
}

function checkJson(
  target: Target,
  { status, headers }: RawAnswer,
  body: Record<string, unknown>,
  told: () => string,
): void {
  if (target.kind === 'mcp' && !('code' in body)) {
    assert.equal(body['jsonrpc'], '2.0', told())
  } else if (status >= 400) {
    assert.ok(problemSchema().safeParse(body).success, told())
    assert.equal(body['status'], status, told())
    assert.equal(headers.get('cache-control'), 'no-store', told())
    if (status === 402) assert.ok(headers.has('payment-required') || headers.has('www-authenticate'), told())
  } else if (status === 200 && target.route?.result) {
    assert.ok(target.route.result.safeParse(body).success, told())
  }
}

/** Heap that is really in use. */
function heapMegabytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  return process.memoryUsage().heapUsed / 2 ** 20
}

/** Each is met some ten times among a thousand inputs, at the least. */
const MET = ['paid 400', 'paid 402', 'free 200', 'free 400', 'free 404', 'operator 200', 'operator 400', 'mcp 200']

test(`whatever comes in, an answer of a known shape goes out (${INPUTS} inputs, seed ${SEED})`, {
  timeout: 600_000 + 3 * INPUTS,
}, async () => {
  const all = targets()
  // Rows that take nothing from the caller have little to be fuzzed, and some of them ask the chain much.
  const open = all.filter(({ body, query, path }) => body || query || path.includes('{'))
  // There are far more routes of operators than of MCP: every second input asks for the kind first.
  const kinds = [...Map.groupBy(open, ({ kind }) => kind).values()]
  const seen = new Map<string, number>()
  let next = 0
  let heapAtQuarter = 0

  async function work(): Promise<void> {
    let wire: Wire | null = null
    while (next < INPUTS) {
      const index = next++
      if (index === INPUTS >> 2) heapAtQuarter = heapMegabytes()
      // Each input has dice of its own, so that it is the same whatever the others do.
      const dice = diceOf(SEED + index * 7919)
      const some = dice.chance(0.5) ? open : dice.pick(kinds)
      const shot = shoot(dice.pick(dice.chance(0.02) ? all : some), dice)
      wire ??= openWire(shop)
      wire.write(shot.bytes)
      const answer: RawAnswer = await wire.next()
      check(shot, answer)
      const key = `${shot.target.kind} ${answer.status}`
      seen.set(key, (seen.get(key) ?? 0) + 1)
      if (answer.headers.get('connection') === 'close') wire = null
    }
    wire?.socket.destroy()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, work))

  console.log(`seed ${SEED}:`, Object.fromEntries([...seen].sort()))
  for (const met of MET) assert.ok(seen.has(met), `no input led to ${met}`)
  const growth = heapMegabytes() - heapAtQuarter
  assert.ok(growth < 24, `the heap grew by ${growth.toFixed(1)} MiB`)
})
