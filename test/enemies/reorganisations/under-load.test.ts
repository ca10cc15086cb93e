import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog } from '../../../src/base/log.ts'
import { ended, said } from '../../checkout/counter.ts'
import { nftsOf } from '../../crash/flows.ts'
import { reconcileRail } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// While many buy, the chain takes back its last blocks again and again, and forgets all that was in them.

const BUYERS = 24
const REORGS = 6

test('reorganisations that drop everything, under load: each order is paid once and delivered once', async (t) => {
  const log = createLog({ level: 'error', clock: systemClock, write: () => {} })
  const shop = await startShop({
    log,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 2_000, receiptWaitMs: 500 } }),
  })
  t.after(() => shop.stop())
  const rail = x402UnderTest
  const url = `${shop.url}/agentic/x402/buy`
  const buyers = await Promise.all(Array.from({ length: BUYERS }, () => fundedWallet(shop)))
  const beneficiaries = buyers.map(() => privateKeyToAddress(generatePrivateKey()))
  const head = async () => Number(await shop.chains.native.request({ method: 'eth_blockNumber' }))
  const begun = await head()
  const credentials: string[] = []
  for (const [n, buyer] of buyers.entries()) {
    const body = { saleId: 392, beneficiary: beneficiaries[n] }
    credentials.push(await rail.pay(shop, buyer, await fetch(url, post(body))))
  }
  let orderIds: readonly string[] = []
  for (let round = 0; round < REORGS; round++) {
    const share = credentials.slice((round * BUYERS) / REORGS, ((round + 1) * BUYERS) / REORGS)
    const buying = share.map((credential, n) => {
      const body = { saleId: 392, beneficiary: beneficiaries[(round * BUYERS) / REORGS + n] }
      return fetch(url, post(body, { [rail.header]: credential }))
    })
    const answers = await Promise.all(buying)
    orderIds = [...orderIds, ...(await Promise.all(answers.map(async (answer) => (await said(answer)).orderId)))]
    // Never further back than the first purchase: the buyers keep their money.
    const depth = Math.min(5 + round, (await head()) - begun)
    if (depth > 0) await shop.chains.native.request({ method: 'dev_reorg', params: [depth, { transactions: 'drop' }] })
    await reconcileRail(shop, rail)
  }
  for (const orderId of orderIds) assert.equal((await ended(shop, 'x402', orderId)).status, 'confirmed')
  // What was dropped last is brought back by the next looks.
  for (let look = 0; look < 4; look++) await reconcileRail(shop, rail)
  assert.deepEqual((await reconcileRail(shop, rail)).items, [])
  const tokens = await Promise.all(beneficiaries.map((owner) => nftsOf(shop.chains, shop.world.contracts.sale, owner)))
  assert.deepEqual(
    tokens,
    Array.from({ length: BUYERS }, () => 1),
  )
  assert.equal(await rail.till(shop), BigInt(BUYERS) * 250_000n)
})
