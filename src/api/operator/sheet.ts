import type * as z from 'zod'
import { CsvFault, type CsvRecord, parseCsv, printCell } from '../../base/csv.ts'
import type { Json } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'

/** One column of a table that can be imported. */
export type Column = {
  readonly name: string
  /** The member that it sets; null where it is only told, and an import passes over it. */
  readonly member: string | null
  /** A cell that would do. */
  readonly example: string
  readonly read: (cell: string) => Json
}

/** A table of things of one kind, each named by its first column, or by the first few of them together. */
export type Sheet<Entry> = {
  readonly columns: readonly [Column, ...Column[]]
  readonly namedBy?: number
  /** What a line says, as the route for one of them would be told. */
  readonly schema: z.ZodType<Entry>
}

type SheetLine<Entry> = { readonly record: CsvRecord; readonly entry: Entry }

/** A line that cannot be used: which cell, why, and the line that would do. */
type LineFault = { readonly line: number; readonly column: string | null; readonly detail: string }

type SheetLines<Entry> = {
  readonly lines: readonly SheetLine<Entry>[]
  /** The same words for what only the store can find wrong with a line. */
  faults(line: SheetLine<Entry>, wrong: readonly WrongCell[]): readonly LineFault[]
}

/** What is wrong with one member of an entry. */
type WrongCell = { readonly member: string; readonly detail: string }

const LINES_MAX = 2_000
const FAULTS_MAX = 20

/** Reads a whole table. Everything that is wrong with it is told at once, and then nothing of it is done. */
export function readSheet<Entry>(sheet: Sheet<Entry>, csv: string): SheetLines<Entry> {
  const [header, ...records] = recordsOf(csv)
  const columns = columnsOf(sheet, header)
  if (records.length > LINES_MAX)
    throw refused([whole(1, `it has ${records.length} lines; at most ${LINES_MAX} can be imported at once`)])
  const faultsIn = (record: CsvRecord, wrong: readonly WrongCell[]): readonly LineFault[] => {
    const places = wrong.map(({ member }) => sheet.columns.find((column) => column.member === member))
    const works = mended(record, columns, places)
    return wrong.map(({ member, detail }, index) => ({
      line: record.line,
      column: places[index]?.name ?? member,
      detail: index === wrong.length - 1 ? detail + works : detail,
    }))
  }
  const keys = keyColumns(sheet).map((column) => columns.indexOf(column))
  const faults: LineFault[] = []
  const lines: SheetLine<Entry>[] = []
  const seen = new Map<string, number>()
  for (const record of records) {
    const shape = shapeFaults(record, columns, keys, seen)
    const parsed = shape.length > 0 ? null : sheet.schema.safeParse(membersOf(record, columns))
    const wrong = (parsed?.error?.issues ?? []).map(({ path, message }) => ({
      member: String(path[0]),
      detail: message,
    }))
    faults.push(...shape, ...faultsIn(record, wrong))
    if (parsed?.success) lines.push({ record, entry: parsed.data })
  }
  if (faults.length > 0) throw refused(faults)
  if (lines.length === 0) throw refused([whole(1, 'it has a header and no lines below it')])
  return { lines, faults: ({ record }, wrong) => faultsIn(record, wrong) }
}

/** Nothing was changed. */
export function refused(faults: readonly LineFault[]): Problem {
  const errors = faults.slice(0, FAULTS_MAX).map(({ line, column, detail }) => ({
    pointer: `/csv/${line}${column === null ? '' : `/${column}`}`,
    code: 'invalid_request',
    detail: `line ${line}: ${column === null ? '' : `${column} `}${detail}`,
  }))
  const lines = new Set(faults.map(({ line }) => line)).size
  const more = faults.length > FAULTS_MAX ? ` The first ${FAULTS_MAX} of ${faults.length} faults are told.` : ''
  const detail = `${lines === 1 ? 'A line' : `${lines} lines`} of the table cannot be used, so nothing was changed.${more}`
  return new Problem('invalid_request', detail, { errors })
}

function recordsOf(csv: string): readonly CsvRecord[] {
  try {
    return parseCsv(csv)
  } catch (error) {
    if (error instanceof CsvFault) throw refused([whole(error.line, error.message)])
    throw error
  }
}

function columnsOf<Entry>(sheet: Sheet<Entry>, header: CsvRecord | undefined): readonly Column[] {
  const names = sheet.columns.map(({ name }) => name)
  const first = sheet.columns.map(({ name }) => name).join(',')
  if (!header) throw refused([whole(1, `it is empty; the first line names the columns: ${first}`)])
  const given = header.cells.map((cell) => cell.trim().toLowerCase())
  const faults = given.flatMap((name, index) => {
    if (!names.includes(name))
      return [whole(header.line, `there is no column "${name.slice(0, 40)}"; there are ${first}`)]
    return given.indexOf(name) < index ? [whole(header.line, `the column ${name} is there twice`)] : []
  })
  const missing = keyColumns(sheet).find(({ name }) => !given.includes(name))
  if (faults.length === 0 && missing)
    faults.push(whole(header.line, `the column ${missing.name} is missing; the first line could be ${first}`))
  if (faults.length > 0) throw refused(faults)
  return given.map((name) => sheet.columns.find((column) => column.name === name)!)
}

function keyColumns<Entry>({ columns, namedBy = 1 }: Sheet<Entry>): readonly Column[] {
  return columns.slice(0, namedBy)
}

function shapeFaults(
  { line, cells }: CsvRecord,
  columns: readonly Column[],
  keys: readonly number[],
  seen: Map<string, number>,
): readonly LineFault[] {
  if (cells.length !== columns.length)
    return [whole(line, `it has ${cells.length} cells and the header has ${columns.length}; put quotes around commas`)]
  const id = keys.map((key) => cells[key]!.trim()).join(' for ')
  const before = seen.get(id)
  seen.set(id, before ?? line)
  return before === undefined
    ? []
    : [whole(line, `${id.slice(0, 64)} stands in line ${before} already; keep one of the two`)]
}

function membersOf({ cells }: CsvRecord, columns: readonly Column[]): Record<string, Json> {
  return Object.fromEntries(
    columns.flatMap(({ member, read }, index) => (member === null ? [] : [[member, read(cells[index]!)]])),
  )
}

function whole(line: number, detail: string): LineFault {
  return { line, column: null, detail }
}

/** The same line with something in its wrong cells that would do; nothing where a column is missing altogether. */
function mended({ cells }: CsvRecord, columns: readonly Column[], wrong: readonly (Column | undefined)[]): string {
  if (wrong.length === 0 || wrong.some((column) => !column || !columns.includes(column))) return ''
  const works = columns.map((column, index) => printCell(wrong.includes(column) ? column.example : cells[index]!))
  return ` (this line would work: ${works.join(',')})`
}

/** What cells hold. An empty one says null: nothing, no end, no bound. */
export const cell = {
  text: (value: string): Json => value.trim(),
  optional: (value: string): Json => (value.trim() === '' ? null : value.trim()),
  whole(value: string): Json {
    const digits = value.trim()
    if (digits === '') return null
    return /^\d{1,15}$/.test(digits) ? Number(digits) : digits
  },
  decimal(value: string): Json {
    const digits = value.trim()
    return /^\d{1,9}(\.\d{1,9})?$/.test(digits) ? Number(digits) : digits
  },
  yes(value: string): Json {
    const word = value.trim().toLowerCase()
    if (['yes', 'true', '1'].includes(word)) return true
    return ['no', 'false', '0', ''].includes(word) ? false : word
  },
}
