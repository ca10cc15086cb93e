import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { WaypointName } from '../../src/base/waypoint.ts'
import { loadConfig } from '../../src/config/load.ts'
import { type DevChains, startDevChains } from '../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { startWorld } from '../../src/sandbox/world.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { createDatabase, onServer, type TestDatabase } from '../support/postgres.ts'
import { type CrashWorld, type Flow, flows, judge } from './flows.ts'
import { PUBLIC_URL } from './protocol.ts'
import { createReplicas, type Replica } from './replicas.ts'

// kill -9 of a real server process at every waypoint of every flow. The lanes are replicas on one store: an order whose process dies is
// taken over by whichever replica comes first. C-01, and C-02 where the process that recovers is killed as well.

const KILLS = Number(process.env['SUTLER_TEST_KILLS'] ?? 200)
const LANES = 2
/** Every so many kills, the process that recovers is killed too. */
const NESTED_EVERY = 4

let database: TestDatabase
let chains: DevChains
let rpc: RpcServer
let world: CrashWorld
let replicas: ReturnType<typeof createReplicas>

before(async () => {
  database = await createDatabase()
  chains = await startDevChains()
  rpc = await serveRpc([chains.native, chains.tempo])
  const loaded = loadConfig({ SUTLER_BASE_URL: PUBLIC_URL })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  const { config } = await startWorld(loaded, chains)
  world = { chains, config }
  const rpcUrls = { 84532: `${rpc.url}/84532`, 42431: `${rpc.url}/42431` }
  replicas = createReplicas(
    { databaseUrl: database.url, rpcUrls, leaseSeconds: 1, verbose: process.env['SUTLER_TEST_VERBOSE'] === '1' },
    LANES + 1,
  )
})
after(async () => {
  replicas.stop()
  await rpc.close()
  await chains.close()
  await database.drop()
})

type Attempt = {
  readonly flow: Flow
  readonly buyer: PrivateKeyAccount
  readonly prepared: unknown
  readonly init: RequestInit
  readonly credential: string
}

async function begin(flow: Flow, replica: Replica): Promise<Attempt> {
  const buyer = await fundedWallet(world)
  const prepared = await flow.prepare?.(world, buyer)
  const body = flow.body(buyer, prepared)
  const init = body === null ? {} : post(body)
  const unpaid = await fetch(replica.url + flow.path, init)
  assert.equal(unpaid.status, 402)
  return { flow, buyer, prepared, init, credential: await flow.rail.pay(world as never, buyer, unpaid) }
}

/** One call with the credential; null when the server died under it. */
async function call(replica: Replica, { flow, init, credential }: Attempt): Promise<number | null> {
  const headers = { ...(init.headers as Record<string, string>), [flow.rail.header]: credential }
  try {
    const response = await fetch(replica.url + flow.path, { ...init, headers })
    const body = (await response.json()) as { refund?: { status: string } }
    const isEnd = response.status !== 202 && !(response.status === 409 && body.refund?.status === 'refunding')
    return isEnd ? response.status : 202
  } catch {
    return null
  }
}

/** Shows the same credential to living replicas until the answer is final, as an agent does that lost its answer. */
async function finish(attempt: Attempt, next: () => Promise<Replica>): Promise<number> {
  for (;;) {
    const status = await call(await next(), attempt)
    if (status !== null && status !== 202) return status
  }
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

test(`${KILLS} kills at every waypoint: lost 0, doubled 0, stuck 0`, async (t) => {
  const cases = [...paths].flatMap(([flow, passed]) => passed.map((name, index) => ({ flow, name, at: index + 1 })))
  let done = 0
  let kills = 0
  const byWaypoint = new Map<WaypointName, number>()

  async function lane(): Promise<void> {
    let replica = await replicas.start()
    const living = async () => {
      if (replica.isDead()) replica = await replicas.start()
      return replica
    }
    const killed = async (): Promise<void> => {
      await replica.died
      kills++
    }
    while (kills < KILLS) {
      const number = done++
      const { flow, name, at } = cases[number % cases.length]!
      const attempt = await begin(flow, await living())
      await replica.crashAfter(at)
      const status = await call(replica, attempt)
      if (status === null || replica.isDead()) {
        await killed()
        byWaypoint.set(name, (byWaypoint.get(name) ?? 0) + 1)
      } else replica.kill()
      if (number % NESTED_EVERY === 0) {
        // The one that recovers dies at its first steps too.
        await (await living()).crashAfter(1 + (number % 5))
      }
      const final = status !== null && status !== 202 ? status : await finish(attempt, living)
      await judge(world, flow, attempt.buyer, attempt.prepared, final)
      if (!replica.isDead()) {
        replica.kill()
        await replica.died
      }
    }
    replica.kill()
  }
  await Promise.all(Array.from({ length: LANES }, lane))

  const open = await onServer(
    database.url,
    async (client) =>
      (
        await client.query(
          `select status, count(*)::int as n from orders where status not in ('confirmed', 'refunded', 'expired') group by status`,
        )
      ).rows,
  )
  assert.deepEqual(open, [], 'no order is stuck')
  const reached = new Set([...paths.values()].flat())
  t.diagnostic(
    `${kills} kills, ${done} purchases, at ${byWaypoint.size} of ${reached.size} waypoints: ${JSON.stringify(Object.fromEntries(byWaypoint))}`,
  )
})
