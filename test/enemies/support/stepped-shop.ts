import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Hash } from '../../../src/base/address.ts'
import { advance } from '../../../src/checkout/advance.ts'
import type { ChainConfig, Config } from '../../../src/config/config.ts'
import type { Limits } from '../../../src/config/limits.ts'
import type { Order } from '../../../src/domain/order.ts'
import { movableClock } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { buy } from '../../operations/desk.ts'
import type { RailUnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

/** One step of an order, taken by hand: no worker, no pauses, whoever had it before. */
export async function step({ store, service }: Pick<TestShop, 'store' | 'service'>, orderId: string): Promise<Order> {
  const { checkout } = service
  await store.db.query(`update jobs set run_at = now(), lease = null where kind = 'order' and key = $1`, [orderId])
  const lease = (await checkout.jobs.claim(100, 60)).find(({ key }) => key === orderId)
  const order = await checkout.orders.byId(orderId)
  if (lease && order) await advance(checkout, { order, lease })
  return (await checkout.orders.byId(orderId))!
}

/** Whoever drove an order has let go of it: what its call could do within its time is done, and not a moment of it is still to come. */
export async function letGo({ store }: Pick<TestShop, 'store'>, orderId: string): Promise<void> {
  await until(async () => {
    const { rows } = await store.db.query(`select from jobs where kind = 'order' and key = $1 and lease is not null`, [
      orderId,
    ])
    return rows.length === 0
  })
}

/** A purchase that is delivered, in its answer or by hand: the machine may be slower than the answer waits. */
export async function buyByHand(
  shop: TestShop,
  rail: RailUnderTest,
  buyer: PrivateKeyAccount,
  lot: { saleId: number },
): Promise<void> {
  const { response, body } = await buy(shop, rail, buyer, lot)
  assert.ok([200, 202].includes(response.status), String(response.status))
  await until(async () => (await step(shop, body.orderId)).status === 'confirmed')
}

/** The hash of a step's transaction, as it was signed first. */
export async function hashOf({ store }: Pick<TestShop, 'store'>, orderId: string, step: string): Promise<Hash> {
  const { rows } = await store.db.query<{ versions: { hash: Hash }[] }>(
    'select versions from sends where order_id = $1 and step = $2',
    [orderId, step],
  )
  return rows[0]!.versions[0]!.hash
}

/** Takes back the blocks since a transaction, and mines everything in them again but these. */
export async function drop(chain: TestShop['chains']['native'], first: Hash, ...others: Hash[]): Promise<void> {
  const receipt = (await chain.request({ method: 'eth_getTransactionReceipt', params: [first] })) as {
    blockNumber: string
  }
  const head = Number(await chain.request({ method: 'eth_blockNumber' }))
  const depth = head - Number(receipt.blockNumber) + 1
  await chain.request({ method: 'dev_reorg', params: [depth, { drop: [first, ...others] }] })
}

/** The same configuration with other properties of its chains. */
export function withChains(config: Config, changes: Partial<ChainConfig>): Config {
  const { x402, mpp, game } = config
  return {
    ...config,
    x402: x402 && { ...x402, chain: { ...x402.chain, ...changes } },
    mpp: mpp && { ...mpp, chain: { ...mpp.chain, ...changes } },
    game: { ...game, chain: { ...game.chain, ...changes } },
  }
}

/** As deep as production wants it. */
export const BURIAL = { blocks: 12n, ms: 20_000 }

/** A shop that asks two nodes, each of which may be made to lie, and that does something when an order is open. */
export async function startBetweenNodes(t: TestContext, own: Partial<Limits> = {}) {
  const clock = movableClock()
  const [meddler, other] = [createMeddler(), createMeddler()]
  let opened = async (): Promise<void> => {}
  const shop = await startShop({
    clock,
    withoutWorker: true,
    waypoint: async (name) => {
      if (name === 'order.opened') await opened()
    },
    wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), other.wrap(chainId, transport)],
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300, ...own }
      return withChains({ ...config, limits }, { burial: { blocks: 2n, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  return {
    shop,
    clock,
    meddler,
    other,
    atOpening(work: () => Promise<void>) {
      opened = work
    },
  }
}
