import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { statuses } from '../../domain/order.ts'
import type { FreeRoute, Route } from '../../domain/route.ts'
import { referenceInput } from '../../domain/tool-description.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { parseWith } from '../http/parse.ts'
import { paymentSchema } from '../shop/purchase-status.ts'
import { answered, callRoute } from './free-tool.ts'
import { inputSchemaOf, listingOf, outputSchemaOf } from './listing.ts'
import type { McpTool } from './server.ts'

const tool = (references: readonly string[]) =>
  ({
    name: 'get_purchase_status',
    title: 'Purchase status',
    description: `Free. What became of a payment, by its transaction, order id, ${references.join(', ')} or idempotency key: whether money moved, what it bought, what to do next, and the purchase itself. Ask here before you ever pay a second time.`,
    effect: 'reads',
  }) as const

const output = paymentSchema.extend({
  purchase: z
    .looseObject({ status: z.enum(statuses as [string, ...string[]]) })
    .nullable()
    .describe('The purchase as its own status route shows it; null for what was sold and done in one step'),
})

/** Two reads of the table in one answer: the payment, whatever it was for, and what it bought, where that has a status of its own. */
export function statusTool(
  routes: readonly Route[],
  references: readonly string[],
  limiter: RateLimiter,
): readonly McpTool[] {
  const payments = routes.find((row): row is FreeRoute => row.kind === 'free' && row.path === '/payments/{reference}')
  if (!payments) return []
  const statusRows = routes.filter((row): row is FreeRoute => row.kind === 'free' && row.path.endsWith('/{paymentTx}'))
  return [
    {
      name: tool(references).name,
      listing: () =>
        listingOf(tool(references), {
          inputSchema: inputSchemaOf(referenceInput),
          outputSchema: outputSchemaOf(output),
        }),
      async call(input, { http }) {
        if (payments.bucket) limiter.take(payments.bucket, http)
        const { reference } = parseWith(referenceInput, input)
        const payment = await callRoute(payments, { reference })
        const { surface } = payment['boundTo'] as JsonObject
        const { protocol } = payment['payment'] as JsonObject
        const own = statusRows.find((row) => row.surface === surface && row.path.includes(`/${protocol}/`))
        return answered({ ...payment, purchase: own ? await callRoute(own, { paymentTx: reference }) : null })
      },
    },
  ]
}
