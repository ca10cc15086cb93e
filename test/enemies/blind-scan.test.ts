import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { copyDatabase } from '../../src/store/copy.ts'
import { createMeddler } from '../checkout/meddler.ts'
import { nftsOf, transfers } from '../crash/flows.ts'
import { AT_ONCE, buyUrl, impatiently, payFor, reconcileRail } from '../operations/desk.ts'
import { mppStranger, x402Stranger } from '../operations/strangers.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPushUnderTest } from '../support/credentials.ts'
import { openStore } from '../support/database.ts'
import { plainTransports, startShop } from '../support/shop.ts'

const AMOUNT = 700_000n
/** The blocks of the first look have been buried by others. */
const NOT_AGAIN = { ...AT_ONCE, rescanBlocks: 0n }

// The first of two nodes searches its blocks for transfers and finds none of the last ones: it is behind the one that told the newest block, or hides them.

test('E87: a spent payment that the first of two nodes does not find does not buy again after a backup was put back', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  const backup = await openStore('postgres')
  t.after(async () => {
    await shop.stop()
    await backup.drop()
  })
  const rail = mppPushUnderTest
  const buyer = await fundedWallet(shop)
  await copyDatabase(shop.store.db, backup.db, silentLog)
  const { request, credential } = await payFor(shop, rail, buyer)
  const paid = post(request, { [rail.header]: credential })
  assert.equal((await fetch(buyUrl(shop, rail), paid)).status, 200)
  const meddler = createMeddler()
  meddler.meddle('eth_getLogs', () => [])
  const transports = new Map(
    [...plainTransports(shop.chains)].map(([chainId, plain]) => {
      const honest = plain as RpcTransport
      return [chainId, [meddler.wrap(chainId, honest), honest]]
    }),
  )
  const restored = await shop.replica({ database: backup.db, transports, configure: impatiently })
  const again = await fetch(`${restored.url}/agentic/mpp/buy`, paid)
  const { code } = (await again.json()) as { code?: string }
  const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
  assert.deepEqual({ status: again.status, code, nfts }, { status: 409, code: 'payment_conflict', nfts: 1 })
})

for (const strangerOf of [x402Stranger, mppStranger])
  test(`E87: stray money that the first of two nodes does not find goes back (${strangerOf.name})`, async (t) => {
    const meddler = createMeddler()
    const shop = await startShop({
      withoutWorker: true,
      wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), transport],
    })
    t.after(() => shop.stop())
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
