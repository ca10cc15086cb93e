import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { plainTransports } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// A backup was put back, and two replicas are started on it together. One has read the chains and sells; the other one's node takes a while longer.

const BEFORE = {
  'after a restore': async ({ shop, backup }: Awaited<ReturnType<typeof startWithBackup>>) => {
    await copyDatabase(shop.store.db, backup, silentLog)
    return backup
  },
  'after a night, with nothing put back': async ({ shop }: Awaited<ReturnType<typeof startWithBackup>>) => {
    await shop.store.db.query(`update tills set alive_at = now() - interval '8 hours'`)
    return shop.store.db
  },
}

for (const [when, begin] of Object.entries(BEFORE))
  for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
    test(`E163: ${when}, whoever was asked to pay by ${rail.name} by the replica that sells again buys, though the other replica ends its reading later`, async (t) => {
      const parts = await startWithBackup(t)
      const { shop, buyer } = parts
      const database = await begin(parts)
      let release = () => {}
      let isStalled = false
      const go = new Promise<void>((resolve) => {
        release = resolve
      })
      const slow = new Map(
        [...plainTransports(shop.chains)].map(([chainId, plain]) => {
          const transport: RpcTransport = async (request, max) => {
            if (request.method === 'eth_getLogs' && chainId === shop.chains.tempo.chainId) {
              isStalled = true
              await go
            }
            return (plain as RpcTransport)(request, max)
          }
          return [chainId, transport] as const
        }),
      )
      const configure = impatiently
      const late = shop.replica({ database, configure, transports: slow })
      await until(() => isStalled)
      const early = await shop.replica({ database, configure })
      // The clock of an x402 payer is rounded up to a second.
      const request = { ...LOT, beneficiary: buyer.address }
      const url = `${early.url}/agentic/${rail.rail}/buy`
      const asked = await fetch(url, post(request))
      assert.equal(asked.status, 402)
      const credential = await rail.pay(shop, buyer, asked)
      release()
      await late
      const answer = await fetch(url, post(request, { [rail.header]: credential }))
      const { detail } = (await answer.json()) as { detail?: string }
      assert.deepEqual([answer.status, detail], [200, undefined])
    })
