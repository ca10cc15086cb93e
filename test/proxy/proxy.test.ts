import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { type DevChains, startDevChains } from '../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { startWorld } from '../../src/sandbox/world.ts'
import { type CrashWorld, type Flow, flows, judge } from '../crash/flows.ts'
import { PUBLIC_URL } from '../crash/protocol.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { freePort } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { type Cable, layCable } from './cable.ts'
import { type Frontend, proxies } from './proxies.ts'
import { type Replica, replicaAt } from './replica.ts'

// Two replicas behind a real proxy with the configuration that we ship, and stock clients who buy through it while a replica dies, is
// exchanged, hangs, or loses its database. Each buyer has a wallet of their own, and the chain judges what became of their money.

const BUYERS = 4
/** So many purchases before something happens, and so many after it. */
const PURCHASES = Number(process.env['TEST_PROXY_PURCHASES'] ?? 8)

const bought = flows.filter(({ ends, rail }) => ends === 'delivered' && rail.name !== 'mpp push')

let store: TestStore
let chains: DevChains
let rpc: RpcServer
let cable: Cable
let world: CrashWorld
let replicas: readonly [Replica, Replica]

before(async () => {
  store = await openStore('postgres')
  chains = await startDevChains({ faults: true })
  rpc = await serveRpc([chains.native, chains.tempo])
  cable = await layCable(store.place.url!)
  const loaded = loadConfig({ SUTLER_BASE_URL: PUBLIC_URL })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  const sandbox = await startWorld(loaded, chains)
  world = { chains, config: sandbox.config, world: sandbox, store }
  const rpcUrls = { 84532: [`${rpc.url}/84532`], 42431: [`${rpc.url}/42431`] }
  const order = { rpcUrls, leaseSeconds: 2, verbose: process.env['TEST_VERBOSE'] === '1' }
  replicas = [
    replicaAt({ ...order, databaseUrl: cable.url, port: await freePort() }),
    replicaAt({ ...order, databaseUrl: store.place.url!, port: await freePort() }),
  ]
})
after(async () => {
  cable.close()
  await rpc.close()
  await chains.close()
  await store.drop()
})

/** What a client may see besides what it paid for: a refusal of the shop's own that says that nothing was taken. */
type Outcome = 'bought' | 'refused' | string

async function buy(url: string, flow: Flow): Promise<Outcome> {
  const buyer = await fundedWallet(world)
  const pay = flow.rail.rail === 'x402' ? x402Payer(buyer) : mppPayer(world, buyer, 'pull')
  const response = await pay(url + flow.path, post(flow.body(buyer, undefined)!)).catch((error: Error) => error)
  if (response instanceof Error) return `lost: ${response.message}`
  const body = (await response.json().catch(() => null)) as { payment?: { taken: unknown }; statusUrl?: string } | null
  if (response.status === 503 && body?.payment?.taken === false) {
    await judge(world, flow, buyer, undefined, 402)
    return 'refused'
  }
  if (response.status !== 200 && response.status !== 202) return `lost: ${response.status} ${JSON.stringify(body)}`
  if (response.status === 202) {
    const { pathname } = new URL(body!.statusUrl!)
    await until(async () => ((await (await fetch(url + pathname)).json()) as { status: string }).status === 'confirmed')
  }
  await judge(world, flow, buyer, undefined, 200)
  return 'bought'
}

/** Buyers who buy one thing after the other until told to stop. */
function crowd(url: string) {
  const outcomes: Outcome[] = []
  let isOver = false
  const buyers = Array.from({ length: BUYERS }, async (_, i) => {
    while (!isOver) outcomes.push(await buy(url, bought[(i + outcomes.length) % bought.length]!))
  })
  return {
    async more(purchases = PURCHASES) {
      const goal = outcomes.length + purchases
      await until(() => outcomes.length >= goal)
    },
    async leave(): Promise<readonly Outcome[]> {
      isOver = true
      await Promise.all(buyers)
      return outcomes
    },
  }
}

const lost = (outcomes: readonly Outcome[]) => outcomes.filter((outcome) => outcome.startsWith('lost'))

for (const proxy of proxies) describe(proxy.name, { skip: skipped(proxy) }, () => cases(proxy))

function skipped({ name, isInstalled }: Frontend): string | false {
  if (isInstalled || process.env['TEST_PROXY'] === 'required') return false
  return `${name} is not installed`
}

function cases(proxy: Frontend): void {
  let front: Awaited<ReturnType<Frontend['start']>>
  before(async () => {
    await Promise.all(replicas.map((replica) => replica.start()))
    front = await proxy.start(await freePort(), [replicas[0].address, replicas[1].address])
  })
  after(async () => {
    await front.stop()
    await Promise.all(replicas.map((replica) => replica.kill()))
  })

  test('kill -9 of a replica under load loses no request', async () => {
    const { more, leave } = crowd(front.url)
    await more()
    await replicas[0].kill()
    await more()
    await replicas[0].start()
    await more()
    assert.deepEqual(lost(await leave()), [])
  })

  test('a rolling restart under load loses no request', async () => {
    const { more, leave } = crowd(front.url)
    for (const replica of replicas) {
      await more()
      await replica.stop()
      await more()
      await replica.start()
    }
    await more()
    assert.deepEqual(lost(await leave()), [])
  })

  test('a frozen replica is passed over, and whoever met it is served by the other', async () => {
    const { more, leave } = crowd(front.url)
    await more()
    replicas[0].freeze()
    await more()
    replicas[0].thaw()
    await more()
    assert.deepEqual(lost(await leave()), [])
  })

  test('a replica that is cut off from the database refuses before money, and is passed over', async () => {
    const { more, leave } = crowd(front.url)
    await more()
    cable.cut()
    await more()
    cable.join()
    await more()
    assert.deepEqual(lost(await leave()), [])
  })
}
