import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import type { Database } from '../../../src/store/db.ts'
import { impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { until } from '../../support/until.ts'
import { stallingTransports } from '../support/stalling-transports.ts'
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

type Stall = { readonly method: string; readonly chain: 'native' | 'tempo' }

/** Two replicas begin; the one whose nodes answer asks to be paid; the other one ends its reading; then the payment is shown. */
async function sellBetween(
  { shop, buyer, database }: Omit<Awaited<ReturnType<typeof startWithBackup>>, 'backup'> & { database: Database },
  rail: RailUnderTest,
  stall: Stall,
) {
  const { transports, release, isStalled } = stallingTransports(
    shop,
    stall.chain,
    ({ method }) => method === stall.method,
  )
  const configure = impatiently
  const late = shop.replica({ database, configure, transports })
  await until(async () => isStalled())
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
}

for (const [when, begin] of Object.entries(BEFORE))
  for (const rail of [x402UnderTest, mppPullUnderTest, mppPushUnderTest])
    test(`E163: ${when}, whoever was asked to pay by ${rail.name} by the replica that sells again buys, though the other replica ends its reading later`, async (t) => {
      const parts = await startWithBackup(t)
      const database = await begin(parts)
      await sellBetween({ ...parts, database }, rail, { method: 'eth_getLogs', chain: 'tempo' })
    })

// Its proof that the store was put back is older than what the first has set aside since, and must not be held against it.
for (const [what, stall] of [
  ['counts what its keys have sent', { method: 'eth_getTransactionCount', chain: 'native' }],
  ['reads the first till', { method: 'eth_getLogs', chain: 'native' }],
  ['sets aside what has bought before', { method: 'eth_getTransactionReceipt', chain: 'tempo' }],
] as const)
  for (const rail of [mppPullUnderTest, mppPushUnderTest])
    test(`E164: after a restore, whoever was asked to pay by ${rail.name} by the replica that sells again buys, though the other replica still ${what}`, async (t) => {
      const { shop, backup: database, buyer } = await startWithBackup(t)
      await copyDatabase(shop.store.db, database, silentLog)
      for (const { rail: name, header, pay } of [x402UnderTest, mppPullUnderTest]) {
        const request = { ...LOT, beneficiary: buyer.address }
        const url = `${shop.url}/agentic/${name}/buy`
        const credential = await pay(shop, buyer, await fetch(url, post(request)))
        assert.equal((await fetch(url, post(request, { [header]: credential }))).status, 200)
      }
      await sellBetween({ shop, buyer, database }, rail, stall)
    })
