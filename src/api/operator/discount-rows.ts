import * as z from 'zod'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { nicknameField } from '../../domain/fields.ts'
import { byField, csvField, itemIdField, yesField } from '../../domain/shelf-fields.ts'
import type { Doer } from '../../store/deeds.ts'
import type { Discount, DiscountsChange } from '../../store/game/discounts.ts'
import { TABLE_BYTES_MAX } from './item-rows.ts'
import { type OperatorRoute, operator } from './route.ts'
import { cell, readSheet, refused, type Sheet } from './sheet.ts'

type DiscountDesk = {
  readonly nicknameLengthMax: number
  list(limit: number): Promise<readonly Discount[]>
  set(doer: Doer, discounts: readonly Discount[], how?: { readonly isTrial: boolean }): Promise<DiscountsChange>
}

const LISTED_MAX = 1_000
/** As many as one table can hold. */
const TABLE_MAX = 2_000

const percentField = z
  .number({ error: 'is a number of per cent, for example 15' })
  .min(0, { message: 'is negative; a discount is 0 to 99.99 per cent' })
  .max(99.99, { message: 'is more than 99.99; nothing is given away. For free goods use the game itself' })
  .refine((percent) => Number.isInteger(Math.round(percent * 1e6) / 1e4), {
    message: 'has more than two decimals; write for example 12.5',
  })

type DiscountLine = { readonly itemId: string; readonly nickname: string; readonly percent: number }

/** What single players pay less for an item of the embedded game. */
export function discountRows({ nicknameLengthMax, list, set }: DiscountDesk): readonly OperatorRoute[] {
  const line = z.strictObject({
    itemId: itemIdField,
    nickname: nicknameField(nicknameLengthMax),
    percent: percentField,
  })
  return [
    operator('GET /operator/discounts', {
      role: 'viewer',
      summary: 'Which player pays less for which item',
      handle: async () => ({ body: { discounts: (await list(LISTED_MAX)).map(presentDiscount) } }),
    }),
    operator('POST /operator/discounts', {
      role: 'admin',
      summary: 'Give a player a discount on an item; 0 takes it back',
      body: line.extend({ by: byField }),
      handle: async ({ body, doer }) => {
        const discount = discountOf(body)
        const done = await set(doer, [discount])
        if (done.kind === 'unknown')
          throw new Problem(
            'invalid_request',
            `There is no item ${body.itemId}, or no player ${body.nickname}; nothing was changed. See \`sutler items\` and \`sutler players\`.`,
          )
        return { body: { did: done.did[0]!, ...presentDiscount(discount) } }
      },
    }),
    operator('GET /operator/discounts.csv', {
      role: 'viewer',
      summary: 'The discounts as a table',
      handle: async () => ({ body: { csv: printDiscounts(await list(TABLE_MAX)) } }),
    }),
    operator('POST /operator/discounts.csv', {
      role: 'admin',
      summary: 'Give and take back discounts by a table: all of its lines or none',
      bodyBytesMax: TABLE_BYTES_MAX,
      body: z.strictObject({ csv: csvField, by: byField, trial: yesField.default(false) }),
      handle: async ({ body, doer }) => ({ body: await importDiscounts(set, { columns, schema: line }, doer, body) }),
    }),
  ]
}

const columns = [
  { name: 'item', member: 'itemId', example: 'keys:5', read: cell.text },
  { name: 'player', member: 'nickname', example: 'Ada', read: cell.text },
  { name: 'percent', member: 'percent', example: '15', read: cell.decimal },
] as const

async function importDiscounts(
  set: DiscountDesk['set'],
  sheet: Sheet<DiscountLine>,
  doer: Doer,
  { csv, trial }: { readonly csv: string; readonly trial: boolean },
): Promise<JsonObject> {
  const { lines, faults } = readSheet({ ...sheet, namedBy: 2 }, csv)
  const discounts = lines.map(({ entry }) => discountOf(entry))
  const done = await set(doer, discounts, { isTrial: trial })
  if (done.kind === 'unknown') {
    const detail = 'is no item on the shelf, or the player is not there; see `sutler items` and `sutler players`'
    throw refused(done.indexes.flatMap((index) => faults(lines[index]!, [{ member: 'itemId', detail }])))
  }
  const changed = done.did.filter((did) => did === 'changed').length
  return { added: 0, changed, unchanged: done.did.length - changed, trial }
}

function printDiscounts(discounts: readonly Discount[]): string {
  const rows = discounts.map(({ itemId, nickname, basisPoints }) => [itemId, nickname, String(basisPoints / 100)])
  return printCsv([columns.map(({ name }) => name), ...rows])
}

function discountOf({ itemId, nickname, percent }: DiscountLine): Discount {
  return { itemId, nickname, basisPoints: Math.round(percent * 100) }
}

function presentDiscount({ itemId, nickname, basisPoints }: Discount): JsonObject {
  return { itemId, nickname, percent: basisPoints / 100 }
}
