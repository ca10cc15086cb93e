import assert from 'node:assert/strict'
import { test } from 'node:test'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, reconcileRail } from '../../operations/desk.ts'
import { mppStranger, x402Stranger } from '../../operations/strangers.ts'
import { startShop } from '../../support/shop.ts'
import { startBetweenNodes } from '../support/stepped-shop.ts'

const TEMPO = 42431
const AMOUNT = 700_000n
/** The blocks of the first look have been buried by others. */
const NOT_AGAIN = { ...AT_ONCE, rescanBlocks: 0n, lookBackBlocks: 0n }

// The first of two nodes searches its blocks for transfers and finds none of the last ones: it is behind the one that told the newest block, or hides them.

for (const strangerOf of [x402Stranger, mppStranger])
  test(`E87: orphaned money that the first of two nodes does not find goes back (${strangerOf.name})`, async (t) => {
    const { shop, meddler } = await startBetweenNodes(t)
    const stranger = await strangerOf(shop)
    const { rail } = stranger
    await reconcileRail(shop, rail, AT_ONCE)
    await stranger.give(AMOUNT)
    const heal = meddler.meddle('eth_getLogs', () => [])
    await reconcileRail(shop, rail, NOT_AGAIN)
    heal()
    await reconcileRail(shop, rail, NOT_AGAIN)
    assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT])
  })

test('E116: orphaned money that the only node does not find for minutes, though it names the blocks, goes back', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  const stranger = await mppStranger(shop)
  const { rail } = stranger
  const back = () => transfers(shop, rail, demoAddressOf('treasury'), stranger.address)
  await reconcileRail(shop, rail, AT_ONCE)
  await stranger.give(AMOUNT)
  const heal = meddler.meddle('eth_getLogs', () => [])
  await reconcileRail(shop, rail, NOT_AGAIN)
  heal()
  const seldom = { ...NOT_AGAIN, lookBackBlocks: 100n }
  await reconcileRail(shop, rail, seldom)
  assert.deepEqual(await back(), [], 'it is not looked for all the time')
  await shop.store.db.query(
    `update tills set created_at = now() - interval '5 minutes', alive_at = now() - interval '1 minute'`,
  )
  await reconcileRail(shop, rail, seldom)
  assert.deepEqual(await back(), [AMOUNT])
})

test('E116: a node that has thrown earlier blocks away does not keep the books from being kept', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({ wrapTransport: meddler.wrap })
  t.after(() => shop.stop())
  const stranger = await mppStranger(shop)
  const { rail } = stranger
  await stranger.give(1n)
  await reconcileRail(shop, rail, AT_ONCE)
  await stranger.give(AMOUNT)
  const { rows } = await shop.store.db.query<{ checked: string }>(
    `update tills set created_at = now() - interval '5 minutes', alive_at = now() - interval '1 minute' where id like 'tempo%'
     returning checked_block as checked`,
  )
  meddler.meddle('eth_getLogs', ([filter], ask) => {
    const { fromBlock } = filter as unknown as { readonly fromBlock: string }
    if (Number(fromBlock) <= Number(rows[0]!.checked))
      throw new Refused({ code: -32000, message: 'history has been pruned' })
    return ask()
  })
  await reconcileRail(shop, rail, { ...NOT_AGAIN, lookBackBlocks: 100n })
  assert.deepEqual(await transfers(shop, rail, demoAddressOf('treasury'), stranger.address), [AMOUNT])
})

test('E102: the books are kept though the first of two nodes is a block behind, and refuses to search blocks that it has not got', async (t) => {
  const { shop, meddler } = await startBetweenNodes(t)
  const stranger = await mppStranger(shop)
  await stranger.give(AMOUNT)
  let newest = 0
  meddler.meddle('eth_getBlockByNumber', async ([tag], ask, chain) => {
    const block = (await ask()) as { readonly number: string }
    if (chain !== TEMPO || tag !== 'latest') return block
    newest = Number(block.number) - 1
    return { ...block, number: `0x${newest.toString(16)}` }
  })
  meddler.meddle('eth_getLogs', ([filter], ask, chain) => {
    const { toBlock } = filter as unknown as { readonly toBlock: string }
    if (chain === TEMPO && Number(toBlock) > newest)
      throw new Refused({ message: 'One of the blocks specified in filter cannot be found.' })
    return ask()
  })
  await reconcileRail(shop, stranger.rail, AT_ONCE)
  const { rows } = await shop.store.db.query<{ amount: string }>('select amount from arrivals')
  assert.deepEqual(
    rows.map(({ amount }) => BigInt(amount)),
    [AMOUNT],
  )
})

for (const place of ['first', 'second'] as const)
  test(`E107: the books are kept though the ${place} of two nodes has thrown old blocks away, and refuses to search them`, async (t) => {
    const { shop, meddler, other } = await startBetweenNodes(t)
    const stranger = await mppStranger(shop)
    await reconcileRail(shop, stranger.rail, AT_ONCE)
    await stranger.give(AMOUNT)
    const pruned = place === 'first' ? meddler : other
    pruned.meddle('eth_getLogs', () => {
      throw new Refused({ code: -32000, message: 'history has been pruned for this block' })
    })
    await reconcileRail(shop, stranger.rail, AT_ONCE)
    const { rows } = await shop.store.db.query<{ amount: string }>('select amount from arrivals')
    assert.deepEqual(
      rows.map(({ amount }) => BigInt(amount)),
      [AMOUNT],
    )
  })
