import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import { providerTransport } from '../../../src/chain/rpc.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { nftsOf } from '../../crash/flows.ts'
import { impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import type { TestShop } from '../../support/shop.ts'
import { untilAnswered } from '../../support/until.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

// E67, and somebody has looked at the copy before: whoever looks keeps its books, and ends where they ended.

const RECIPIENT = '0x00000000000000000000000000000000005e11e2'
const AGO_SECONDS = 7_200

const moved = (config: Config): Config =>
  impatiently({
    ...config,
    x402: { ...config.x402!, payTo: RECIPIENT },
    mpp: { ...config.mpp!, recipient: RECIPIENT },
    // The payment is shown until it is answered for good.
    limits: { ...config.limits, replaysPerPayment: 10_000 },
  })

/** A purchase at a till that is younger than the backup; both were made two hours ago. */
async function buyAtYoungerTill(t: TestContext) {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  await backup.query(`update tills set alive_at = now() - make_interval(secs => $1)`, [AGO_SECONDS])
  const request = { ...LOT, beneficiary: buyer.address }
  const { url } = await shop.replica({ configure: moved })
  const credential = await mppPushUnderTest.pay(shop, buyer, await fetch(`${url}/agentic/mpp/buy`, post(request)))
  const paid = post(request, { authorization: credential })
  assert.equal((await fetch(`${url}/agentic/mpp/buy`, paid)).status, 200)
  const transports = await agoTransports(shop)
  return {
    shop,
    backup,
    transports,
    again: async (url: string) => {
      const response = await fetch(`${url}/agentic/mpp/buy`, paid)
      const { code } = (await response.json()) as { code?: string }
      const nfts = await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
      return { status: response.status, code, nfts }
    },
  }
}

/** All that is there now was there two hours ago. */
async function agoTransports({ chains }: TestShop): Promise<Map<number, RpcTransport>> {
  const transports = new Map<number, RpcTransport>()
  for (const chain of [chains.native, chains.tempo]) {
    const last = Number(await chain.request({ method: 'eth_blockNumber' }))
    await chain.request({ method: 'evm_mine', params: [] })
    const plain = providerTransport(chain)
    transports.set(chain.chainId, async (request, max) => {
      const answer = (await plain(request, max)) as { result?: { number: string; timestamp: string } | null }
      if (request.method !== 'eth_getBlockByNumber' || !answer.result || Number(answer.result.number) > last)
        return answer
      const timestamp = `0x${(Number(answer.result.timestamp) - AGO_SECONDS).toString(16)}`
      return { ...answer, result: { ...answer.result, timestamp } }
    })
  }
  return transports
}

const HELD = { status: 409, code: 'payment_conflict', nfts: 1 }

test('E73: a replica with other tills that looks first does not move the place from where a younger till is read', async (t) => {
  const { shop, backup, transports, again } = await buyAtYoungerTill(t)
  const first = await shop.replica({
    database: backup,
    transports,
    configure: (config) => impatiently({ ...config, mpp: null }),
  })
  await first.stop()
  const restored = await shop.replica({ database: backup, transports, configure: moved })
  assert.deepEqual(await again(restored.url), HELD)
})

test('E73: nor does a look that was interrupted between two younger tills', async (t) => {
  const { shop, backup, transports, again } = await buyAtYoungerTill(t)
  const { chainId } = shop.chains.tempo
  const whole = transports.get(chainId)!
  let isSilent = true
  transports.set(chainId, async (request, max) => {
    if (isSilent && request.method === 'eth_getBlockByNumber') throw new Error('429')
    return whole(request, max)
  })
  const restored = await shop.replica({ database: backup, transports, configure: moved })
  isSilent = false
  const answer = await untilAnswered(async () => {
    const told = await again(restored.url)
    return told.status === 202 || told.status === 503 ? null : told
  })
  assert.deepEqual(answer, HELD)
})
