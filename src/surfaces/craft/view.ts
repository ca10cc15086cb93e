import * as z from 'zod'
import type { Json, JsonObject } from '../../base/json.ts'
import { commonMembers, type PurchaseView } from '../../domain/offer.ts'
import { purchaseFields } from '../../domain/purchase-fields.ts'
import { type Charge, chargeOf } from './accelerate.ts'
import type { Accelerate, Burn } from './schema.ts'

const actionFields = {
  actionId: z.string().describe('The same as orderId'),
  ...purchaseFields,
  user: z.string(),
  actionTx: z.string().nullable().describe('The transaction that carried the action out'),
  timers: z
    .array(z.object({ id: z.string(), readyAt: z.iso.datetime() }))
    .describe('Crafting timers that the action started or shortened; empty until it is confirmed'),
}

export const burnActionSchema = z
  .object({
    ...actionFields,
    type: z.literal('burn'),
    nfts: z.array(z.object({ contract: z.string(), tokenId: z.string() })),
  })
  .meta({ id: 'BurnAction', description: 'A paid burn of NFTs' })

export const accelerateActionSchema = z
  .object({
    ...actionFields,
    type: z.literal('accelerate'),
    amount: z.string().describe('Atomic units of the craft token'),
    amountSource: z.enum(['request', 'default']),
  })
  .meta({ id: 'AccelerateAction', description: 'A paid acceleration of crafting timers' })

export const craftActionSchema = z
  .discriminatedUnion('type', [burnActionSchema, accelerateActionSchema])
  .meta({ id: 'CraftAction', description: 'A paid craft action' })

export function presentBurn(view: PurchaseView<Burn>): JsonObject {
  return { ...actionMembers('burn', view), nfts: view.input.nfts }
}

export function presentAccelerate(defaultAmount: bigint): (view: PurchaseView<Accelerate>) => JsonObject {
  return (view) => {
    // Without a plan nothing is decided yet: only a payment that moved before we heard of it is shown so.
    const { amount, amountSource } = (view.plan ?? chargeOf(view.input, defaultAmount)) as Charge
    return { ...actionMembers('accelerate', view), amount, amountSource }
  }
}

function actionMembers(type: 'burn' | 'accelerate', view: PurchaseView<Burn> | PurchaseView<Accelerate>): JsonObject {
  const timers = (view.result?.['timers'] ?? []) as Json
  return {
    actionId: view.orderId,
    type,
    ...commonMembers(view),
    user: view.input.user,
    actionTx: view.deliveryTx,
    timers,
  }
}
