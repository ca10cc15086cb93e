import { createHash } from 'node:crypto'
import { privateKeyToAccount } from 'viem/accounts'
import { ANY_OPERATION, type Answers } from '../src/api/documents/answers.ts'
import type { Address } from '../src/base/address.ts'
import { isoTime, systemClock } from '../src/base/clock.ts'
import type { Hex } from '../src/base/hex.ts'
import type { Json, JsonObject } from '../src/base/json.ts'
import { parseUsd } from '../src/base/money.ts'
import { PLACEHOLDER_ADDRESS } from '../src/base/placeholder.ts'
import { createAgent, type DemoSandbox } from '../src/cli/demo-agent.ts'
import { clientOf } from '../src/rails/clients.ts'
import { type Asker, exampleBody, freeAddress, paidRequest, railOf } from '../test/documents/asking.ts'
import { type Listed, operationsOf, readJson } from '../test/documents/documents.ts'
import { filledIn, post } from '../test/support/buyers.ts'
import { until } from '../test/support/until.ts'

// What a sandbox answers to everything that its contracts tell of, asked with stock clients: the examples in the contracts.

/** Worth nothing: it is given play money and forgotten. */
const KEY: Hex = `0x${'5a'.repeat(32)}`
/** A sandbox may tell this machine of events; nobody is told in an example. */
const RECEIVER = 'http://localhost:9/webhooks'
const OPERATOR = { authorization: 'Bearer sandbox-operator' }

/** Asks all of it, of a sandbox that was never asked before. */
export async function collectAnswers({ url, dataDir }: Pick<Place, 'url' | 'dataDir'>): Promise<Answers> {
  const seen = new Map<string, Record<string, Json>>()
  const note = (operation: string, status: number, body: Json) => {
    seen.set(operation, { ...seen.get(operation), [status]: body })
  }
  const buyer = await openWallet(url)
  const asking = { url, buyer, note }
  const bought = await askPaid(asking)
  await askRefusals(asking)
  await askFree(asking, bought)
  await askSandbox(asking)
  await askOperator(asking, bought)
  const plain = createPlain({ url, dataDir, address: buyer.address })
  return Object.fromEntries(
    [...seen].map(([operation, answers]) => [
      operation,
      Object.fromEntries(Object.entries(answers).map(([status, body]) => [status, plain(shortened(body))])),
    ]),
  )
}

type Wallet = Asker & {
  readonly address: Address
  /** Signs whatever the quote of a craft action asks for. */
  readonly makeReady: (request: JsonObject) => Promise<void>
  readonly pay: Readonly<Record<'x402' | 'mpp', (url: string, init?: RequestInit) => Promise<Response>>>
}

type Asking = {
  readonly url: string
  readonly buyer: Wallet
  readonly note: (operation: string, status: number, body: Json) => void
}

/** Somebody with play money, a player, and NFTs that may be burned. */
async function openWallet(url: string): Promise<Wallet> {
  const account = privateKeyToAccount(KEY)
  const { address } = account
  const sandbox = await readJson<DemoSandbox>(`${url}/sandbox`)
  const { nfts } = (await (await fetch(`${url}/sandbox/faucet`, post({ address }))).json()) as Asker
  await fetch(`${url}/sandbox/players`, post({ nickname: 'Reader', address }))
  const agent = createAgent({ url, account, sandbox, clock: systemClock })
  const makeReady = (request: JsonObject) =>
    agent.makeReady(`${url}/craft/x402/quote`, { ...request, user: address }, () => {})
  await makeReady({ type: 'burn', nfts: nfts.map((nft) => ({ ...nft })) })
  const payWith = (rail: 'x402' | 'mpp') =>
    clientOf(rail).pay({ account, rpcUrl: sandbox.chains[rail]!.rpcUrl, max: parseUsd('1000.00') }, fetch)
  return { address, nfts, makeReady, pay: { x402: await payWith('x402'), mpp: await payWith('mpp') } }
}

/** Every paid operation, without money and with it. */
async function askPaid({ url, buyer, note }: Asking): Promise<ReadonlyMap<string, string>> {
  const bought = new Map<string, string>()
  const listed = operationsOf(await readJson(`${url}/openapi.json`))
  // Whoever accelerates must have burned something.
  for (const one of listed.toSorted((a, b) => Number(isLate(a)) - Number(isLate(b)))) {
    if (isLate(one)) await buyer.makeReady({ type: 'accelerate' })
    const request = paidRequest(one, buyer)
    const key = `${one.method} ${one.path}`
    const unpaid = await fetch(url + one.path, request)
    const required = (await unpaid.json()) as Json
    const paid = await buyer.pay[railOf(one)](url + one.path, request)
    const answer = (await paid.json()) as JsonObject & { paymentTx: string }
    if (unpaid.status !== 402 || paid.status !== 200) throw new Error(`${key} answered ${JSON.stringify(answer)}`)
    // One for each protocol is enough: they are long, and all alike.
    if (![...bought.keys()].some((path) => railOf({ ...one, path }) === railOf(one))) note(key, 402, required)
    note(key, 200, answer)
    bought.set(one.path, answer.paymentTx)
  }
  return bought
}

const isLate = ({ path }: Listed) => path.includes('accelerate')

/** One refusal of each kind that a buyer meets. */
async function askRefusals({ url, buyer, note }: Asking): Promise<void> {
  const stranger = { user: PLACEHOLDER_ADDRESS.replaceAll('1', '2') }
  const refused: readonly (readonly [number, string, RequestInit])[] = [
    [400, '/agentic/x402/buy', post({ saleId: 391 })],
    [401, '/operator/orders', {}],
    [403, '/craft/x402/accelerate', post(stranger)],
    [404, '/shop/x402/buy', post({ itemId: 'keys:5', nickname: 'nobody-at-all' })],
    [409, '/agentic/x402/buy', post({ saleId: 398, beneficiary: buyer.address })],
  ]
  for (const [status, path, request] of refused) {
    const response = await buyer.pay.x402(url + path, request)
    const body = (await response.json()) as Json
    if (response.status !== status) throw new Error(`${path} answered ${JSON.stringify(body)}`)
    note(ANY_OPERATION, status, body)
  }
}

async function askFree({ url, note }: Asking, bought: ReadonlyMap<string, string>): Promise<void> {
  for (const listed of operationsOf(await readJson(`${url}/openapi.full.json`))) {
    const { method, path } = listed
    const request = method === 'POST' ? post(exampleBody(listed)) : {}
    note(`${method} ${path}`, 200, await bodyOf(await fetch(url + freeAddress(listed, bought), request)))
  }
}

/** JSON as it is, and of a text how it begins. */
async function bodyOf(response: Response): Promise<Json> {
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.url} answered ${text}`)
  if (response.headers.get('content-type')!.split(';')[0]!.endsWith('json')) return JSON.parse(text) as Json
  // Of figures, which differ from run to run, only what they are.
  const lines = text.split('\n').filter((line) => !text.startsWith('# HELP') || line.startsWith('#'))
  return `${lines.slice(0, 6).join('\n').slice(0, 400)}\n…\n`
}

async function askSandbox({ url, buyer, note }: Asking): Promise<void> {
  const { address } = buyer
  const block = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }
  const item = { itemId: 'lantern:1', nickname: 'Reader' }
  const unpaid = await fetch(`${url}/shop/x402/buy`, post(item))
  const headers = { 'payment-required': unpaid.headers.get('payment-required')! }
  const challenge = { headers, body: '' }
  const bodies: Readonly<Record<string, JsonObject>> = {
    '/sandbox/faucet': { address },
    '/sandbox/practice': { deed: 'chain_up', chainId: 84532 },
    '/sandbox/players': { nickname: 'Another', address: filledIn(PLACEHOLDER_ADDRESS) },
    '/sandbox/wallet': { url: `${url}/shop/x402/buy`, method: 'POST', body: JSON.stringify(item), challenge },
  }
  for (const { method, path } of operationsOf(await readJson(`${url}/openapi.sandbox.json`))) {
    const request = method === 'POST' ? post(path.includes('/rpc/') ? block : (bodies[path] ?? {})) : {}
    note(`${method} ${path}`, 200, await bodyOf(await fetch(url + path, request)))
  }
}

/** What an operator looks at, and what they change without touching money. */
async function askOperator({ url, note }: Asking, bought: ReadonlyMap<string, string>): Promise<void> {
  const ask = async (method: string, path: string, address: string, body?: JsonObject) => {
    const init = body ? post(body, OPERATOR) : { method, headers: OPERATOR }
    const response = await fetch(url + address, init)
    const answer = await bodyOf(response)
    note(`${method} ${path}`, response.status, answer)
    return answer as JsonObject
  }
  const [order] = bought.values()
  const hook = { url: RECEIVER, description: 'The books' }
  const { id } = await ask('POST', '/operator/webhooks', '/operator/webhooks', hook)
  await ask('POST', '/operator/webhooks/{id}/disable', `/operator/webhooks/${id}/disable`, { reason: 'Moving house' })
  const ids: Readonly<Record<string, string>> = { orders: order!, webhooks: String(id) }
  await fetch(`${url}/operator/reconcile`, { method: 'POST', headers: OPERATOR })
  // Nobody learns anything from an answer that a shop gives before its first look around.
  await until(async () => {
    const { wallets } = await readJson<{ wallets: unknown[] }>(`${url}/operator/wallets`, OPERATOR)
    return wallets.length > 0
  })
  for (const { method, path } of operationsOf(await readJson(`${url}/openapi.operator.json`, OPERATOR))) {
    const noun = path.split('/')[2] ?? ''
    if (method !== 'GET' || (path.includes('{') && !ids[noun])) continue
    await ask(method, path, path.replace(/\{\w+\}/, ids[noun] ?? '')).catch(() => {})
  }
}

const LIST_MAX = 3
const LIST_SHOWN = 2
const TEXT_MAX = 400

/** Long lists, contracts inside contracts and long texts are told by their beginning. */
function shortened(value: Json): Json {
  if (typeof value === 'string') {
    // Receipts and payments: JSON that was encoded.
    const isEncoded = value.length > 100 && /^eyJ[\w.=+/-]+$/.test(value)
    return isEncoded ? `${value.slice(0, 27)}…` : value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value
  }
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return (value.length > LIST_MAX ? value.slice(0, LIST_SHOWN) : value).map(shortened)
  if ('openapi' in value && 'info' in value)
    return { openapi: value['openapi']!, info: { title: (value['info'] as JsonObject)['title']! } }
  if ('about' in value && 'x402' in value) return { about: value['about']! }
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, shortened(member)]))
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}

const AT = '2026-01-01T12:00:00.000Z'

type Place = { readonly url: string; readonly dataDir: string; readonly address: Address }

/** What differs between two runs, made the same: origin, folder, moments, and whatever was drawn by lot. Nobody's wallet is shown. */
function createPlain({ url, dataDir, address }: Place): (value: Json) => Json {
  const drawn = new Map<string, string>()
  /** The first that is seen is always told by the same letters, and the second, and so on. */
  const same = (text: string, tell: (digest: string) => string) => {
    const told = drawn.get(text) ?? tell(createHash('sha256').update(`drawn by lot: ${drawn.size}`).digest('hex'))
    drawn.set(text, told)
    return told
  }
  const rules: readonly (readonly [RegExp, (text: string) => string])[] = [
    [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, () => AT],
    [new RegExp(address, 'gi'), () => PLACEHOLDER_ADDRESS],
    [/0x0{32}c0ffee00/gi, () => PLACEHOLDER_ADDRESS],
    [/0x[0-9a-f]{64}(?![0-9a-f])/g, (text) => same(text, (digest) => `0x${digest}`)],
    [/0x[0-9a-f]{130}(?![0-9a-f])/g, (text) => same(text, (digest) => `0x${digest}${digest}1b`)],
    [/(?<![0-9a-fx])[0-9a-f]{64}(?![0-9a-f])/g, (text) => same(text, (digest) => digest)],
    [/\b[a-z]{3}_[\w-]{43}(?![\w-])/g, (text) => `${text.slice(0, 4)}…`],
    [new RegExp(isoTime(systemClock.now()).slice(0, 10), 'g'), () => AT.slice(0, 10)],
    [/\bevt_[0-9a-f]{32}\b/g, (text) => same(text, (digest) => `evt_${digest.slice(0, 32)}`)],
    [
      /\b[a-z]{2,6}_[0-9a-hjkmnp-tv-z]{26}\b/g,
      (text) => same(text, (digest) => `${text.split('_')[0]}_${digest.slice(0, 26)}`),
    ],
  ]
  const names: readonly (readonly [string, string])[] = [
    [dataDir, './data'],
    [url, 'https://shop.example'],
    [RECEIVER, 'https://receiver.example/webhooks'],
    ['localhost/sutler', 'example.shop/sutler'],
    ['localhost', 'shop.example'],
  ]
  return (value) => {
    const text = rules.reduce((told, [pattern, tell]) => told.replaceAll(pattern, tell), JSON.stringify(value))
    const named = names.reduce((told, [name, example]) => told.replaceAll(name, example), text)
    return JSON.parse(named, steady) as Json
  }
}

/** Members that are counted or drawn, by name. */
function steady(name: string, value: Json): Json {
  if (name === 'claim') return 'q1w2e3r4t5y6u7i8'
  if (name === 'challengeId') return 'kM9xPq2wjwrCBdUO4C2MrpEcmm-GDeBQzhAfWZw3JPI'
  if (name === 'secret') return 'whsec_…'
  if (/^(latency|p\d+)Ms$/.test(name)) return 42
  if (name === 'daysLeft' && value !== null) return 1_000
  if (name === 'asOfBlock') return '28'
  if (name === 'validBefore') return '1767269100'
  return value
}
