import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import type { Meddler } from '../../checkout/meddler.ts'
import { nftsOf } from '../../crash/flows.ts'
import { impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import { mppPushUnderTest } from '../../support/credentials.ts'
import { plainTransports, type TestShop } from '../../support/shop.ts'
import { untilAnswered } from '../../support/until.ts'
import { startWithBackup } from '../support/stepped-shop.ts'

type Circumstances = {
  readonly configure?: (config: Config) => Config
  /** After the backup, and before the purchase that it does not know. */
  readonly meanwhile?: (shop: TestShop) => Promise<void>
}

/** What whoever shows a payment that was spent after the backup has to hear, and to have. */
export const HELD = { status: 409, code: 'payment_conflict', nfts: 1 }

/** A push that has bought a lot since a backup was made, a shop on that backup, and what it answers when the push is shown again. */
export async function buyAfterBackup(
  t: TestContext,
  { configure = (config) => config, meanwhile }: Circumstances = {},
) {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  await meanwhile?.(shop)
  const patient = (config: Config) => {
    const { limits, ...rest } = impatiently(configure(config))
    return { ...rest, limits: { ...limits, replaysPerPayment: 10_000 } }
  }
  const { url } = await shop.replica({ configure: patient })
  const request = { ...LOT, beneficiary: buyer.address }
  const credential = await mppPushUnderTest.pay(shop, buyer, await fetch(`${url}/agentic/mpp/buy`, post(request)))
  const paid = post(request, { authorization: credential })
  const buy = (at: string) => fetch(`${at}/agentic/mpp/buy`, paid)
  assert.equal((await buy(url)).status, 200)
  return {
    shop,
    backup,
    putBack: (transports?: ReturnType<typeof twoNodes>) =>
      shop.replica({ database: backup, configure: patient, ...(transports && { transports }) }),
    buy,
    /** When it is neither too early to say, nor still under way. */
    async again(at: string) {
      const { status, code } = await untilAnswered(async () => {
        const answer = await buy(at)
        const { code } = (await answer.json()) as { code?: string }
        return answer.status === 202 || answer.status === 503 ? null : { status: answer.status, code }
      })
      return { status, code, nfts: await nftsOf(shop.chains, shop.world.contracts.sale, buyer.address) }
    },
  }
}

/** Two nodes of each chain, of which one, the first or the other, may be made to lie. */
export function twoNodes({ chains }: TestShop, meddler: Meddler, liar: 'first' | 'other' = 'first') {
  return new Map(
    [...plainTransports(chains)].map(([chainId, plain]) => {
      const honest = plain as RpcTransport
      const meddled = meddler.wrap(chainId, honest)
      return [chainId, liar === 'first' ? [meddled, honest] : [honest, meddled]] as const
    }),
  )
}
