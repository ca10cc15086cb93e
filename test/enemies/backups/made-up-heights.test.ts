import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, reconcileRail } from '../../operations/desk.ts'
import { mppStranger, x402Stranger } from '../../operations/strangers.ts'
import { startBetweenNodes } from '../support/stepped-shop.ts'
import { buyAfterBackup, HELD, twoNodes } from './purchase-after-backup.ts'

// From where to where the books are read is told by blocks, and one of two nodes makes up their numbers or their times.

const AMOUNT = 700_000n

type Block = { readonly number: string; readonly timestamp: string }

for (const strangerOf of [x402Stranger, mppStranger])
  test(`E88: a height that one of two nodes makes up does not end the reading of the till (${strangerOf.name})`, async (t) => {
    const { shop, meddler } = await startBetweenNodes(t)
    const stranger = await strangerOf(shop)
    const { rail } = stranger
    const heal = meddler.meddle('eth_getBlockByNumber', async ([tag], ask) => {
      const block = (await ask()) as Block | null
      return block && tag === 'latest'
        ? { ...block, number: `0x${(Number(block.number) + 100_000).toString(16)}` }
        : block
    })
    await reconcileRail(shop, rail, AT_ONCE)
    heal()
    await stranger.give(AMOUNT)
    await reconcileRail(shop, rail, AT_ONCE)
    assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT])
  })

const RECIPIENT = '0x00000000000000000000000000000000005e11e2'
const AGO_SECONDS = 7_200

test('E88: a time that one of two nodes makes up does not keep a till that is younger than the backup from being read', async (t) => {
  const configure = (config: Config): Config => ({ ...config, mpp: { ...config.mpp!, recipient: RECIPIENT } })
  const { shop, putBack, again } = await buyAfterBackup(t, { configure })
  const meddler = createMeddler()
  meddler.meddle('eth_getBlockByNumber', async ([tag], ask) => {
    const block = (await ask()) as Block | null
    if (!block || tag === 'latest') return block
    return { ...block, timestamp: `0x${(Number(block.timestamp) - AGO_SECONDS).toString(16)}` }
  })
  const { url } = await putBack(twoNodes(shop, meddler))
  assert.deepEqual(await again(url), HELD)
})

/** More than are read again by every look. */
const BEHIND = 200

test('E88: a node that stands still does not end what a shop reads after a backup was put back: it sells when both have the same', async (t) => {
  const { shop, putBack, buy, again } = await buyAfterBackup(t, {
    async meanwhile({ chains }) {
      for (let mined = 0; mined < BEHIND; mined++) await chains.tempo.request({ method: 'evm_mine', params: [] })
    },
  })
  const meddler = createMeddler()
  const heal = meddler.meddle('eth_getBlockByNumber', async ([tag], ask) => {
    const block = (await ask()) as Block | null
    return block && tag === 'latest' ? { ...block, number: `0x${(Number(block.number) - BEHIND).toString(16)}` } : block
  })
  const { url } = await putBack(twoNodes(shop, meddler, 'other'))
  assert.equal((await buy(url)).status, 202)
  heal()
  assert.deepEqual(await again(url), HELD)
})
