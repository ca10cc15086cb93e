import assert from 'node:assert/strict'
import { after, before, type TestContext, test } from 'node:test'
import { type Log, silentLog } from '../../src/base/log.ts'
import { providerTransport } from '../../src/chain/transport.ts'
import type { Parts } from '../../src/service/parts.ts'
import { startService } from '../../src/service/service.ts'
import { type Cable, layCable } from '../proxy/cable.ts'
import { freePort } from '../support/free-port.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// A replica that starts while its database recovers, is replaced, or shares a machine that is much too busy: it waits, as the ones that
// run already do. Whoever starts it would otherwise start it again at once, five times, and then leave it.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

/** Starts one more replica by `cable`, which is joined again as soon as the replica says that it waits. */
async function startBy(cable: Cable, t: TestContext, parts: Parts = {}): Promise<void> {
  t.after(() => cable.close())
  const { config, chains } = shop
  let hasWaited = false
  const log: Log = {
    ...silentLog,
    warn(message) {
      if (!message.endsWith('the start waits for it')) return
      hasWaited = true
      cable.join()
    },
  }
  const transports = new Map([chains.native, chains.tempo].map((chain) => [chain.chainId, providerTransport(chain)]))
  const own = {
    ...config,
    http: { ...config.http, port: await freePort() },
    store: { ...config.store, url: cable.url },
  }
  const replica = await startService(own, { ...parts, log, transports, startsCold: true, withoutWorker: true })
  t.after(() => replica.stop())
  assert.ok(hasWaited)
  assert.equal((await fetch(`${replica.url}/health/ready`)).status, 200)
}

test('a start waits for a database that does not answer at all', async (t) => {
  const cable = await layCable(shop.store.place.url!)
  cable.silence()
  await startBy(cable, t)
})

test('a start waits for a database that falls silent between two of its questions', async (t) => {
  const cable = await layCable(shop.store.place.url!)
  await startBy(cable, t, {
    async furnish() {
      cable.silence()
      return []
    },
  })
})
