// How long a purchase takes as more buyers come, and how many are sold a second, on a chain that makes a block a second, beside the stock seller.
//   node bench/load.ts [--buyers=50] [--purchases=3]
// A probe is bought: one settlement and nothing else, so the wait for its block is most of it.
import { Agent, request } from 'node:http'
import type { Hex } from 'viem'
import { x402UnderTest } from '../test/support/credentials.ts'
import { freePort } from '../test/support/free-port.ts'
import { type Measured, median } from './measured.ts'
import { numbersOf, type Plot, type Report, report } from './report.ts'
import { openStage, type Stage } from './stage.ts'

const BLOCK_MS = 1_000

/** Who sells, at one address or at several, and under which path. */
type Seller = { readonly name: string; readonly servers: readonly Measured[]; readonly path: string }

type Load = {
  readonly seller: string
  readonly buyers: number
  /** Of each purchase, from the first byte of the paid call to the last of its answer. */
  readonly ms: readonly number[]
  readonly perSecond: number
  /** What all servers of the seller spent on one. */
  readonly cpuMs: number
}

export async function benchLoad({ buyers = 50, purchases = 3 } = {}): Promise<Report> {
  const stage = await openStage({ blockTimeMs: BLOCK_MS })
  const { start, rpcUrls, config, fundedKey } = stage
  try {
    const databases = [await stage.database(), await stage.database()] as const
    const shop = async (database: { readonly url: string }, settlerKey: Hex) =>
      start('sutler.ts', { rpcUrls, databaseUrl: database.url, port: await freePort(), settlerKey })
    const [one, two, stock] = [await fundedKey(), await fundedKey(), await fundedKey()]
    const stockOrder = { rpcUrl: rpcUrls[84532], key: stock, payTo: config.x402!.payTo, pollingMs: 150 }
    const path = '/x402/cheap-health'
    const sellers: readonly Seller[] = [
      { name: 'Sutler', path, servers: [await shop(databases[0], one)] },
      // Replicas share a store, and with it the row of each key.
      { name: 'Sutler, two replicas', path, servers: [await shop(databases[1], two), await shop(databases[1], two)] },
      { name: '@x402/hono', path: '/health', servers: [await start('stock-x402.ts', stockOrder)] },
    ]
    const loads: Load[] = []
    for (const seller of sellers) await sell(stage, seller, { buyers: 2, purchases: 1 })
    for (const count of stepsTo(buyers))
      for (const seller of sellers) loads.push(await sell(stage, seller, { buyers: count, purchases }))
    return judged(loads, buyers)
  } finally {
    await stage.close()
  }
}

function stepsTo(most: number): readonly number[] {
  return [...[1, 5, 20, 50].filter((count) => count < most), most]
}

/** Payments are signed before the clock runs; then each buyer makes one purchase after the other. */
async function sell(
  stage: Stage,
  { name, servers, path }: Seller,
  { buyers, purchases }: { readonly buyers: number; readonly purchases: number },
): Promise<Load> {
  const agent = new Agent({ keepAlive: true, maxSockets: buyers })
  const wallets = await Promise.all(
    Array.from({ length: buyers }, (_, buyer) => {
      const url = servers[buyer % servers.length]!.url + path
      return stage.payments(x402UnderTest, { url, count: purchases }).then((payments) => ({ url, payments }))
    }),
  )
  const cpuMicros = async () => {
    let micros = 0
    for (const server of servers) micros += await server.cpuMicros()
    return micros
  }
  const [ms, cpuBefore, begun] = [[] as number[], await cpuMicros(), performance.now()]
  await Promise.all(
    wallets.map(async ({ url, payments }) => {
      for (const payment of payments) ms.push(await buy(agent, url, payment))
    }),
  )
  const seconds = (performance.now() - begun) / 1_000
  const cpuMs = ((await cpuMicros()) - cpuBefore) / 1_000 / ms.length
  agent.destroy()
  return { seller: name, buyers, ms, perSecond: ms.length / seconds, cpuMs }
}

function buy(agent: Agent, url: string, payment: string): Promise<number> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers: { 'payment-signature': payment } }, (incoming) => {
      incoming.resume()
      incoming.once('end', () => {
        if (incoming.statusCode === 200) resolve(performance.now() - begun)
        else reject(new Error(`a purchase was answered ${incoming.statusCode}`))
      })
    })
    outgoing.once('error', reject).end()
  })
}

function judged(loads: readonly Load[], most: number): Report {
  const of = (seller: string, buyers: number) => loads.find((one) => one.seller === seller && one.buyers === buyers)!
  const alone = of('Sutler', 1)
  const [one, two, stock] = ['Sutler', 'Sutler, two replicas', '@x402/hono'].map((seller) => of(seller, most))
  return {
    title: `Load, with a block every ${BLOCK_MS} ms`,
    figures: loads
      .filter(({ buyers }) => buyers === most)
      .flatMap(({ seller, buyers, perSecond, cpuMs }) => [
        { what: `${seller}, ${buyers} buyers`, value: perSecond, unit: 'sold a second' },
        { what: `${seller}, ${buyers} buyers, CPU`, value: cpuMs, unit: 'ms a purchase' },
      ]),
    ratios: [
      { what: 'One buyer, paid call to 200, in blocks', value: median(alone.ms) / BLOCK_MS, goal: 1.1 },
      { what: `Sold a second, Sutler : stock, ${most} buyers`, value: one!.perSecond / stock!.perSecond },
      {
        what: `Sold a second, two replicas : one, ${most} buyers`,
        value: two!.perSecond / one!.perSecond,
        goalAtLeast: 1.8,
      },
      { what: `CPU a purchase, Sutler : stock, ${most} buyers`, value: one!.cpuMs / stock!.cpuMs },
    ],
    plots: [latencyOver(loads)],
  }
}

function latencyOver(loads: readonly Load[]): Plot {
  return {
    title: 'Latency over load: from a paid call to its 200, half of them (█) and 19 of 20 (░)',
    unit: 'ms',
    bars: loads.map(({ seller, buyers, ms }) => {
      const sorted = ms.toSorted((a, b) => a - b)
      const most = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.95))]!
      return { group: `${buyers} ${buyers === 1 ? 'buyer' : 'buyers'}`, what: seller, half: median(ms), most }
    }),
  }
}

if (import.meta.main) report([await benchLoad(numbersOf(process.argv.slice(2), ['buyers', 'purchases']))])
