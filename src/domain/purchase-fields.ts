import * as z from 'zod'
import { statuses } from './order.ts'

// What the answers of all purchases have in common, once, for the documents and for the tests that hold live answers against them.

export const priceSchema = z.object({ amount: z.string(), currency: z.string(), atomic: z.string() })

export const refundSchema = z.object({
  refundId: z.string(),
  status: z.enum(['refunding', 'refunded']),
  amount: z.string(),
  to: z.string(),
  reason: z.string(),
  transaction: z.string().nullable(),
})

export const purchaseFields = {
  orderId: z.string(),
  flowId: z.string(),
  protocol: z.enum(['x402', 'mpp']),
  status: z.enum(statuses as [string, ...string[]]),
  payer: z.string().describe('The verified sender of the payment'),
  paymentTx: z.string().nullable(),
  price: priceSchema,
  statusUrl: z.string(),
  receipt: z.string().nullable().describe('Signed delivery receipt (JWS); null until confirmed'),
  history: z.array(z.object({ status: z.string(), at: z.string() })),
  refund: refundSchema.nullable(),
  error: z.object({ code: z.string(), detail: z.string() }).nullable(),
  createdAt: z.string(),
  updatedAt: z.string(),
}
