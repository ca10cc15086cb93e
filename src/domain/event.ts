import type { Surface } from './good.ts'
import type { OrderStatus } from './order.ts'

/** What may be told to operators and webhooks. Craft orders speak of `craft.action`, all others of `order`. */
export const eventTypes = [
  'order.created',
  'order.submitted',
  'order.confirmed',
  'order.failed',
  'order.expired',
  'craft.action.created',
  'craft.action.submitted',
  'craft.action.confirmed',
  'craft.action.failed',
  'craft.action.expired',
  'payment.settled',
  'payment.orphaned',
  'refund.created',
  'refund.completed',
  'report.recorded',
] as const

export type EventType = (typeof eventTypes)[number]

/** Each state change has exactly one event, and this is its name. */
export function eventTypeOf(surface: Surface, entered: OrderStatus): EventType {
  const subject = surface === 'craft' ? 'craft.action' : 'order'
  switch (entered) {
    case 'settling':
      return `${subject}.created`
    case 'settled':
      return 'payment.settled'
    case 'refunding':
      return 'refund.created'
    case 'refunded':
      return 'refund.completed'
    default:
      return `${subject}.${entered}`
  }
}
