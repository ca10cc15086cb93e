import * as z from 'zod'
import { statuses } from './order.ts'
import { railNameSchema } from './rail.ts'

// What the answers of all purchases have in common, once, for the documents and for the tests that compare live answers with them.

const priceSchema = z
  .object({ amount: z.string().describe('Decimal dollars'), currency: z.string(), atomic: z.string() })
  .meta({ id: 'Price' })

const refundSchema = z
  .object({
    refundId: z.string(),
    status: z.enum(['refunding', 'refunded']),
    amount: z.string(),
    to: z.string(),
    reason: z.string(),
    transaction: z.string().nullable(),
  })
  .meta({ id: 'Refund', description: 'The full amount, sent back to the payer' })

const statusSchema = z.enum(statuses as [string, ...string[]]).meta({ id: 'OrderStatus' })
const historySchema = z.array(z.object({ status: z.string(), at: z.string() })).meta({ id: 'History' })
const failureSchema = z.object({ code: z.string(), detail: z.string() }).meta({ id: 'Failure' })

export const purchaseFields = {
  orderId: z.string(),
  flowId: z.string(),
  protocol: railNameSchema,
  status: statusSchema,
  payer: z.string().describe('The verified sender of the payment'),
  paymentTx: z.string().nullable(),
  price: priceSchema,
  statusUrl: z.string(),
  receipt: z.string().nullable().describe('Signed delivery receipt (JWS); null until confirmed'),
  history: historySchema,
  refund: refundSchema.nullable(),
  error: failureSchema.nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
}

/**
 * What the status of a purchase leaves out, or may not have yet, when it is asked for by what the chain shows to everybody: the payment's
 * transaction or nonce. The order id and the challenge id are the buyer's own and show all.
 */
export const publicFields = {
  orderId: purchaseFields.orderId.optional(),
  flowId: purchaseFields.flowId.optional(),
  receipt: purchaseFields.receipt.optional(),
  statusUrl: z.string().nullable(),
}
