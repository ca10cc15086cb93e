import * as z from 'zod'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, type Usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { Offer } from '../../domain/offer.ts'
import { byField, csvField, priceField, yesField } from '../../domain/shelf-fields.ts'
import type { Doer } from '../../store/deeds.ts'
import type { GoodPriceChange, PricedGood } from '../../store/good-prices.ts'
import { versionOf } from '../../store/version.ts'
import { type OperatorRoute, operator, versionIn } from './route.ts'
import { cell, readSheet, refused, type Sheet } from './sheet.ts'

/** A good that costs everybody the same, and where it is sold. */
type ListedGood = PricedGood & { readonly surface: string; readonly protocols: readonly string[] }

type PriceDesk = {
  readonly goods: readonly ListedGood[]
  /** Only what was set. */
  read(): Promise<ReadonlyMap<string, Usd>>
  /** Returns the goods whose price is another one now. */
  change(doer: Doer, changes: readonly GoodPriceChange[], ifMatch?: string): Promise<readonly string[]>
}

/** Goods without a shelf: probes, look-ups, craft actions. What they cost unless an operator says otherwise is the program's own price. */
export function listedGoods(offers: Iterable<Offer>): readonly ListedGood[] {
  const goods = new Map<string, ListedGood>()
  for (const { good, price, rail } of offers) {
    if (price.kind !== 'listed') continue
    const protocols = goods.get(good.name)?.protocols ?? []
    goods.set(good.name, {
      good: good.name,
      usual: price.usual,
      surface: good.surface,
      protocols: [...new Set([...protocols, rail.name])],
    })
  }
  return [...goods.values()]
}

const asked = z.strictObject({
  price: priceField.nullable().describe('Null: the usual price again'),
  by: byField,
})

export function priceRows({ goods, read, change }: PriceDesk): readonly OperatorRoute[] {
  const shown = async () => {
    const set = await read()
    return goods.map((good) => presentGood(good, set))
  }
  return [
    operator('GET /operator/prices', {
      role: 'viewer',
      summary: 'What goods without a shelf cost: probes, look-ups, craft actions',
      handle: async () => ({ body: { prices: await shown() } }),
    }),
    operator('POST /operator/prices/{good}', {
      role: 'admin',
      summary: 'Set the price of such a good, or take it back to the usual one',
      params: z.strictObject({ good: z.string().max(64) }),
      body: asked,
      handle: async ({ params, body, doer, header }) => {
        const good = goods.find(({ good }) => good === params.good)
        if (!good) throw unknown(params.good, goods)
        const moved = await change(doer, [{ ...good, price: body.price }], versionIn(header))
        return { body: { did: moved.length > 0 ? 'changed' : 'nothing', ...presentGood(good, await read()) } }
      },
    }),
    operator('GET /operator/prices.csv', {
      role: 'viewer',
      summary: 'The same as a table',
      handle: async () => {
        const set = await read()
        const rows = goods.map(({ good, usual }) => [good, formatUsd(set.get(good) ?? usual), formatUsd(usual)])
        return { body: { csv: printCsv([sheet.columns.map(({ name }) => name), ...rows]) } }
      },
    }),
    operator('POST /operator/prices.csv', {
      role: 'admin',
      summary: 'Set prices by a table: all of its lines or none',
      body: z.strictObject({ csv: csvField, by: byField, trial: yesField.default(false) }),
      handle: async ({ body: { csv, trial }, doer }) => {
        const changes = changesIn(csv, goods)
        const set = await read()
        const moving = changes.filter(({ good, usual, price }) => (set.get(good) ?? usual) !== (price ?? usual))
        const changed = trial ? moving.length : (await change(doer, changes)).length
        return { body: { added: 0, changed, unchanged: changes.length - changed, trial } }
      },
    }),
  ]
}

const sheet: Sheet<{ good: string; price: Usd | null }> = {
  columns: [
    { name: 'good', member: 'good', example: 'burn', read: cell.text },
    { name: 'price', member: 'price', example: '0.001', read: cell.optional },
    { name: 'usual', member: null, example: '', read: cell.text },
  ],
  schema: z.strictObject({ good: z.string(), price: priceField.nullable() }),
}

function changesIn(csv: string, goods: readonly ListedGood[]): readonly GoodPriceChange[] {
  const { lines, faults } = readSheet(sheet, csv)
  const strangers = lines.filter(({ entry }) => !goods.some(({ good }) => good === entry.good))
  if (strangers.length > 0)
    throw refused(
      strangers.flatMap((line) =>
        faults(line, [{ member: 'good', detail: `${line.entry.good.slice(0, 64)} is none of ${namesOf(goods)}` }]),
      ),
    )
  return lines.map(({ entry }) => ({ ...goods.find(({ good }) => good === entry.good)!, price: entry.price }))
}

function unknown(name: string, goods: readonly ListedGood[]): Problem {
  const detail = `There is no good ${name}; there are ${namesOf(goods)}. Nothing was changed.`
  return new Problem('invalid_request', detail)
}

function namesOf(goods: readonly ListedGood[]): string {
  return goods.map(({ good }) => good).join(', ')
}

function presentGood({ good, usual, surface, protocols }: ListedGood, set: ReadonlyMap<string, Usd>): JsonObject {
  const price = set.get(good) ?? usual
  const terms = { price: formatUsd(price) }
  return { good, surface, protocols: [...protocols], ...terms, usual: formatUsd(usual), version: versionOf(terms) }
}
