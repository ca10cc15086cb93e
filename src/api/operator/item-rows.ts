import * as z from 'zod'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import {
  byField,
  countField,
  csvField,
  descriptionField,
  itemIdField,
  nameField,
  pictureField,
  positiveField,
  priceField,
  timeField,
  yesField,
} from '../../domain/shelf-fields.ts'
import type { Doer } from '../../store/deeds.ts'
import {
  type ItemChange,
  presentTerms,
  type ShelfChange,
  type ShelfItem,
  type ShelfMode,
  type ShelfOutcome,
} from '../../store/game/shelf.ts'
import { versionOf } from '../../store/version.ts'
import { type OperatorRoute, operator, versionIn } from './route.ts'
import { type Column, cell, readSheet, refused, type Sheet } from './sheet.ts'

type ShelfDesk = {
  list(): Promise<readonly ShelfItem[]>
  change(
    doer: Doer,
    changes: readonly ItemChange[],
    how: { mode: ShelfMode; isTrial?: boolean; ifMatch?: string | undefined },
  ): Promise<ShelfChange>
}

/** A table of two thousand items with long descriptions, as the text of a JSON member. */
export const TABLE_BYTES_MAX = 2 * 1024 * 1024

const fields = {
  name: nameField,
  description: descriptionField,
  picture: pictureField.nullable(),
  price: priceField,
  supply: countField
    .nullable()
    .describe('All there ever are, delivered ones among them; null: no end. Sales do not change it'),
  stock: countField.nullable().describe('Another way to say it: so many shall be left'),
  limitPerPlayer: positiveField.nullable(),
  levelMin: positiveField,
  opensAt: timeField.nullable(),
  closesAt: timeField.nullable(),
  hidden: yesField,
}

const changeFields = z.strictObject(fields).partial()
const oneSupply = {
  message: 'is given beside supply; say one of the two',
  path: ['stock'],
}
const isOneSupply = ({ supply, stock }: { supply?: unknown; stock?: unknown }) =>
  supply === undefined || stock === undefined

/** Items of the embedded game. A studio's own backend keeps its own, and then these routes do not exist. */
export function itemRows({ list, change }: ShelfDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/items', {
      role: 'viewer',
      summary: 'Every item of the shelf, hidden ones among them',
      handle: async () => ({ body: { items: (await list()).map(presentShelfItem) } }),
    }),
    operator('POST /operator/items', {
      role: 'admin',
      summary: 'Put a new item on the shelf',
      body: changeFields
        .required({ name: true, price: true })
        .extend({ id: itemIdField, by: byField })
        .refine(isOneSupply, oneSupply),
      handle: async ({ body: { by: _, ...item }, doer }) => ({
        status: 201,
        body: presentOutcome(only(await change(doer, [item], { mode: 'add' }))),
      }),
    }),
    operator('POST /operator/items/{id}', {
      role: 'admin',
      summary:
        'Change an item: what is not named stays as it is. With If-Match and its version: only if nobody else did',
      params: z.strictObject({ id: itemIdField }),
      body: changeFields.extend({ by: byField }).refine(isOneSupply, oneSupply),
      handle: async ({ params, body: { by: _, ...item }, doer, header }) => {
        const how = { mode: 'change', ifMatch: versionIn(header) } as const
        return { body: presentOutcome(only(await change(doer, [{ ...item, ...params }], how))) }
      },
    }),
    operator('GET /operator/items.csv', {
      role: 'viewer',
      summary: 'The shelf as a table',
      handle: async () => ({ body: { csv: printItems(await list()) } }),
    }),
    operator('POST /operator/items.csv', {
      role: 'admin',
      summary: 'Add and change items by a table: all of its lines or none',
      bodyBytesMax: TABLE_BYTES_MAX,
      body: z.strictObject({ csv: csvField, by: byField, trial: yesField.default(false) }),
      handle: async ({ body, doer }) => ({ body: await importItems(change, doer, body) }),
    }),
  ]
}

async function importItems(
  change: ShelfDesk['change'],
  doer: Doer,
  { csv, trial }: { csv: string; trial: boolean },
): Promise<JsonObject> {
  const { lines, faults } = readSheet(sheet, csv)
  const done = await change(
    doer,
    lines.map(({ entry }) => entry),
    { mode: 'put', isTrial: trial },
  )
  if (done.kind === 'refused') {
    const byLine = Map.groupBy(done.faults, ({ index }) => index)
    throw refused(
      [...byLine].flatMap(([index, wrong]) =>
        faults(
          lines[index]!,
          wrong.map(({ field, detail }) => ({ member: field, detail })),
        ),
      ),
    )
  }
  const counted = (did: ShelfOutcome['did']) => done.outcomes.filter((outcome) => outcome.did === did).length
  return { added: counted('added'), changed: counted('changed'), unchanged: counted('nothing'), trial }
}

const column = (name: string, member: string | null, example: string, read: Column['read']): Column => ({
  name,
  member,
  example,
  read,
})

const columns = [
  column('id', 'id', 'keys:5', cell.text),
  column('name', 'name', 'Five Keys', cell.text),
  column('description', 'description', 'Five keys for five chests.', cell.text),
  column('price', 'price', '1.50', cell.text),
  column('supply', 'supply', '', cell.whole),
  column('limit', 'limitPerPlayer', '', cell.whole),
  column('level', 'levelMin', '1', cell.whole),
  column('opens', 'opensAt', '', cell.optional),
  column('closes', 'closesAt', '', cell.optional),
  column('hidden', 'hidden', 'no', cell.yes),
  column('picture', 'picture', '', cell.optional),
  column('delivered', null, '', cell.text),
  column('left', null, '', cell.text),
] as const satisfies readonly Column[]

/** `stock` is not in it: a table that was exported an hour ago must not put back what was sold since. */
const sheet: Sheet<ItemChange> = {
  columns,
  schema: changeFields.omit({ stock: true }).extend({ id: itemIdField }),
}

function printItems(items: readonly ShelfItem[]): string {
  const rows = items.map((item) => {
    const { price, opensAt, closesAt } = presentTerms(item)
    const told = [item.id, item.name, item.description, price, item.supply, item.limitPerPlayer, item.levelMin]
    const rest = [opensAt, closesAt, item.hidden ? 'yes' : 'no', item.picture, item.delivered, leftOf(item)]
    return [...told, ...rest].map((value) => String(value ?? ''))
  })
  return printCsv([columns.map(({ name }) => name), ...rows])
}

function leftOf({ supply, delivered }: ShelfItem): number | null {
  return supply === null ? null : supply - delivered
}

function only(change: ShelfChange): ShelfOutcome {
  if (change.kind === 'done') return change.outcomes[0]!
  const { field, detail } = change.faults[0]!
  const errors = change.faults.map((fault) => ({
    pointer: `/${fault.field}`,
    code: 'invalid_request',
    detail: fault.detail,
  }))
  throw new Problem('invalid_request', `${field}: ${detail}. Nothing was changed.`, { errors })
}

function presentOutcome({ item, did }: ShelfOutcome): JsonObject {
  return { did, ...presentShelfItem(item) }
}

export function presentShelfItem(item: ShelfItem): JsonObject {
  const { id, delivered, promised } = item
  const terms = presentTerms(item)
  return { id, ...terms, delivered, promised, left: leftOf(item), version: versionOf(terms) }
}
