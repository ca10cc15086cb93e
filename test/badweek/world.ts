import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { loadConfig } from '../../src/config/load.ts'
import { SANDBOX_OPERATOR_TOKEN } from '../../src/config/published.ts'
import { type DevChains, startDevChains } from '../../src/devchain/chains.ts'
import { serveRpc } from '../../src/devchain/server.ts'
import { startWorld } from '../../src/sandbox/world.ts'
import type { CrashWorld } from '../crash/flows.ts'
import { PUBLIC_URL } from '../crash/protocol.ts'
import { type Front, proxies, startProxy } from '../proxy/proxies.ts'
import { type Replica, replicaAt } from '../proxy/replica.ts'
import { type Studio, startStudio } from '../shop/studio.ts'
import { type Cluster, startCluster } from '../support/cluster.ts'
import { storeIn, type TestStore } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { layWire, type Wire } from './wire.ts'

/** A production as people have it, every part of which can break. */
export type BadWorld = CrashWorld & {
  readonly chains: DevChains
  readonly store: TestStore
  readonly cluster: Cluster
  readonly studio: Studio
  /** Two of each chain, behind one wire each. */
  readonly nodes: Readonly<Record<'native' | 'tempo', readonly [Wire, Wire]>>
  readonly replicas: readonly RunningReplica[]
  readonly proxy: { url(): string; kill(): Promise<void>; start(): Promise<void> }
  readonly receiver: { isDown: boolean }
  operator(path: string, init?: RequestInit): Promise<Response>
  stop(): Promise<void>
}

export type RunningReplica = Replica & {
  readonly url: string
  readonly logFile: string
  /** To both servers of the database. */
  readonly wires: readonly Wire[]
}

export async function startBadWorld(): Promise<BadWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-badweek-'))
  const cluster = await startCluster({ onSmallDisk: true })
  const store = await storeIn({ url: cluster.url, drop: async () => {} })
  const chains = await startDevChains({ faults: true })
  const loaded = loadConfig({ SUTLER_BASE_URL: PUBLIC_URL })
  if (loaded.mode !== 'sandbox') throw new TypeError('a bad week is played in the sandbox')
  const sandbox = await startWorld(loaded, chains)
  const studio = await startStudio(privateKeyToAccount(generatePrivateKey()).address)
  const rpc = await serveRpc([chains.native, chains.tempo])
  const rpcPort = () => Number(new URL(rpc.url).port)
  const pair = async () => [await layWire(rpcPort), await layWire(rpcPort)] as const
  const nodes = { native: await pair(), tempo: await pair() }
  const urlsOf = (wires: readonly Wire[], chainId: number) =>
    wires.map(({ port }) => `http://127.0.0.1:${port}/${chainId}`)
  const order = {
    rpcUrls: { 84532: urlsOf(nodes.native, 84532), 42431: urlsOf(nodes.tempo, 42431) },
    leaseSeconds: 4,
    drainSeconds: 3,
    waitMsMax: 2_000,
    verbose: false,
    env: {
      SUTLER_STANDBY: 'synchronous',
      SUTLER_GAME_BACKEND: studio.url,
      SUTLER_GAME_BACKEND_SECRET: studio.secret.reveal(),
      SUTLER_RECONCILE_SECONDS: '5',
      SUTLER_RETURN_AFTER_SECONDS: '5',
    },
  }
  const replicas = await Promise.all([1, 2].map((n) => replicaIn(join(folder, `replica-${n}.log`), cluster, order)))
  await Promise.all(replicas.map((replica) => replica.start()))
  const [first, second] = replicas as [RunningReplica, RunningReplica]
  const asShipped = { port: await freePort(), answerWithin: '20s' }
  const startFront = () => startProxy(proxies[0]!, [first.address, second.address], asShipped)
  let front: Front = await startFront()
  const operator: BadWorld['operator'] = (path, init = {}) =>
    fetch(front.url + path, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${SANDBOX_OPERATOR_TOKEN}` },
    })
  const { receiver, server } = await startReceiver(operator)
  return {
    chains,
    config: sandbox.config,
    world: sandbox,
    store,
    cluster,
    studio,
    nodes,
    replicas,
    receiver,
    operator,
    proxy: {
      url: () => front.url,
      kill: () => front.stop(),
      async start() {
        front = await startFront()
      },
    },
    async stop() {
      await front.stop()
      await Promise.all(replicas.map((replica) => replica.kill()))
      for (const wire of [...nodes.native, ...nodes.tempo, ...replicas.flatMap(({ wires }) => wires)]) wire.close()
      server.close()
      await studio.stop()
      await rpc.close()
      await store.drop()
      await chains.close()
      await cluster.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type OrderInWorld = Omit<Parameters<typeof replicaAt>[0], 'databaseUrl' | 'port' | 'logFile'>

async function replicaIn(logFile: string, cluster: Cluster, order: OrderInWorld): Promise<RunningReplica> {
  const ports = [cluster.primary.port, cluster.standby.port]
  const wires = await Promise.all(ports.map((port) => layWire(() => port)))
  const hosts = wires.map(({ port }) => `127.0.0.1:${port}`).join(',')
  const replica = replicaAt({
    ...order,
    databaseUrl: `postgres://postgres@${hosts}/shop`,
    port: await freePort(),
    logFile,
  })
  return { ...replica, url: `http://${replica.address}`, logFile, wires }
}

/** Somebody who is told of everything by webhook. */
async function startReceiver(
  operator: BadWorld['operator'],
): Promise<{ receiver: { isDown: boolean }; server: Server }> {
  const receiver = { isDown: false }
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(receiver.isDown ? 500 : 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const added = await operator('/operator/webhooks', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ url }),
  })
  if (!added.ok) throw new Error(`no webhook: ${await added.text()}`)
  return { receiver, server }
}
