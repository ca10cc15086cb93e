import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { WaypointName } from '../../src/base/waypoint.ts'
import { loadConfig } from '../../src/config/load.ts'
import { type DevChains, startDevChains } from '../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { seedSandboxGame } from '../../src/sandbox/players.ts'
import { startWorld } from '../../src/sandbox/world.ts'
import { statement } from '../../src/store/statement.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { untilAnswered } from '../support/until.ts'
import { createWeather } from '../support/weather.ts'
import { assertNotDenied, type CrashWorld, flows as coreFlows, type Flow, judge } from './flows.ts'
import { openMailbox } from './mailbox.ts'
import { PUBLIC_URL } from './protocol.ts'
import { createReplicas, type Replica } from './replicas.ts'
import { surfaceFlows } from './surface-flows.ts'

// kill -9 of a real server process at every waypoint of every flow. The lanes are replicas on one store: an order whose process dies is
// taken over by whichever replica comes first, while a node lags now and then and gas is dear at times. C-01, and C-01 where the process that recovers is killed as well.

/** `npm run kills` takes 200, or any number by option. */
const KILLS = Number(process.env['TEST_KILLS'] ?? 1)
const LANES = 2
/** Every so many kills, the process that recovers is killed too. */
const NESTED_EVERY = 4
/** Cases are taken in strides, so that even a short run meets every flow and every waypoint. */
const STRIDE = 37

const flows = [...coreFlows, ...surfaceFlows]

let store: TestStore
let chains: DevChains
let rpc: RpcServer
/** The node that everybody asks first, and that is behind now and then. */
let first: RpcServer
const weather = createWeather(() => chains)
const WEATHERS = ['calm', 'lagging', 'dear'] as const
let world: CrashWorld
let replicas: ReturnType<typeof createReplicas>

before(async () => {
  store = await openStore('postgres')
  await seedSandboxGame(store.db)
  chains = await startDevChains({ faults: true })
  rpc = await serveRpc([chains.native, chains.tempo])
  first = await serveRpc([weather.firstNode(chains.native), weather.firstNode(chains.tempo)])
  const loaded = loadConfig({ SUTLER_BASE_URL: PUBLIC_URL })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  const sandbox = await startWorld(loaded, chains)
  world = { chains, config: sandbox.config, world: sandbox, store }
  const nodes = [first, rpc].map(({ url }) => url)
  const rpcUrls = { 84532: nodes.map((url) => `${url}/84532`), 42431: nodes.map((url) => `${url}/42431`) }
  replicas = createReplicas(
    { databaseUrl: store.place.url!, rpcUrls, leaseSeconds: 1, verbose: process.env['TEST_VERBOSE'] === '1' },
    { sparesMax: KILLS > 20 ? LANES + 1 : 0 },
  )
})
after(async () => {
  replicas.stop()
  await first.close()
  await rpc.close()
  await chains.close()
  await store.drop()
})

const OPEN_ORDERS = statement<{ status: string; n: number }>(`
  select status, count(*)::int as n
  from orders
  where status not in ('confirmed', 'refunded', 'expired')
  group by status`)

type Attempt = {
  readonly flow: Flow
  readonly buyer: PrivateKeyAccount
  readonly prepared: unknown
  readonly init: RequestInit
  readonly credential: string
}

async function begin(flow: Flow, replica: Replica): Promise<Attempt> {
  const buyer = await fundedWallet(world)
  const prepared = await flow.prepare?.(world, buyer, replica.url)
  const body = flow.body(buyer, prepared)
  const init = body === null ? {} : post(body)
  const unpaid = await fetch(replica.url + flow.path, init)
  assert.equal(unpaid.status, 402)
  return { flow, buyer, prepared, init, credential: await flow.rail.pay(world, buyer, unpaid) }
}

/** One call with the credential; null when the server died under it. */
async function call(replica: Replica, { flow, init, credential }: Attempt): Promise<number | null> {
  const headers = { ...(init.headers as Record<string, string>), [flow.rail.header]: credential }
  try {
    const response = await fetch(replica.url + flow.path, { ...init, headers })
    const { code, refund } = (await response.json()) as { code?: string; refund?: { status: string } | null }
    // 503 says that the same payment may be sent again; a refund that is under way is not the end of it.
    const isRefunding = code === 'fulfilment_failed' && refund?.status !== 'refunded'
    const isEnd = response.status !== 202 && response.status !== 503 && !isRefunding
    return isEnd ? response.status : 202
  } catch {
    return null
  }
}

/** Shows the same credential to living replicas until the answer is final, as an agent does that lost its answer. */
async function finish(attempt: Attempt, next: () => Promise<Replica>): Promise<number> {
  return untilAnswered(async () => {
    const status = await call(await next(), attempt)
    return status === 202 ? null : status
  })
}

test('each flow passes through its waypoints', async () => {
  const replica = await replicas.start()
  for (const flow of flows) {
    const attempt = await begin(flow, replica)
    const passed = await replica.record(async () => {
      await finish(attempt, async () => replica)
    })
    await judge(world, flow, attempt.buyer, attempt.prepared, flow.ends === 'delivered' ? 200 : 409)
    paths.set(flow, passed)
  }
  replica.kill()
  await replica.died
})

const paths = new Map<Flow, readonly WaypointName[]>()

/** One lane's bad weather is not another's preparation: whoever gets something ready for a purchase needs chains that answer. */
let last: Promise<unknown> = Promise.resolve()
function alone<Result>(work: () => Promise<Result>): Promise<Result> {
  const next = last.then(work)
  last = next.catch(() => {})
  return next
}

test(`C-01: ${KILLS} kills at every waypoint: lost 0, doubled 0, stuck 0`, {
  timeout: 600_000 + KILLS * 10_000,
}, async (t) => {
  const cases = [...paths].flatMap(([flow, passed]) => passed.map((name, index) => ({ flow, name, at: index + 1 })))
  assert.notEqual(cases.length % STRIDE, 0, 'the stride meets every case')
  let done = 0
  let kills = 0
  const byWaypoint = new Map<WaypointName, number>()
  const reached = new Set([...paths.values()].flat())
  // Said of a run that fails, too: how far it came.
  t.after(() => {
    const places = JSON.stringify(Object.fromEntries(byWaypoint))
    t.diagnostic(`${kills} kills, ${done} purchases, at ${byWaypoint.size} of ${reached.size} waypoints: ${places}`)
  })
  const mailbox = await openMailbox(store.db)
  t.after(mailbox.stop)

  async function lane(): Promise<void> {
    let replica = await replicas.start()
    /** The process that is alive now. One that died on the way was killed at a waypoint. */
    const living = async () => {
      if (!replica.isDead()) return replica
      kills++
      replica = await replicas.start()
      return replica
    }
    while (kills < KILLS) {
      const number = done++
      const { flow, name, at } = cases[(number * STRIDE) % cases.length]!
      const attempt = await alone(async () => begin(flow, await living()))
      const status = await alone(async () => {
        await (await living()).crashAfter(at)
        await weather.turn(WEATHERS[number % WEATHERS.length]!)
        const answer = await call(replica, attempt)
        // Nothing lasts for ever: on chains that make a block for each transaction, whoever lags would lag until the next purchase.
        await weather.turn('calm')
        return answer
      })
      if (status === null) {
        await replica.died
        byWaypoint.set(name, (byWaypoint.get(name) ?? 0) + 1)
        await assertNotDenied(world, flow, attempt.buyer, (await living()).url)
        // The one that recovers dies at its first steps too.
        if (number % NESTED_EVERY === 0) await (await living()).crashAfter(1 + (number % 5))
      }
      const final = status !== null && status !== 202 ? status : await finish(attempt, living)
      await judge(world, flow, attempt.buyer, attempt.prepared, final)
      // What is armed may die at any step of its own work, and would take this question with it.
      await (await living()).disarm()
      await assertNotDenied(world, flow, attempt.buyer, (await living()).url)
    }
    replica.kill()
  }
  await Promise.all(Array.from({ length: LANES }, lane))

  const { rows: open } = await store.db.query(OPEN_ORDERS, [])
  assert.deepEqual(open, [], 'no order is stuck')
  const last = await replicas.start()
  const { events, repeated } = await mailbox.judge()
  last.kill()
  t.diagnostic(`${events} events told to a receiver: lost 0, out of order 0, told twice ${repeated}`)
})
