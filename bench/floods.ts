// How long an honest purchase takes while somebody floods the shop, beside how long it takes on a quiet day, in one run.
//   node bench/floods.ts [--purchases=40] [--perSecond=300]
import { type ChildProcess, fork } from 'node:child_process'
import { request } from 'node:http'
import { join } from 'node:path'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import { Challenge } from 'mppx'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { loadConfig } from '../src/config/load.ts'
import { x402Networks } from '../src/config/networks.ts'
import { type DevChains, startDevChains } from '../src/devchain/chains.ts'
import { serveRpc } from '../src/devchain/server.ts'
import { demoAddressOf, giveGas, giveToken, startWorld } from '../src/sandbox/world.ts'
import { freePort } from '../test/support/free-port.ts'
import { createDatabase } from '../test/support/postgres.ts'
import { median, startMeasured } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'
import type { Flood, FloodOrder } from './servers/flood.ts'

const here = (file: string) => join(import.meta.dirname, 'servers', file)
const HONEST = '127.0.0.2'
const PATH = '/x402/cheap-health'
const WARM_UP = 80
const DUST = 'dust on the till'
const DUST_PER_SECOND = 50
const floods: readonly Flood[] = ['bogus pushes', 'replays', 'unpaid 402', 'unknown pages', 'stalled sockets']

export async function benchFloods({ purchases = 40, perSecond = 300 } = {}): Promise<Report> {
  const database = await createDatabase()
  const chains = await startDevChains()
  const rpc = await serveRpc([chains.native, chains.tempo])
  const rpcUrls = { 84532: `${rpc.url}/84532`, 42431: `${rpc.url}/42431` }
  const settlerKey = generatePrivateKey()
  let enemy: ChildProcess | null = null
  const loaded = loadConfig({})
  if (loaded.mode !== 'sandbox') throw new TypeError('the bench runs the sandbox')
  await startWorld(loaded, chains)
  await giveGas(chains.native, privateKeyToAccount(settlerKey).address, 10n ** 20n)
  const order = { rpcUrls, databaseUrl: database.url, port: await freePort(), settlerKey, usualLimits: true }
  const shop = await startMeasured(here('sutler.ts'), order)
  try {
    const pay = await honestBuyer(chains, shop.url)
    const times: Record<string, number[]> = {}
    const measure = async (what: string) => {
      const taken: number[] = []
      for (let i = 0; i < purchases; i++) taken.push(await pay())
      times[what] = [...(times[what] ?? []), ...taken]
    }
    // Everything is loaded by then: mppx comes in beside the start, and takes its time.
    for (let i = 0; i < WARM_UP; i++) await pay()
    const spent = pay.last()
    const challenge = await challengeAt(shop.url)
    for (const flood of floods) {
      await measure('quiet')
      enemy = fork(here('flood.ts'), [
        JSON.stringify({ flood, url: shop.url, perSecond, challenge, spent } satisfies FloodOrder),
      ])
      await settled()
      await measure(flood)
      enemy.kill('SIGKILL')
    }
    await measure('quiet')
    const stop = dust(chains)
    await settled()
    await measure(DUST)
    stop()
    const usual = median(times['quiet']!)
    return {
      title: `Floods of ${perSecond} a second, and ${DUST_PER_SECOND} of dust; one honest purchase`,
      figures: Object.entries(times).map(([what, ms]) => ({ what, value: median(ms), unit: 'ms' })),
      ratios: [...floods, DUST].map((flood) => ({
        what: `${flood} : quiet`,
        value: median(times[flood]!) / usual,
        atMost: 2,
      })),
    }
  } finally {
    enemy?.kill('SIGKILL')
    shop.stop()
    await rpc.close()
    await chains.close()
    await database.drop()
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 1_500))

/** Transfers of a millionth of a dollar to the till, from nobody, as fast as the chain bears them beside a purchase. */
function dust({ native }: DevChains): () => void {
  const [token, till] = [x402Networks['base-sepolia']!.asset, demoAddressOf('till')]
  const give = () => void native.request({ method: 'dev_mintToken', params: [token, till, '0x1'] })
  const timer = setInterval(give, 1_000 / DUST_PER_SECOND)
  return () => clearInterval(timer)
}

/** Signs first; what is measured is from the first byte of the paid call to the last of its answer. */
async function honestBuyer(chains: DevChains, url: string): Promise<(() => Promise<number>) & { last(): string }> {
  const payer = privateKeyToAccount(generatePrivateKey())
  await giveToken(chains.native, '0x036CbD53842c5426634e7929541eC2318f3dCF7e', payer.address, 10n ** 9n)
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer))
  // Asked for once: the honest have an allowance too.
  const { headers } = await call(url)
  const required = JSON.parse(Buffer.from(String(headers['payment-required']), 'base64').toString())
  let last = ''
  const pay = async (): Promise<number> => {
    last = Buffer.from(JSON.stringify(await client.createPaymentPayload(required))).toString('base64')
    const begun = performance.now()
    const { status } = await call(url, { 'payment-signature': last })
    if (status !== 200) throw new Error(`an honest purchase was answered ${status}`)
    return performance.now() - begun
  }
  return Object.assign(pay, { last: () => last })
}

function call(url: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown> }>((resolve, reject) => {
    const outgoing = request(url + PATH, { localAddress: HONEST, headers }, (incoming) => {
      incoming.resume()
      incoming.once('end', () => resolve({ status: incoming.statusCode!, headers: incoming.headers }))
    })
    outgoing.once('error', reject).end()
  })
}

async function challengeAt(url: string): Promise<Record<string, unknown>> {
  const unpaid = await fetch(`${url}/shop/mpp/player-lookup`, { method: 'POST' })
  return Challenge.fromResponse(unpaid) as unknown as Record<string, unknown>
}

if (import.meta.main) report([await benchFloods(numbersOf(process.argv.slice(2), ['purchases', 'perSecond']))])
