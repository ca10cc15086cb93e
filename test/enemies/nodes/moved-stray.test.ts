import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { mppStranger } from '../../operations/strangers.ts'
import { startBetweenNodes } from '../support/stepped-shop.ts'

// Orphaned money waits, further back than any look goes. One of two nodes shows it in a block of today, and then no more.

const AMOUNT = 700_000n
/** More than any look goes back. */
const BLOCKS_AGO = 2_300

type Log = { readonly topics: readonly string[] }

const cases = (['meddler', 'other'] as const).flatMap((liar) => [
  { liar, title: 'where it is not', moved: {} },
  { liar, title: 'where it is not, and as another of its logs', moved: { logIndex: '0x7' } },
])

for (const { liar, title, moved } of cases)
  test(`E143: orphaned money that the ${liar === 'other' ? 'second' : 'first'} of two nodes shows ${title} goes back all the same`, async (t) => {
    const nodes = await startBetweenNodes(t)
    const { shop } = nodes
    const { tempo } = shop.chains
    const { recipient, currency } = shop.config.mpp!
    const stranger = await mppStranger(shop)
    const { rail } = stranger
    const isGift = ({ topics }: Pick<Log, 'topics'>) => topics[2]?.endsWith(recipient.slice(2).toLowerCase())
    await reconcileRail(shop, rail, TOMORROW)
    const before = (await tempo.request({ method: 'eth_blockNumber' })) as string
    await stranger.give(AMOUNT)
    await reconcileRail(shop, rail, TOMORROW)
    const since = { address: currency.address, fromBlock: before, toBlock: 'latest' }
    const given = ((await tempo.request({ method: 'eth_getLogs', params: [since] })) as readonly Log[]).find(isGift)
    for (let mined = 0; mined < BLOCKS_AGO; mined++) await tempo.request({ method: 'evm_mine', params: [] })
    await reconcileRail(shop, rail, TOMORROW)
    const blockNumber = await tempo.request({ method: 'eth_blockNumber' })
    const tellTheTruth = nodes[liar].meddle('eth_getLogs', async ([filter], ask, chainId) => {
      const shown = (await ask()) as readonly Log[]
      const isTill = chainId === tempo.chainId && isGift(filter as unknown as Log)
      return isTill ? [...shown, { ...given, blockNumber, ...moved }] : shown
    })
    await reconcileRail(shop, rail, TOMORROW)
    tellTheTruth()
    await reconcileRail(shop, rail, TOMORROW)
    for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
    assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT])
  })

test('E145: what a node shows in a block that it was not asked for is not written down', async (t) => {
  const nodes = await startBetweenNodes(t)
  const { shop } = nodes
  const { tempo } = shop.chains
  const { recipient } = shop.config.mpp!
  const stranger = await mppStranger(shop)
  const { rail } = stranger
  await reconcileRail(shop, rail, TOMORROW)
  await stranger.give(AMOUNT)
  const tellTheTruth = nodes.meddler.meddle('eth_getLogs', async ([filter], ask, chainId) => {
    const shown = (await ask()) as readonly Log[]
    const isTill = (filter as unknown as Log).topics[2]?.endsWith(recipient.slice(2).toLowerCase())
    return chainId === tempo.chainId && isTill ? shown.map((log) => ({ ...log, blockNumber: '0x0' })) : shown
  })
  await reconcileRail(shop, rail, TOMORROW)
  tellTheTruth()
  await reconcileRail(shop, rail, TOMORROW)
  const { rows } = await shop.store.db.query('select count(*)::int as n from arrivals where block_number = 0')
  assert.deepEqual(rows, [{ n: 0 }])
})
