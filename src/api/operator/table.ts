import * as z from 'zod'
import { printCsv } from '../../base/csv.ts'
import type { Json, JsonObject } from '../../base/json.ts'

// A list for a spreadsheet: all of it, page by page, however long it is.

export const formatField = z
  .enum(['json', 'csv'])
  .optional()
  .describe('csv: all of them as a table; the same as Accept: text/csv')

export const TABLE_TYPE = 'text/csv; charset=utf-8'
export const TABLE_PAGE = 500

type Asked = {
  readonly query: { readonly format?: 'json' | 'csv' | undefined }
  header(name: string): string | undefined
}

export function isTableAsked({ query: { format }, header }: Asked): boolean {
  return format === undefined ? /\btext\/csv\b/.test(header('accept') ?? '') : format === 'csv'
}

type Page = { readonly rows: readonly JsonObject[]; readonly next: string | null }

/**
 * A column for each name, a line for each row; what has parts of its own is JSON in its cell. Its first page is read before it begins: a
 * question that is no good is refused, and not cut off.
 */
export async function tableOf(
  columns: readonly string[],
  pageAfter: (cursor: string | undefined) => Promise<Page>,
  cursor?: string,
): Promise<AsyncGenerator<string>> {
  return linesOf(columns, pageAfter, await pageAfter(cursor))
}

async function* linesOf(
  columns: readonly string[],
  pageAfter: (cursor: string) => Promise<Page>,
  first: Page,
): AsyncGenerator<string> {
  yield printCsv([columns])
  for (let { rows, next } = first; ; { rows, next } = await pageAfter(next)) {
    if (rows.length > 0) yield printCsv(rows.map((row) => columns.map((name) => cellOf(row[name]))))
    if (next === null) return
  }
}

function cellOf(value: Json | undefined): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
