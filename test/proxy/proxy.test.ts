import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { loadConfig } from '../../src/config/load.ts'
import { type DevChains, startDevChains } from '../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { startWorld } from '../../src/sandbox/world.ts'
import { type CrashWorld, type Flow, flows, judge } from '../crash/flows.ts'
import { PUBLIC_URL } from '../crash/protocol.ts'
import { fundedWallet, mppPayer, mppxClient, post, x402Payer } from '../support/buyers.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { untilAnswered } from '../support/until.ts'
import { type Cable, layCable } from './cable.ts'
import { type Front, proxies, startProxy } from './proxies.ts'
import { type Replica, replicaAt } from './replica.ts'

// Two replicas behind real proxies with the configuration that we ship, and stock clients who buy through them while a replica dies, is
// exchanged, hangs, or loses its database. Each buyer has a wallet of their own, and the chain judges what became of their money.

const BUYERS = 2
/** So many purchases through each proxy before something happens, and so many after it; while it happens, one of each buyer. */
const PURCHASES = Number(process.env['TEST_PROXY_PURCHASES'] ?? 2)

const bought = flows.filter(({ ends, rail }) => ends === 'delivered' && rail.name !== 'mpp push')
const isRequired = process.env['TEST_PROXY'] === 'required'
const here = proxies.filter(({ isInstalled }) => isInstalled || isRequired)

for (const { name } of proxies.filter((proxy) => !here.includes(proxy)))
  test(`${name} with two replicas`, { skip: `${name} is not installed` }, () => {})

let store: TestStore
let chains: DevChains
let rpc: RpcServer
let cable: Cable
let world: CrashWorld
let replicas: readonly [Replica, Replica]
const fronts: Front[] = []

const skip = here.length === 0
if (!skip) {
  before(start)
  after(stop)
}

async function start(): Promise<void> {
  store = await openStore('postgres')
  chains = await startDevChains({ faults: true })
  rpc = await serveRpc([chains.native, chains.tempo])
  // While a client is loaded this process answers nobody, for long on a busy machine: it comes before there is anybody to answer.
  await mppxClient(chains, privateKeyToAccount(generatePrivateKey()), 'pull')
  cable = await layCable(store.place.url!)
  const loaded = loadConfig({ SUTLER_BASE_URL: PUBLIC_URL })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  const sandbox = await startWorld(loaded, chains)
  world = { chains, config: sandbox.config, world: sandbox, store }
  const rpcUrls = { 84532: [`${rpc.url}/84532`], 42431: [`${rpc.url}/42431`] }
  const order = {
    rpcUrls,
    leaseSeconds: 2,
    drainSeconds: 3,
    isWarm: true,
    // This process is the buyers and the door to the chains at once.
    rpcTimeoutMs: 60_000,
    verbose: process.env['TEST_VERBOSE'] === '1',
  }
  replicas = [
    replicaAt({ ...order, databaseUrl: cable.url, port: await freePort() }),
    replicaAt({ ...order, databaseUrl: store.place.url!, port: await freePort() }),
  ]
  await Promise.all(replicas.map((replica) => replica.start()))
  const [first, second] = replicas
  for (const proxy of here) fronts.push(await startProxy(proxy, [first.address, second.address]))
  // What else they load, and compile, at their first purchases must not keep the chains from answering later.
  for (const flow of bought) assert.equal(await buy(fronts[0]!.url, flow), 'bought')
}

async function stop(): Promise<void> {
  await Promise.all(fronts.map((front) => front.stop()))
  await Promise.all(replicas.map((replica) => replica.kill()))
  cable.close()
  await rpc.close()
  await chains.close()
  await store.drop()
}

/**
 * What became of a purchase. Refused: by the shop itself, and the chain shows that nothing was taken. A replica that cannot ask its
 * database whether it has seen a payment does not claim so, but says to send the same one again. Everything else is lost.
 */
type Outcome = 'bought' | `refused: ${string}` | `lost: ${string}`
type Body = {
  payment?: { taken: unknown }
  retry?: { action: string }
  code?: string
  detail?: string
  statusUrl?: string
} | null

async function buy(url: string, flow: Flow): Promise<Outcome> {
  const buyer = await fundedWallet(world)
  const pay = flow.rail.rail === 'x402' ? x402Payer(buyer) : mppPayer(world, buyer, 'pull')
  const response = await pay(url + flow.path, post(flow.body(buyer, undefined)!)).catch((error: Error) => error)
  if (response instanceof Error) return `lost: ${response.message} ${String(response.cause)}`
  const body = (await response.json().catch(() => null)) as Body
  if (response.status === 503 && body?.retry?.action === 'wait_same_credential') {
    await judge(world, flow, buyer, undefined, 402)
    return `refused: ${body.code} ${body.detail}`
  }
  if (response.status !== 200 && response.status !== 202) return `lost: ${response.status} ${JSON.stringify(body)}`
  if (response.status === 202 && (await endOf(url + new URL(body!.statusUrl!).pathname)) === 'never claimed') {
    await judge(world, flow, buyer, undefined, 402)
    return 'refused: never claimed'
  }
  await judge(world, flow, buyer, undefined, 200)
  return 'bought'
}

/** A replica that loses its database while it writes an order down cannot say whether it is written; the other one can. */
async function endOf(statusUrl: string): Promise<'confirmed' | 'never claimed'> {
  return untilAnswered(async () => {
    const answer = await fetch(statusUrl)
    if (answer.status === 404) return 'never claimed'
    const { status } = (await answer.json().catch(() => ({}))) as { status?: unknown }
    return status === 'confirmed' ? status : null
  })
}

/** Buyers at each proxy. All they meet is kept, to be judged at the end. */
function crowd() {
  const met: { readonly name: string; readonly outcome: Outcome }[] = []
  let begun = 0
  async function buyers(purchases: number): Promise<void> {
    const ends = begun + purchases * fronts.length
    const buyAt = async ({ name, url }: Front) => {
      while (begun < ends) met.push({ name, outcome: await buy(url, bought[begun++ % bought.length]!) })
    }
    await Promise.all(fronts.flatMap((front) => Array.from({ length: BUYERS }, () => buyAt(front))))
  }
  return {
    more: () => buyers(PURCHASES),
    /** Their purchases are under way when it happens. */
    async during(happens: () => unknown) {
      const buying = buyers(BUYERS)
      await happens()
      await buying
    },
    /** What went wrong, proxy by proxy. */
    wrong: (isFine: (outcome: Outcome) => boolean) =>
      met.filter(({ outcome }) => !isFine(outcome)).map(({ name, outcome }) => `${name}: ${outcome}`),
  }
}

const isBought = (outcome: Outcome) => outcome === 'bought'
const isClean = (outcome: Outcome) => !outcome.startsWith('lost')

test('kill -9 of a replica under load loses no request', { skip }, async () => {
  const { more, during, wrong } = crowd()
  await more()
  await during(() => replicas[0].kill())
  await more()
  await during(() => replicas[0].start())
  await more()
  assert.deepEqual(wrong(isBought), [])
})

test('a rolling restart under load loses no request', { skip }, async () => {
  const { more, during, wrong } = crowd()
  for (const replica of replicas) {
    await during(() => replica.stop())
    await more()
    await during(() => replica.start())
  }
  await more()
  assert.deepEqual(wrong(isBought), [])
})

test('a frozen replica is passed over: whoever met it is served by the other, or refused before money', {
  skip,
}, async () => {
  const { more, during, wrong } = crowd()
  await during(() => replicas[0].freeze())
  await more()
  await during(() => replicas[0].thaw())
  assert.deepEqual(wrong(isClean), [])
})

test('a replica that is cut off from the database refuses before money, and is passed over', { skip }, async () => {
  const { more, during, wrong } = crowd()
  await during(() => cable.cut())
  await more()
  await during(() => cable.join())
  assert.deepEqual(wrong(isClean), [])
})
