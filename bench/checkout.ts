// What a 402 and a paid purchase cost a server in CPU time, beside the bare platform and the stock sellers, on the same chain.
//   node bench/checkout.ts [--shots=5000] [--rounds=5] [--paid=120]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { loadConfig } from '../src/config/load.ts'
import { type DevChains, startDevChains } from '../src/devchain/chains.ts'
import { serveRpc } from '../src/devchain/server.ts'
import { demoAddressOf, giveToken, startWorld } from '../src/sandbox/world.ts'
import { createDatabase } from '../test/support/postgres.ts'
import { freePort } from '../test/support/shop.ts'
import { cpuMicrosPerShot, type Measured, median, type Shot, startMeasured } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'

const here = (file: string) => join(import.meta.dirname, 'servers', file)
const BUY = JSON.stringify({ saleId: 392, beneficiary: '0x000000000000000000000000000000000000dEaD' })

export async function benchCheckout({ shots = 5_000, rounds = 5, paid = 120 } = {}): Promise<Report> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sutler-bench-'))
  const database = await createDatabase()
  // The chains keep a thread to themselves; every server under test is a process of its own.
  const chains = await startDevChains()
  const rpc = await serveRpc([chains.native, chains.tempo])
  const rpcUrls = { 84532: `${rpc.url}/84532`, 42431: `${rpc.url}/42431` }
  const servers: Measured[] = []
  const start = async (file: string, order: unknown) => {
    const server = await startMeasured(here(file), order)
    servers.push(server)
    return server
  }
  try {
    const loaded = loadConfig({})
    if (loaded.mode !== 'sandbox') throw new TypeError('the bench runs the sandbox')
    const { config } = await startWorld(loaded, chains)
    const fundedKey = async () => {
      const key = generatePrivateKey()
      await chains.native.request({
        method: 'dev_setBalance',
        params: [privateKeyToAccount(key).address, toHex(10n ** 20n)],
      })
      return key
    }
    const http = await start('bare.ts', 'node:http')
    const hono = await start('bare.ts', 'Hono')
    const stockX402 = await start('stock-x402.ts', {
      rpcUrl: rpcUrls[84532],
      key: await fundedKey(),
      payTo: config.x402!.payTo,
    })
    const stockMppx = await start('stock-mppx.ts', { rpcUrl: rpcUrls[42431], recipient: demoAddressOf('till') })
    const sutler = await start('sutler.ts', {
      rpcUrls,
      databaseUrl: database.url,
      port: await freePort(),
      settlerKey: await fundedKey(),
    })
    const embedded = await start('sutler.ts', {
      rpcUrls,
      dataDir,
      port: await freePort(),
      settlerKey: await fundedKey(),
    })

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
    const samples = new Map<string, number[]>()
    const note = (what: string, micros: number) => samples.set(what, [...(samples.get(what) ?? []), micros])
    for (let round = 0; round <= rounds; round++) {
      // Interleaved, so that a neighbour's burst of work falls on all of them. The first round warms up.
      for (const [what, server, shot] of unpaid) {
        const micros = await cpuMicrosPerShot(
          server,
          Array.from({ length: shots }, () => shot),
        )
        if (round > 0) note(what, micros)
      }
    }
    const sellers: [string, Measured, string][] = [
      ['@x402/hono paid', stockX402, '/health'],
      ['Sutler paid, PostgreSQL', sutler, '/x402/cheap-health'],
      ['Sutler paid, embedded store', embedded, '/x402/cheap-health'],
    ]
    for (let round = 0; round <= rounds; round++) {
      for (const [what, server, path] of sellers) {
        const micros = await cpuMicrosPerShot(server, await paidShots(chains, server, path, round === 0 ? 20 : paid))
        if (round > 0) note(what, micros)
      }
    }
    return judged(samples)
  } finally {
    for (const server of servers) server.stop()
    await rpc.close()
    await chains.close()
    await database.drop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Payments are signed before the clock runs: a seller does not pay for its buyers' CPU. */
async function paidShots(chains: DevChains, server: Measured, path: string, count: number): Promise<readonly Shot[]> {
  const payer = privateKeyToAccount(generatePrivateKey())
  await giveToken(chains.native, '0x036CbD53842c5426634e7929541eC2318f3dCF7e', payer.address, 10n ** 9n)
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer))
  const unpaid = await fetch(server.url + path)
  const required = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString())
  const shots: Shot[] = []
  for (let i = 0; i < count; i++) {
    const payment = Buffer.from(JSON.stringify(await client.createPaymentPayload(required))).toString('base64')
    shots.push({ path, headers: { 'payment-signature': payment }, expects: 200 })
  }
  return shots
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
    figures: [...samples].map(([what, micros]) => ({ what, value: median(micros), unit: 'µs of CPU' })),
    ratios: [
      times('Sutler x402 402 GET', 'Hono GET', 1.25, 1.4),
      times('Sutler x402 402 POST', 'Hono POST', 1.25, 1.4),
      times('Sutler MPP 402 POST', 'Hono POST', 1.3, 1.7),
      times('Sutler x402 402 GET', '@x402/hono 402'),
      times('Sutler MPP 402 POST', 'mppx 402'),
      times('Sutler paid, PostgreSQL', '@x402/hono paid', 0.18, 0.5),
      times('Sutler paid, embedded store', '@x402/hono paid', 0.4),
    ],
  }
}

if (import.meta.main) report([await benchCheckout(numbersOf(process.argv.slice(2), ['shots', 'rounds', 'paid']))])
