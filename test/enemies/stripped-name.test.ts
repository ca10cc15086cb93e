import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keccak256, toBytes } from 'viem'
import { silentLog } from '../../src/base/log.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import { copyDatabase } from '../../src/store/copy.ts'
import { createMeddler } from '../checkout/meddler.ts'
import { nftsOf } from '../crash/flows.ts'
import { buyUrl, impatiently, payFor } from '../operations/desk.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPushUnderTest } from '../support/credentials.ts'
import { openStore } from '../support/database.ts'
import { plainTransports, startShop } from '../support/shop.ts'
import { until, untilAnswered } from '../support/until.ts'

// C-12 with two nodes, the first of which shows the receipt of a spent payment without what names it, just as it is set aside.

const WITH_MEMO = keccak256(toBytes('TransferWithMemo(address,address,uint256,bytes32)'))

test('E94: a spent payment whose name one of two nodes leaves out does not buy again after a backup was put back', async (t) => {
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
  const heal = meddler.meddle('eth_getTransactionReceipt', async (_params, ask) => {
    const receipt = (await ask()) as { logs: { topics: string[] }[] } | null
    return receipt && { ...receipt, logs: receipt.logs.filter(({ topics }) => topics[0] !== WITH_MEMO) }
  })
  const transports = new Map(
    [...plainTransports(shop.chains)].map(([chainId, plain]) => {
      const honest = plain as RpcTransport
      return [chainId, [meddler.wrap(chainId, honest), honest]]
    }),
  )
  const restored = await shop.replica({ database: backup.db, transports, configure: impatiently })
  heal()
  // Until both show the same it sells nothing.
  await until(async () => (await backup.db.query(`select from arrivals where state = 'held'`)).rows.length === 1)
  const status = await untilAnswered(async () => {
    const again = await fetch(`${restored.url}/agentic/mpp/buy`, paid)
    return again.status === 202 ? null : again.status
  })
  const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
  assert.deepEqual({ status, nfts }, { status: 409, nfts: 1 })
})
