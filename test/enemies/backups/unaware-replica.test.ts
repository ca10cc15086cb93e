import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import type { Service } from '../../../src/service/service.ts'
import { said } from '../../checkout/counter.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { forgetPurchase } from './forgotten-purchase.ts'

// A store is put back under two replicas, and the chain has taken back what had bought. One of them has sold nothing and misses nothing, and where the server does
// not tell its history it sees no other one: only whoever starts finds by its keys what was forgotten.

const patiently = (config: Config): Config => ({ ...config, limits: { ...config.limits, waitMsMax: 60_000 } })

async function startUnaware(t: Parameters<typeof forgetPurchase>[0], rail: RailUnderTest) {
  const replicas: Service[] = []
  const forgotten = await forgetPurchase(t, rail, async (open) => void replicas.push(await open(patiently)))
  return { ...forgotten, unaware: replicas[0]! }
}

for (const [rail, taken] of [
  [x402UnderTest, 'unknown'],
  [mppPullUnderTest, 'unknown'],
  [mppPushUnderTest, true],
] as const)
  test(`E148: what had bought by ${rail.name} before a restore buys nothing at a replica that has not noticed it`, async (t) => {
    const { unaware, open, backup, bringAgain, showAgain, delivered } = await startUnaware(t, rail)
    await open()
    // When x402 has asked is known to the second.
    await backup.query(`update tills set set_aside_at = set_aside_at + interval '1 second'`)
    if (rail === mppPushUnderTest) await bringAgain()
    const answer = await showAgain(unaware)
    assert.deepEqual([answer.status, (await said(answer)).payment?.taken, await delivered()], [409, taken, 1])
  })

test('E148: nor does a push that was shown before anybody had noticed it, and that the chain shows afterwards', async (t) => {
  const { unaware, open, bringAgain, showAgain, delivered } = await startUnaware(t, mppPushUnderTest)
  const waiting = showAgain(unaware)
  await open()
  await bringAgain()
  const answer = await waiting
  assert.deepEqual([answer.status, (await said(answer)).code, await delivered()], [409, 'payment_returned', 1])
})
