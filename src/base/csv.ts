/** Lines end as RFC 4180 asks. */
const END = '\r\n'

/** One line of a table as spreadsheets read it. */
export function csvLine(cells: readonly (string | number | null)[]): string {
  return cells.map((cell) => quoted(harmless(cell === null ? '' : String(cell)))).join(',') + END
}

/**
 * A spreadsheet runs what begins like a formula, and buyers choose some of these words (a nickname, an idempotency key). A quote before it
 * makes it text; leading blanks do not hide it from every program, so they are looked through.
 */
function harmless(text: string): string {
  return /^\s*[=+\-@]|^[\t\r\n]/.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
