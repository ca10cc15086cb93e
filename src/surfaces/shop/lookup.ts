import * as z from 'zod'
import type { Address } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Good } from '../../domain/good.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../domain/offer.ts'
import { publicFields, purchaseFields } from '../../domain/purchase-fields.ts'
import type { PayerProblem } from '../surface.ts'
import type { GameBackend } from './game.ts'
import { recipientMissing } from './recipient.ts'

type PlayerLookupOptions = {
  readonly game: GameBackend
  readonly clock: Clock
  /** How long the game is asked before the money goes back. */
  readonly gameMs: number
  readonly payerProblem: (payer: Address) => PayerProblem
}

/** The player linked to the verified sender of the payment, and nobody else's: there is nothing to ask for but oneself. */
export function playerLookup({ game, clock, gameMs, payerProblem }: PlayerLookupOptions): Good<JsonObject> {
  return {
    name: 'playerLookup',
    surface: 'shop',
    subject: 'order',
    payerActs: true,

    async check(_input, payer) {
      if (payer === null) return { findings: [], plan: {}, holds: [] }
      const player = await game.findPlayer({ kind: 'address', value: payer })
      const findings = [
        { check: 'payer', problem: await payerProblem(payer) },
        { check: 'player', problem: player ? null : recipientMissing({ kind: 'payer', value: payer }) },
      ]
      return { findings, plan: player ? { playerId: player.playerId } : {}, holds: [] }
    },

    async deliver(_input, plan, { orderId, settledAt }) {
      const { playerId } = plan
      if (typeof playerId !== 'string') throw new TypeError(`order ${orderId} has no player in its plan`)
      const isLate = clock.now() >= settledAt + gameMs
      const player = await game.findPlayer({ kind: 'playerId', value: playerId }).catch((error) => {
        if (isLate) return null
        throw error
      })
      if (!player)
        return { state: 'impossible', code: 'fulfilment_failed', detail: 'The game does not tell about this player.' }
      // No more than these: the payer may have signed for another site, which hands the payment on and reads the answer.
      const { nickname } = player
      return { state: 'delivered', result: { player: { playerId, nickname } } }
    },
  }
}

export const playerLookupSchema = z
  .object({
    ...purchaseFields,
    player: z
      .object({
        playerId: z.string(),
        nickname: z.string(),
      })
      .nullable()
      .describe('The player linked to the payer; null until the payment has settled'),
  })
  .meta({ id: 'PlayerLookup', description: 'The player linked to the verified sender of the payment' })

export function presentLookup(view: PurchaseView<JsonObject>): JsonObject {
  return { ...commonMembers(view), player: view.result?.['player'] ?? null }
}

/** Whoever saw the payment on the chain learns how far it is, and nothing of the player. */
export function publishLookup(view: PurchaseView<JsonObject>): JsonObject {
  return publicMembers(view)
}

export const playerLookupStatusSchema = playerLookupSchema
  .extend({ ...publicFields, player: playerLookupSchema.shape.player.optional() })
  .meta({ id: 'PlayerLookupStatus', description: 'How far a player lookup is' })
