import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { nicknameField } from '../../domain/fields.ts'
import { byField, itemIdField } from '../../domain/shelf-fields.ts'
import type { Doer } from '../../store/deeds.ts'
import type { Discount } from '../../store/game/discounts.ts'
import { type OperatorRoute, operator } from './route.ts'

type DiscountDesk = {
  readonly nicknameLengthMax: number
  list(limit: number): Promise<readonly Discount[]>
  set(doer: Doer, discount: Discount): Promise<'done' | 'nothing' | 'unknown'>
}

const LISTED_MAX = 1_000

const percentField = z
  .number({ error: 'is a number of per cent, for example 15' })
  .min(0, { message: 'is negative; a discount is 0 to 99.99 per cent' })
  .max(99.99, { message: 'is more than 99.99; nothing is given away. For free goods use the game itself' })
  .refine((percent) => Number.isInteger(Math.round(percent * 1e6) / 1e4), {
    message: 'has more than two decimals; write for example 12.5',
  })

/** What single players pay less for an item of the embedded game. */
export function discountRows({ nicknameLengthMax, list, set }: DiscountDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/discounts', {
      role: 'viewer',
      summary: 'Which player pays less for which item',
      handle: async () => ({ body: { discounts: (await list(LISTED_MAX)).map(presentDiscount) } }),
    }),
    operator('POST /operator/discounts', {
      role: 'admin',
      summary: 'Give a player a discount on an item; 0 takes it back',
      body: z.strictObject({
        itemId: itemIdField,
        nickname: nicknameField(nicknameLengthMax),
        percent: percentField,
        by: byField,
      }),
      handle: async ({ body: { itemId, nickname, percent }, doer }) => {
        const discount = { itemId, nickname, basisPoints: Math.round(percent * 100) }
        const did = await set(doer, discount)
        if (did === 'unknown')
          throw new Problem(
            'invalid_request',
            `There is no item ${itemId}, or no player ${nickname}; nothing was changed. See \`sutler items\` and \`sutler players\`.`,
          )
        return { body: { did: did === 'done' ? 'changed' : 'nothing', ...presentDiscount(discount) } }
      },
    }),
  ]
}

function presentDiscount({ itemId, nickname, basisPoints }: Discount): JsonObject {
  return { itemId, nickname, percent: basisPoints / 100 }
}
