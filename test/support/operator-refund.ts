import { refundOrder } from '../../src/checkout/refund.ts'
import type { Service } from '../../src/service/service.ts'
import { untilAnswered } from './until.ts'

/** An operator refunds an order, and the refund is through. */
export async function refundByOperator({ checkout }: Pick<Service, 'checkout'>, orderId: string): Promise<void> {
  await refundOrder(checkout, orderId, { reason: 'late', by: 'bob' })
  await untilAnswered(async () => ((await checkout.orders.byId(orderId))?.status === 'refunded' ? true : null))
}
