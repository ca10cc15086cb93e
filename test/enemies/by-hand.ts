import { advance } from '../../src/checkout/advance.ts'
import type { ChainConfig, Config } from '../../src/config/config.ts'
import type { Order } from '../../src/domain/order.ts'
import type { TestShop } from '../support/shop.ts'

/** One step of an order, taken by hand: no worker, no pauses, whoever had it before. */
export async function step({ store, service }: Pick<TestShop, 'store' | 'service'>, orderId: string): Promise<Order> {
  const { checkout } = service
  await store.db.query(`update jobs set run_at = now(), lease = null where kind = 'order' and key = $1`, [orderId])
  const lease = (await checkout.jobs.claim(100, 60)).find(({ key }) => key === orderId)
  const order = await checkout.orders.byId(orderId)
  if (lease && order) await advance(checkout, { order, lease })
  return (await checkout.orders.byId(orderId))!
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
