import * as z from 'zod'
import type { JsonObject } from '../base/json.ts'
import type { EventSubject } from './good.ts'
import { roles } from './operator.ts'
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
  'payment.held',
  'refund.created',
  'refund.completed',
  'report.recorded',
  'operator.acted',
  'wallet.low',
  'wallet.refilled',
  'node.down',
  'node.back',
  'game.down',
  'game.back',
  'rail.paused',
  'rail.resumed',
  'surface.paused',
  'surface.resumed',
  'attention.needed',
  'attention.over',
] as const

export type EventType = (typeof eventTypes)[number]

/** What is told of a change, written down with it. */
export type ToldEvent = { readonly type: EventType; readonly data: JsonObject }

/** Each state change has exactly one event, and this is its name. */
export function eventTypeOf(subject: EventSubject, entered: OrderStatus): EventType {
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

/** What each event tells, in one sentence, for the documents. */
export const eventDescriptions: Readonly<Record<EventType, string>> = {
  'order.created': 'A purchase was opened: its payment was checked and is about to be taken.',
  'order.submitted': 'The delivery is on its way to the chain.',
  'order.confirmed': 'Paid and delivered. The object carries the signed receipt.',
  'order.failed': 'Paid, and delivery is impossible. The refund follows by itself.',
  'order.expired': 'The payment never landed and no longer can; nothing was taken.',
  'craft.action.created': 'A craft action was opened: its payment was checked and is about to be taken.',
  'craft.action.submitted': 'The craft action is on its way to the chain.',
  'craft.action.confirmed': 'The craft action is paid and done. The object carries the signed receipt.',
  'craft.action.failed': 'Paid, and the craft action is impossible. The refund follows by itself.',
  'craft.action.expired': 'The payment of the craft action never landed and no longer can; nothing was taken.',
  'payment.settled': 'The money is on the chain.',
  'payment.held': 'Money came without a purchase, and a person decides what becomes of it.',
  'refund.created': 'The full amount is about to go back to the payer.',
  'refund.completed': 'The full amount was sent back to the payer.',
  'report.recorded': 'A paid report of a transaction was recorded.',
  'wallet.low': 'A wallet of the shop is below its alarm: gas or refunds run out soon.',
  'wallet.refilled': 'A wallet that was low is above its alarm again.',
  'node.down': 'An RPC node does not answer, or lags behind the others.',
  'node.back': 'An RPC node that was down answers as the others do.',
  'game.down': 'The game backend cannot deliver: its items are not sold, and what was paid for waits.',
  'game.back': 'The game backend delivers again.',
  'rail.paused':
    'Nothing can be paid by a protocol: its chain, its token or its facilitator is down. Nothing is taken meanwhile.',
  'rail.resumed': 'A protocol is taken again.',
  'surface.paused':
    'A family of goods cannot be sold: its contract is paused, a role or gas is missing, or the game is down.',
  'surface.resumed': 'A family of goods is sold again.',
  'attention.needed':
    'Something waits for a person: an order that does not end, money without a purchase, a loss, a dead webhook.',
  'attention.over': 'What waited for a person was decided, or has ended by itself.',
  'operator.acted': 'Somebody who runs the shop changed something: what, who, and how it was before and after.',
}

/** What `operator.acted` tells. */
export const deedSchema = z
  .object({
    deedId: z.string(),
    callId: z.string().describe('The same for all that was done at once, by one import for example'),
    by: z.string().describe('Who did it, as they called themselves'),
    at: z.iso.datetime(),
    deed: z.string().describe('What was done, for example item.changed'),
    about: z.object({ kind: z.string(), id: z.string() }),
    before: z.looseObject({}).nullable().describe('Null: it did not exist'),
    after: z.looseObject({}).nullable(),
    reason: z.string().nullable(),
    role: z.enum(roles),
    via: z.enum(['console', 'token', 'sandbox']),
    audit: z.object({ position: z.string(), hash: z.string() }).describe('Its place in the audit log'),
  })
  .meta({ id: 'OperatorDeed', description: 'Something that was done by whoever runs the shop' })

/** What `report.recorded` tells. All other events tell a purchase or a transfer as it is shown elsewhere. */
export const recordedReportSchema = z
  .object({
    reportId: z.string(),
    userId: z.string(),
    txHash: z.string(),
    payer: z.string().describe('Who paid for the report, which need not be the user'),
    orderId: z.string(),
    chain: z.object({ network: z.string(), status: z.enum(['success', 'reverted']) }).nullable(),
    recordedAt: z.iso.datetime(),
  })
  .meta({ id: 'RecordedReport', description: 'A report, at the moment it was written down' })
