import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { type Clock, systemClock } from '../../../src/base/clock.ts'
import type { Hex } from '../../../src/base/hex.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { Config } from '../../../src/config/config.ts'
import type { Service } from '../../../src/service/service.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { nftsOf } from '../../crash/flows.ts'
import { buy, impatiently, LOT } from '../../operations/desk.ts'
import { post } from '../../support/buyers.ts'
import type { RailUnderTest } from '../../support/credentials.ts'
import { drop, startWithBackup } from '../support/stepped-shop.ts'

type Open = (configure?: (config: Config) => Config, clock?: Clock) => Promise<Service>

/** A purchase that the chain has taken back, of which a backup from before knows nothing. A shop on that backup may be open already when it is made. */
export async function forgetPurchase(
  t: TestContext,
  rail: RailUnderTest,
  before: (open: Open) => Promise<unknown> = async () => {},
) {
  const { shop, backup, buyer } = await startWithBackup(t)
  await copyDatabase(shop.store.db, backup, silentLog)
  const open: Open = (configure = (config) => config, clock = systemClock) =>
    shop.replica({ database: backup, clock, configure: (config) => impatiently(configure(config)) })
  await before(open)
  const { response, body, credential } = await buy(shop, rail, buyer)
  assert.equal(response.status, 200)
  const chain = shop.chains[rail.rail === 'mpp' ? 'tempo' : 'native']
  const raw = (await chain.request({ method: 'eth_getRawTransactionByHash', params: [body.paymentTx] })) as Hex
  await drop(chain, body.paymentTx)
  const paid = post({ ...LOT, beneficiary: buyer.address }, { [rail.header]: credential })
  return {
    shop,
    backup,
    buyer,
    credential,
    open,
    chain,
    /** The very transaction that the chain has taken back. */
    bringAgain: () => chain.request({ method: 'eth_sendRawTransaction', params: [raw] }),
    showAgain: ({ url }: Pick<Service, 'url'>, at = rail.rail) => fetch(`${url}/agentic/${at}/buy`, paid),
    delivered: () => nftsOf(shop.chains, shop.world.contracts.sale, buyer.address),
  }
}
