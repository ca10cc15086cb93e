import * as z from 'zod'
import type { Address } from '../../base/address.ts'
import { printCsv } from '../../base/csv.ts'
import type { Hex } from '../../base/hex.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { byField, csvField, descriptionField, nameField, pictureField, yesField } from '../../domain/shelf-fields.ts'
import type { Doer } from '../../store/deeds.ts'
import { type LotNote, type LotNoteChange, NO_NOTE } from '../../store/lot-notes.ts'
import { versionOf } from '../../store/version.ts'
import { TABLE_BYTES_MAX } from './item-rows.ts'
import { type ChainLot, type LotTerms, mergedTerms, presentLotTerms, termsFields } from './lot-terms.ts'
import { type OperatorRoute, operator, versionIn } from './route.ts'
import { cell, readSheet, refused, type Sheet } from './sheet.ts'

export type LotDesk = {
  readonly contract: Address
  readonly chainId: number
  /** Every lot of the contract, as of now. */
  lots(): Promise<readonly ChainLot[]>
  /** Does the configuration let this one be offered? */
  isOffered(saleId: number): boolean
  notes(): Promise<ReadonlyMap<number, LotNote>>
  /** Returns the lots of which something else is said now. */
  note(doer: Doer, changes: readonly LotNoteChange[], ifMatch?: string): Promise<readonly number[]>
  /** The call that makes a lot so. */
  encode(saleId: number, terms: LotTerms): Hex
  /** Somebody is going to sign it. */
  prepared(doer: Doer, saleId: number, before: JsonObject | null, after: JsonObject): Promise<void>
}

const saleId = z.strictObject({
  saleId: z
    .string()
    .regex(/^\d{1,15}$/, { message: 'is not a sale id; write a whole number' })
    .transform(Number),
})

const noteFields = z
  .strictObject({
    name: nameField.nullable(),
    description: descriptionField.nullable(),
    picture: pictureField.nullable(),
    hidden: yesField,
  })
  .partial()

/** Lots of the sale contract: what the chain decides is shown, and prepared for whoever may decide it; what the shop says is changed here. */
export function lotRows(desk: LotDesk): readonly OperatorRoute[] {
  const shown = async () => {
    const [lots, notes] = await Promise.all([desk.lots(), desk.notes()])
    return lots.map((lot) => presentLot(desk, lot, notes.get(lot.saleId)))
  }
  return [
    operator('GET /operator/lots', {
      role: 'viewer',
      summary: 'Every lot of the sale contract, with what the shop says of it',
      handle: async () => ({ body: { contract: desk.contract, chainId: desk.chainId, lots: await shown() } }),
    }),
    operator('POST /operator/lots/{saleId}', {
      role: 'admin',
      summary: 'Hide a lot, show it again, or describe it in other words than the chain does',
      params: saleId,
      body: noteFields.extend({ by: byField }),
      handle: async ({ params, body: { by: _, ...change }, doer, header }) => {
        const lot = (await desk.lots()).find((other) => other.saleId === params.saleId)
        if (!lot) throw unknown(params.saleId)
        const moved = await desk.note(doer, [{ ...change, ...params }], versionIn(header))
        const did = moved.length > 0 ? 'changed' : 'nothing'
        return { body: { did, ...presentLot(desk, lot, (await desk.notes()).get(lot.saleId)) } }
      },
    }),
    operator('POST /operator/lots/{saleId}/transaction', {
      role: 'admin',
      summary: 'Write the transaction that makes or changes a lot on the chain, for the lot manager to sign',
      params: saleId,
      body: termsFields.extend({ by: byField }),
      handle: async ({ params, body: { by: _, ...change }, doer }) => {
        const known = (await desk.lots()).find((lot) => lot.saleId === params.saleId) ?? null
        const terms = mergedTerms(known, change)
        const [before, after] = [known && presentLotTerms(known), presentLotTerms(terms)]
        await desk.prepared(doer, params.saleId, before, after)
        const { contract: to, chainId } = desk
        return { body: { ...params, chainId, to, value: '0', data: desk.encode(params.saleId, terms), before, after } }
      },
    }),
    operator('GET /operator/lots.csv', {
      role: 'viewer',
      summary: 'The lots as a table',
      handle: async () => ({ body: { csv: printLots(await shown()) } }),
    }),
    operator('POST /operator/lots.csv', {
      role: 'admin',
      summary: 'Describe, hide and show lots by a table: all of its lines or none',
      bodyBytesMax: TABLE_BYTES_MAX,
      body: z.strictObject({ csv: csvField, by: byField, trial: yesField.default(false) }),
      handle: async ({ body, doer }) => ({ body: await importNotes(desk, doer, body) }),
    }),
  ]
}

const sheet: Sheet<LotNoteChange> = {
  columns: [
    { name: 'id', member: 'saleId', example: '391', read: cell.whole },
    { name: 'name', member: 'name', example: 'Initiate Pass', read: cell.optional },
    { name: 'description', member: 'description', example: '', read: cell.optional },
    { name: 'picture', member: 'picture', example: '', read: cell.optional },
    { name: 'hidden', member: 'hidden', example: 'no', read: cell.yes },
    ...['price', 'supply', 'minted', 'opens', 'closes', 'state', 'onchain'].map((name) => ({
      name,
      member: null,
      example: '',
      read: cell.text,
    })),
  ],
  schema: noteFields.extend({ saleId: z.int({ error: 'is not a sale id; write a whole number' }).min(0) }),
}

async function importNotes(
  desk: LotDesk,
  doer: Doer,
  { csv, trial }: { csv: string; trial: boolean },
): Promise<JsonObject> {
  const { lines, faults } = readSheet(sheet, csv)
  const known = new Set((await desk.lots()).map((lot) => lot.saleId))
  const strangers = lines.filter(({ entry }) => !known.has(entry.saleId))
  if (strangers.length > 0)
    throw refused(
      strangers.flatMap((line) =>
        faults(line, [
          { member: 'saleId', detail: `${line.entry.saleId} is no lot of the contract; make it there first` },
        ]),
      ),
    )
  const changes = lines.map(({ entry }) => entry)
  const notes = await desk.notes()
  const moving = changes.filter(({ saleId, ...change }) => {
    const note = notes.get(saleId) ?? NO_NOTE
    return Object.entries(change).some(([field, value]) => value !== note[field as keyof LotNote])
  })
  const changed = trial ? moving.length : (await desk.note(doer, changes)).length
  return { added: 0, changed, unchanged: changes.length - changed, trial }
}

type ShownLot = ReturnType<typeof presentLot>

function presentLot(desk: LotDesk, lot: ChainLot, note: LotNote = NO_NOTE) {
  const { saleId, minted, state } = lot
  return {
    saleId,
    state: note.hidden || !desk.isOffered(saleId) ? 'hidden' : state,
    ...presentLotTerms(lot),
    minted: minted.toString(),
    left: (lot.supply - minted).toString(),
    note: { ...note },
    version: versionOf({ ...note }),
  } satisfies JsonObject
}

function printLots(lots: readonly ShownLot[]): string {
  const rows = lots.map((lot) => {
    const { name, description, picture, hidden } = lot.note
    const said = [lot.saleId, name, description, picture, hidden ? 'yes' : 'no']
    const onChain = [lot.price, lot.supply, lot.minted, lot.opensAt, lot.closesAt, lot.state, lot.name]
    return [...said, ...onChain].map((value) => String(value ?? ''))
  })
  return printCsv([sheet.columns.map(({ name }) => name), ...rows])
}

function unknown(saleId: number): Problem {
  return new Problem(
    'invalid_request',
    `The sale contract has no lot ${saleId}; nothing was changed. \`sutler lots add ${saleId}\` makes one.`,
  )
}
