import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { loadConfig } from '../../../src/config/load.ts'
import { type DevChains, startDevChains } from '../../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../../src/devchain/server.ts'
import { seedSandboxGame } from '../../../src/sandbox/players.ts'
import { startWorld, type World } from '../../../src/sandbox/world.ts'
import { PUBLIC_URL } from '../../crash/protocol.ts'
import { createReplicas, type Replica } from '../../crash/replicas.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'

// A machine whose clock is wrong: all of its process sees the wrong time, the libraries too. The store has the right one.

let store: TestStore
let chains: DevChains
let rpc: RpcServer
let world: World
before(async () => {
  store = await openStore('postgres')
  await seedSandboxGame(store.db)
  chains = await startDevChains()
  rpc = await serveRpc([chains.native, chains.tempo])
  const loaded = loadConfig({ SUTLER_BASE_URL: PUBLIC_URL })
  if (loaded.mode !== 'sandbox') throw new TypeError('tests run the sandbox')
  world = await startWorld(loaded, chains)
})
after(async () => {
  await rpc.close()
  await chains.close()
  await store.drop()
})

for (const [what, shiftMs] of [
  ['ten minutes fast', 600_000],
  ['ten minutes slow', -600_000],
] as const)
  describe(`M-27: a replica whose process is ${what}`, () => {
    let replicas: ReturnType<typeof createReplicas>
    let replica: Replica
    before(async () => {
      replicas = createReplicas(
        {
          databaseUrl: store.place.url!,
          rpcUrls: { 84532: [`${rpc.url}/84532`], 42431: [`${rpc.url}/42431`] },
          leaseSeconds: 2,
          // What it would load at the first payment must not take as long as that payment is good for.
          isWarm: true,
          verbose: false,
        },
        {
          preload: join(import.meta.dirname, 'children/shifted-clock.ts'),
          env: { TEST_CLOCK_SHIFT_MS: String(shiftMs) },
        },
      )
      replica = await replicas.start()
    })
    after(() => replicas.stop())

    for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
      test(`sells by ${rail.name} to a stock client`, async () => {
        const market = { chains, config: world.config }
        const buyer = await fundedWallet(market)
        const url = `${replica.url}/agentic/${rail.rail}/buy`
        const body = { saleId: 392, beneficiary: buyer.address }
        const credential = await rail.pay(market, buyer, await fetch(url, post(body)))
        const answer = await fetch(url, post(body, { [rail.header]: credential }))
        assert.equal(answer.status, 200, await answer.text())
      })

    test('is wrong indeed: what nobody sets right is off by as much', () => {
      assert.ok(Math.abs(replica.clockAtStart - Date.now() - shiftMs) < 300_000)
    })
  })
