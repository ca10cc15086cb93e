import * as z from 'zod'
import type { Address } from '../../base/address.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Good } from '../../domain/good.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../domain/offer.ts'
import { purchaseFields } from '../../domain/purchase-fields.ts'
import type { PayerProblem } from '../surface.ts'

/** A health check that costs money on purpose: what it proves is that a payment settles here, and how fast. */
export function healthProbe({ payerProblem }: { payerProblem: (payer: Address) => PayerProblem }): Good<JsonObject> {
  return {
    name: 'healthProbe',
    surface: 'gateway',
    subject: 'order',
    async check(_input, payer) {
      return { findings: [{ check: 'payer', problem: payer && (await payerProblem(payer)) }], plan: {}, holds: [] }
    },
    // The settlement was the good.
    async deliver() {
      return { state: 'delivered', result: {} }
    },
  }
}

export const healthSchema = z
  .object({
    ...purchaseFields,
    ok: z.boolean(),
    settled: z.boolean().describe('True once the payment is seen on the chain'),
    network: z.string(),
    latencyMs: z.int().nullable().describe('From the opening of the order to the settlement'),
    time: z.string(),
  })
  .meta({ id: 'PaidHealth', description: 'A health probe that performed a real settlement' })

export function presentHealth(view: PurchaseView<JsonObject>): JsonObject {
  return { ...healthOf(view), ...commonMembers(view) }
}

export function publishHealth(view: PurchaseView<JsonObject>): JsonObject {
  return { ...healthOf(view), ...publicMembers(view) }
}

function healthOf({ paymentTx, status, network, settlementMs, updatedAt }: PurchaseView<JsonObject>): JsonObject {
  return {
    ok: status === 'confirmed',
    settled: paymentTx !== null,
    network,
    latencyMs: settlementMs,
    time: updatedAt,
  }
}
