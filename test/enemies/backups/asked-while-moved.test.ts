import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { until } from '../../support/until.ts'
import { isOpen, replaceable } from '../support/moving-store.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// A host died, and with it the server of the store and one replica of the shop. The standby was promoted. The other replica knows that the store has moved, waits
// for the word of the dead one for as long as a lease, and sells nothing meanwhile. So it must not ask to be paid: what was asked for then buys nothing afterwards.

for (const rail of [x402UnderTest, mppPushUnderTest])
  test(`E161: nobody is asked to pay by ${rail.name} while a shop whose store has moved sells nothing`, async (t) => {
    const { shop, backup, buyer } = await startWithBackup(t)
    const { database, replaceBy } = replaceable(await shop.store.replica())
    const service = await shop.replica({ database })
    // Its own words and those of the first process, which is the dead one.
    await copyDatabase(shop.store.db, backup, silentLog)
    await backup.query(`update tills set birth = store_birth() || ' '`)
    const stop = new AbortController()
    t.after(() => stop.abort())
    service.operations.gate.watch(stop.signal)
    replaceBy(backup)
    await until(async () => !isOpen(service))
    const request = { ...LOT, beneficiary: buyer.address }
    const url = `${service.url}/agentic/${rail.rail}/buy`
    const asked = await fetch(url, post(request))
    assert.equal(asked.status, 503)
  })
