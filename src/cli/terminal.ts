import { stripVTControlCharacters, styleText } from 'node:util'
import { stringify } from '../base/json.ts'
import type { Output } from './output.ts'

/** Where a command speaks. Results go to the standard output, everything else beside it, so that a pipe gets the result alone. */
export type Terminal = {
  readonly style: Style
  show(output: Output): void
  /** A part of a result that is too long to be held whole; resolves when it was taken. */
  print(text: string): Promise<void>
  /** What is going on, line by line. Programs do not want to hear it. */
  note(text: string): void
  complain(text: string): void
  /** Columns that line up. */
  table(rows: readonly (readonly string[])[]): string
}

export type Style = Readonly<Record<'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan', (text: string) => string>>

export type Streams = { readonly stdout: NodeJS.WriteStream; readonly stderr: NodeJS.WriteStream }

/** Colours are for people in front of a terminal; `NO_COLOR` is respected (by Node itself). */
export function createTerminal({ stdout, stderr }: Streams, isJson: boolean): Terminal {
  const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    styleText(format, text, { stream: stdout, validateStream: true })
  return {
    style: {
      bold: paint('bold'),
      dim: paint('dim'),
      green: paint('green'),
      yellow: paint('yellow'),
      red: paint('red'),
      cyan: paint('cyan'),
    },
    show: ({ json, text }) => void stdout.write(`${isJson ? stringify(json) : text}\n`),
    print: (text) => new Promise((taken) => void stdout.write(text, () => taken())),
    note: (text) => void (isJson || stderr.write(`${text}\n`)),
    complain: (text) => void stderr.write(`${text}\n`),
    table,
  }
}

const GAP = '  '

function table(rows: readonly (readonly string[])[]): string {
  const widths = new Map<number, number>()
  for (const row of rows)
    for (const [column, cell] of row.entries()) widths.set(column, Math.max(widths.get(column) ?? 0, widthOf(cell)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === row.length - 1 ? cell : padded(cell, widths.get(column)!)))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

function padded(cell: string, width: number): string {
  return cell + ' '.repeat(width - widthOf(cell))
}

function widthOf(cell: string): number {
  return stripVTControlCharacters(cell).length
}
