import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../src/base/log.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import type { Config } from '../../src/config/config.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { copyDatabase } from '../../src/store/copy.ts'
import { createMeddler } from '../checkout/meddler.ts'
import { nftsOf, transfers } from '../crash/flows.ts'
import { AT_ONCE, impatiently, LOT, reconcileRail } from '../operations/desk.ts'
import { mppStranger, x402Stranger } from '../operations/strangers.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPushUnderTest } from '../support/credentials.ts'
import { openStore } from '../support/database.ts'
import { plainTransports, startShop } from '../support/shop.ts'

// From where to where the books are read is told by blocks, and one of two nodes makes up their numbers or their times.

const AMOUNT = 700_000n

type Block = { readonly number: string; readonly timestamp: string }

for (const strangerOf of [x402Stranger, mppStranger])
  test(`E88: a height that one of two nodes makes up does not end the reading of the till (${strangerOf.name})`, async (t) => {
    const meddler = createMeddler()
    const shop = await startShop({
      withoutWorker: true,
      wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), transport],
    })
    t.after(() => shop.stop())
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
  const shop = await startShop({ withoutWorker: true })
  const backup = await openStore('postgres')
  t.after(async () => {
    await shop.stop()
    await backup.drop()
  })
  const buyer = await fundedWallet(shop)
  await copyDatabase(shop.store.db, backup.db, silentLog)
  const configure = (config: Config) => impatiently({ ...config, mpp: { ...config.mpp!, recipient: RECIPIENT } })
  const request = { ...LOT, beneficiary: buyer.address }
  const { url } = await shop.replica({ configure })
  const credential = await mppPushUnderTest.pay(shop, buyer, await fetch(`${url}/agentic/mpp/buy`, post(request)))
  const paid = post(request, { authorization: credential })
  assert.equal((await fetch(`${url}/agentic/mpp/buy`, paid)).status, 200)
  const meddler = createMeddler()
  meddler.meddle('eth_getBlockByNumber', async ([tag], ask) => {
    const block = (await ask()) as Block | null
    if (!block || tag === 'latest') return block
    return { ...block, timestamp: `0x${(Number(block.timestamp) - AGO_SECONDS).toString(16)}` }
  })
  const transports = new Map(
    [...plainTransports(shop.chains)].map(([chainId, plain]) => {
      const honest = plain as RpcTransport
      return [chainId, [meddler.wrap(chainId, honest), honest]]
    }),
  )
  const restored = await shop.replica({ database: backup.db, transports, configure })
  const again = await fetch(`${restored.url}/agentic/mpp/buy`, paid)
  const { code } = (await again.json()) as { code?: string }
  const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
  assert.deepEqual({ status: again.status, code, nfts }, { status: 409, code: 'payment_conflict', nfts: 1 })
})
