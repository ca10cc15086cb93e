// A shop under mixed traffic for a long time: what it sells, how long answers take, and whether its memory stays where it was.
//   node bench/soak.ts [--minutes=1] [--rate=100]
// Of a hundred calls 62 ask for a price, 18 read documents, 10 speak MCP, 3 are the operator's, 2 are broken, and 5 pay.
import assert from 'node:assert/strict'
import { isFinal } from '../src/domain/order.ts'
import type { RailUnderTest } from '../test/support/credentials.ts'
import { mppPullUnderTest, x402UnderTest } from '../test/support/credentials.ts'
import { freePort } from '../test/support/free-port.ts'
import { onServer, type TestDatabase } from '../test/support/postgres.ts'
import { untilAnswered } from '../test/support/until.ts'
import type { Measured } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'
import { openStage, type Stage } from './stage.ts'

const JSON_TYPE = { 'content-type': 'application/json', accept: 'application/json' }
const OPERATOR = { authorization: 'Bearer sandbox-operator' }
const LOT = { saleId: 392, beneficiary: '0x000000000000000000000000000000000000dEaD' }
/** More are never under way: a shop that falls behind is not buried. */
const OPEN_MAX = 300
/** Looks at its memory, over the whole time. */
const LOOKS = 40

type Call = {
  readonly path: string
  readonly init?: RequestInit
  readonly expects: number
  readonly rail?: RailUnderTest
}

const post = (body: unknown): RequestInit => ({ method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) })
const get = (path: string, expects = 200, headers: HeadersInit = {}): Call => ({ path, expects, init: { headers } })

const price = [
  get('/x402/cheap-health', 402),
  { path: '/agentic/x402/buy', init: post(LOT), expects: 402 },
  { path: '/agentic/mpp/buy', init: post(LOT), expects: 402 },
]
const read = ['/catalog', '/openapi.json', '/llms.txt', '/', '/health/live', '/.well-known/x402'].map((path) =>
  get(path),
)
const mcp = { path: '/mcp', init: post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }), expects: 200 }
const desk = ['/operator/orders', '/operator/attention', '/metrics'].map((path) => get(path, 200, OPERATOR))
const broken = [
  { path: '/agentic/x402/buy', init: { ...post({}), body: '{"saleId":' }, expects: 400 },
  get('/nothing/here', 404),
]
const paid: readonly Call[] = [
  { path: '/x402/cheap-health', expects: 200, rail: x402UnderTest },
  { path: '/agentic/x402/buy', init: post(LOT), expects: 200, rail: x402UnderTest },
  { path: '/agentic/mpp/buy', init: post(LOT), expects: 200, rail: mppPullUnderTest },
]

/** The n-th call: each kind spread evenly over its hundred. */
function callAt(n: number): Call {
  const turn = Math.floor(n / 20)
  const pick = (calls: readonly Call[]) => calls[turn % calls.length]!
  const place = n % 20
  if (place === 0) return pick(paid)
  if (place <= 2) return mcp
  if (place === 3) return turn % 5 < 2 ? pick(broken) : pick(desk)
  return place % 5 === 4 || place === 7 ? pick(read) : price[n % price.length]!
}

export async function benchSoak({ minutes = 1, rate = 100 } = {}): Promise<Report> {
  const stage = await openStage()
  try {
    const database = await stage.database()
    const order = { rpcUrls: stage.rpcUrls, databaseUrl: database.url, port: await freePort() }
    const shop = await stage.start('sutler.ts', { ...order, settlerKey: await stage.fundedKey() })
    const seen = await soak(stage, shop, { minutes, rate })
    await assertSold(shop, database, seen.sold)
    return judged(seen, { minutes, rate })
  } finally {
    await stage.close()
  }
}

type Seen = {
  readonly answers: number
  readonly sold: number
  readonly told202: number
  readonly faults: readonly string[]
  readonly ms: readonly number[]
  readonly paidMs: readonly number[]
  readonly megabytes: readonly number[]
  readonly cpuShare: number
}

async function soak(stage: Stage, shop: Measured, { minutes, rate }: { minutes: number; rate: number }): Promise<Seen> {
  const [faults, ms, paidMs, megabytes] = [[] as string[], [] as number[], [] as number[], [] as number[]]
  const open = new Set<Promise<void>>()
  let told202 = 0
  const one = async (call: Call) => {
    const begun = performance.now()
    const headers = new Headers(call.init?.headers)
    if (call.rail) headers.set(call.rail.header, await paymentFor(stage, shop.url, call))
    const sent = performance.now()
    const answer = await fetch(shop.url + call.path, { ...call.init, headers })
    const text = await answer.text()
    ;(call.rail ? paidMs : ms).push(performance.now() - (call.rail ? sent : begun))
    // Whoever paid and hears 202 has been served late, not wrongly: how it ends is judged with all the others.
    if (call.rail && answer.status === 202) told202++
    else if (answer.status !== call.expects)
      faults.push(`${call.path} ${answer.status} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`)
  }
  const total = Math.round(minutes * 60 * rate)
  const cpuBefore = await shop.cpuMicros()
  const begun = performance.now()
  for (let n = 0; n < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - begun) / 1000) * rate))
    for (; n < due && open.size < OPEN_MAX; n++) {
      const going: Promise<void> = one(callAt(n))
        .catch((error: Error) => void faults.push(String(error.cause ?? error)))
        .finally(() => open.delete(going))
      open.add(going)
    }
    if (n >= (megabytes.length * total) / LOOKS) megabytes.push((await shop.residentBytes()) / 2 ** 20)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await Promise.all(open)
  const seconds = (performance.now() - begun) / 1000
  const cpuShare = ((await shop.cpuMicros()) - cpuBefore) / 1e6 / seconds
  return { answers: total, sold: paidMs.length, told202, faults, ms, paidMs, megabytes, cpuShare }
}

async function paymentFor(stage: Stage, url: string, { path, init, rail }: Call): Promise<string> {
  const [payment] = await stage.payments(rail!, { url: url + path, count: 1, ...(init ? { init } : {}) })
  return payment!
}

/** Every purchase is an order that ended well, and the books agree with the chains. */
async function assertSold({ url }: Measured, { url: place }: TestDatabase, sold: number): Promise<void> {
  const ends = await untilAnswered(async () => {
    const { rows } = await onServer(place, (client) =>
      client.query('select status, count(*)::int as count from orders group by status'),
    )
    return rows.some(({ status }) => !isFinal(status)) ? null : rows
  })
  assert.deepEqual(ends, [{ status: 'confirmed', count: sold }])
  const answer = await fetch(`${url}/operator/reconcile`, { method: 'POST', headers: OPERATOR })
  const { accounts } = (await answer.json()) as { accounts: { difference: string }[] }
  assert.deepEqual(
    accounts.map(({ difference }) => difference),
    ['0', '0'],
  )
}

function judged(
  { answers, sold, told202, faults, ms, paidMs, megabytes, cpuShare }: Seen,
  asked: { minutes: number; rate: number },
): Report {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const share = (values: readonly number[], part: number) =>
    values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!
  for (const fault of new Set(faults)) console.error(`${fault}: ${faults.filter((other) => other === fault).length}`)
  const eighth = LOOKS / 8
  // The first eighth is loading and compiling.
  const [early, late] = [megabytes.slice(eighth, 2 * eighth), megabytes.slice(-eighth)]
  return {
    title: `${asked.minutes} minutes at ${asked.rate} a second`,
    figures: [
      { what: 'Answers', value: answers, unit: '' },
      { what: 'Sold, as orders, chains and books say', value: sold, unit: '' },
      { what: 'Of them answered 202 first', value: told202, unit: '' },
      { what: 'Unpaid, half of them', value: share(ms, 0.5), unit: 'ms' },
      { what: 'Unpaid, 99 of 100', value: share(ms, 0.99), unit: 'ms' },
      { what: 'Paid, half of them', value: share(paidMs, 0.5), unit: 'ms' },
      { what: 'Paid, 99 of 100', value: share(paidMs, 0.99), unit: 'ms' },
      { what: 'CPU of the shop', value: cpuShare * 100, unit: '% of a core' },
      { what: 'Memory in the second eighth', value: mean(early), unit: 'MB' },
      { what: 'Memory in the last eighth', value: mean(late), unit: 'MB' },
    ],
    ratios: [
      { what: 'Wrong answers', value: faults.length, atMost: 0 },
      { what: 'Answered 202 first, of 100 sold', value: (100 * told202) / sold, atMost: 2 },
      { what: 'Memory, last eighth : second', value: mean(late) / mean(early), atMost: 1.15 },
    ],
  }
}

if (import.meta.main) report([await benchSoak(numbersOf(process.argv.slice(2), ['minutes', 'rate']))])
