/** A record of a table, and the line of the text in which it begins. */
export type CsvRecord = { readonly line: number; readonly cells: readonly string[] }

/** What is not a table at all: a quote that never ends, or something after one. */
export class CsvFault extends Error {
  readonly line: number
  constructor(line: number, message: string) {
    super(message)
    this.name = 'CsvFault'
    this.line = line
  }
}

/**
 * Reads RFC 4180 as programs really write it: with or without a mark of its encoding, with any line ends, and with semicolons where a
 * spreadsheet's language makes them the separator. Empty lines are nothing.
 */
export function parseCsv(text: string): readonly CsvRecord[] {
  const source = text.replace(/^\ufeff/, '')
  const separator = separatorOf(source)
  const records: CsvRecord[] = []
  let at = 0
  let line = 1
  while (at < source.length) {
    const record = readRecord(source, at, line, separator)
    if (record.cells.length > 1 || record.cells[0] !== '') records.push({ line, cells: record.cells.map(unguarded) })
    at = record.end
    line = record.lineAfter
  }
  return records
}

/** Every cell that a spreadsheet would take for a formula is guarded by an apostrophe, which reading takes away again. */
export function printCsv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map((cell) => quoted(guarded(cell))).join(',')}\r\n`).join('')
}

/** For a line that a person reads: quotes only where the cell needs them. */
export function printCell(cell: string): string {
  const safe = guarded(cell)
  return /[",;\r\n]|^\s|\s$/.test(safe) ? quoted(safe) : safe
}

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`
}

// A program with another separator than ours ends cells inside of cells, quoted or not, so what follows any separator is looked at.
// Blanks and quotes do not hide a formula from every program, so they are looked through; full-width signs are signs to some.
const FORMULA = String.raw`(?=[^\S\t\r\n]*(?:"[^\S\t\r\n]*)*[=+\-@＝＋－＠])`
const BEGINNING = String.raw`(?:^(?='*[\t\r\n])|(?:^|(?<=[,;|\t\r\n]))(?='*${FORMULA}))`
const UNGUARDED = new RegExp(BEGINNING, 'g')
const GUARDED = new RegExp(`${BEGINNING}'`, 'g')

function guarded(cell: string): string {
  return cell.replace(UNGUARDED, "'")
}

function unguarded(cell: string): string {
  return cell.replace(GUARDED, '')
}

function separatorOf(source: string): ',' | ';' {
  const [header = ''] = source.split(/[\r\n]/, 1)
  return header.includes(';') && !header.includes(',') ? ';' : ','
}

type Read = { readonly cells: readonly string[]; readonly end: number; readonly lineAfter: number }

function readRecord(source: string, start: number, line: number, separator: string): Read {
  const cells: string[] = []
  let at = start
  let lineNow = line
  for (;;) {
    const isQuoted = source[at] === '"'
    const { cell, end } = isQuoted ? readQuoted(source, at, lineNow) : readPlain(source, at, separator)
    cells.push(cell)
    lineNow += isQuoted ? lineEnds(source.slice(at, end)) : 0
    at = end
    if (source[at] !== separator) break
    at++
  }
  if (at < source.length && !/[\r\n]/.test(source[at]!))
    throw new CsvFault(lineNow, 'something stands after a closing quote; a quote inside quotes is written twice')
  const lineEnd = source.startsWith('\r\n', at) ? 2 : 1
  return { cells, end: at + lineEnd, lineAfter: lineNow + 1 }
}

function readPlain(source: string, start: number, separator: string): { cell: string; end: number } {
  let end = start
  while (end < source.length && source[end] !== separator && source[end] !== '\n' && source[end] !== '\r') end++
  return { cell: source.slice(start, end), end }
}

function readQuoted(source: string, start: number, line: number): { cell: string; end: number } {
  let cell = ''
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] !== '"') cell += source[at]
    else if (source[at + 1] === '"') {
      cell += '"'
      at++
    } else return { cell, end: at + 1 }
  }
  throw new CsvFault(line, 'a quote is opened and never closed')
}

function lineEnds(text: string): number {
  return text.match(/\r\n|\r|\n/g)?.length ?? 0
}
