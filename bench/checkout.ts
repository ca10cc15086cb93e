// What a 402 and a paid purchase cost a server in CPU time, beside the bare platform and the stock sellers, on the same chain.
//   node bench/checkout.ts [--shots=5000] [--rounds=5] [--paid=120]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sandboxKey } from '../src/config/published.ts'
import { demoAddressOf } from '../src/sandbox/world.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../test/support/credentials.ts'
import { freePort } from '../test/support/free-port.ts'
import type { TestDatabase } from '../test/support/postgres.ts'
import { cpuMicrosPerShot, type Measured, median, type Shot } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'
import { openStage, postgresCpuMicros, type Stage } from './stage.ts'

const BUY = JSON.stringify({ saleId: 392, beneficiary: '0x000000000000000000000000000000000000dEaD' })

/** The purchase that PostgreSQL's own share is told of. */
const POSTGRES_OF = 'Sutler paid, PostgreSQL'
const POSTGRES = 'PostgreSQL itself, of a paid purchase'

type Samples = Map<string, number[]>
type Sellers = Readonly<Record<'http' | 'hono' | 'stockX402' | 'stockMppx' | 'sutler' | 'embedded', Measured>>

export async function benchCheckout({ shots = 5_000, rounds = 5, paid = 120 } = {}): Promise<Report> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sutler-bench-'))
  const stage = await openStage()
  try {
    const database = await stage.database()
    const sellers = await open(stage, database, dataDir)
    const samples: Samples = new Map()
    await measureUnpaid(sellers, samples, { shots, rounds })
    await measurePaid(stage, sellers, samples, { paid, rounds, database })
    return judged(samples)
  } finally {
    await stage.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function open(
  { start, config, rpcUrls, fundedKey }: Stage,
  { url }: TestDatabase,
  dataDir: string,
): Promise<Sellers> {
  const shop = async (place: object) =>
    start('sutler.ts', { rpcUrls, ...place, port: await freePort(), settlerKey: await fundedKey() })
  const till = { rpcUrl: rpcUrls[84532], key: await fundedKey(), payTo: config.x402!.payTo }
  return {
    http: await start('bare.ts', 'node:http'),
    hono: await start('bare.ts', 'Hono'),
    stockX402: await start('stock-x402.ts', till),
    stockMppx: await start('stock-mppx.ts', { rpcUrl: rpcUrls[42431], recipient: demoAddressOf('till') }),
    sutler: await shop({ databaseUrl: url }),
    embedded: await shop({ dataDir }),
  }
}

function note(samples: Samples, what: string, value: number): void {
  samples.set(what, [...(samples.get(what) ?? []), value])
}

async function measureUnpaid(
  { http, hono, stockX402, stockMppx, sutler }: Sellers,
  samples: Samples,
  { shots, rounds }: { readonly shots: number; readonly rounds: number },
): Promise<void> {
  const get = (path: string, expects: number): Shot => ({ path, expects })
  const post = (path: string, expects: number): Shot => ({ path, expects, method: 'POST', body: BUY })
  const unpaid: [string, Measured, Shot][] = [
    ['node:http GET', http, get('/', 200)],
    ['Hono GET', hono, get('/', 200)],
    ['Hono POST', hono, post('/', 200)],
    ['@x402/hono 402', stockX402, get('/health', 402)],
    ['mppx 402', stockMppx, post('/probe', 402)],
    ['Sutler x402 402 GET', sutler, get('/x402/cheap-health', 402)],
    ['Sutler x402 402 POST', sutler, post('/agentic/x402/buy', 402)],
    ['Sutler MPP 402 POST', sutler, post('/agentic/mpp/buy', 402)],
  ]
  // Interleaved, so that a neighbour's burst of work falls on all of them. The first round warms up.
  for (let round = 0; round <= rounds; round++)
    for (const [what, server, shot] of unpaid) {
      const volley = Array.from({ length: shots }, () => shot)
      const micros = await cpuMicrosPerShot(server, volley)
      if (round > 0) note(samples, what, micros)
    }
}

type PaidRun = { readonly paid: number; readonly rounds: number; readonly database: TestDatabase }

/** One settlement and nothing else, from every seller. */
async function measurePaid(
  stage: Stage,
  { stockX402, stockMppx, sutler, embedded }: Sellers,
  samples: Samples,
  { paid, rounds, database }: PaidRun,
): Promise<void> {
  const get = { path: '/x402/cheap-health', expects: 200 }
  const post = { path: '/shop/mpp/player-lookup', expects: 200, method: 'POST' }
  const sellers: [string, Measured, RailUnderTest, Shot][] = [
    ['@x402/hono paid', stockX402, x402UnderTest, { ...get, path: '/health' }],
    ['Sutler paid, PostgreSQL', sutler, x402UnderTest, get],
    ['Sutler paid, embedded store', embedded, x402UnderTest, get],
    ['mppx paid, pull', stockMppx, mppPullUnderTest, { ...post, path: '/probe' }],
    ['Sutler paid, MPP pull, PostgreSQL', sutler, mppPullUnderTest, post],
  ]
  // The lookup is for players, and this is one's wallet.
  const player = privateKeyToAccount(sandboxKey('demo').reveal() as Hex)
  for (let round = 0; round <= rounds; round++)
    for (const [what, server, rail, shot] of sellers) {
      const order = {
        url: server.url + shot.path,
        init: { method: shot.method ?? 'GET' },
        count: round === 0 ? 20 : paid,
        ...(shot.path === post.path ? { payer: player } : {}),
      }
      const payments = await stage.payments(rail, order)
      const volley = payments.map((payment) => ({ ...shot, headers: { [rail.header]: payment } }))
      const before = await postgresCpuMicros(database)
      const micros = await cpuMicrosPerShot(server, volley)
      if (round === 0) continue
      note(samples, what, micros)
      if (what === POSTGRES_OF) note(samples, POSTGRES, ((await postgresCpuMicros(database)) - before) / paid)
    }
}

function judged(samples: ReadonlyMap<string, number[]>): Report {
  const times = (what: string, to: string, goal?: number, atMost?: number) => ({
    what: `${what} : ${to}`,
    ...(goal === undefined ? {} : { goal }),
    value: median(samples.get(what)!.map((micros, round) => micros / samples.get(to)![round]!)),
    ...(atMost === undefined ? {} : { atMost }),
  })
  return {
    title: 'Checkout',
    figures: [...samples].map(([what, micros]) => ({
      what,
      value: median(micros),
      unit: 'µs of CPU',
      ...(what === POSTGRES ? { goal: 3_000 } : {}),
    })),
    ratios: [
      times('Sutler x402 402 GET', 'Hono GET', 1.25, 1.4),
      times('Sutler x402 402 POST', 'Hono POST', 1.25, 1.4),
      times('Sutler MPP 402 POST', 'Hono POST', 1.3, 1.7),
      times('Sutler x402 402 GET', '@x402/hono 402'),
      times('Sutler MPP 402 POST', 'mppx 402'),
      times('Sutler paid, PostgreSQL', '@x402/hono paid', 0.18, 0.5),
      times('Sutler paid, embedded store', '@x402/hono paid', 0.4),
      times('Sutler paid, MPP pull, PostgreSQL', 'mppx paid, pull', 0.35),
    ],
  }
}

if (import.meta.main) report([await benchCheckout(numbersOf(process.argv.slice(2), ['shots', 'rounds', 'paid']))])
