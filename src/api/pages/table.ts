import { type Html, html } from './html.ts'

export type TableRow = {
  /** Where a link to this row leads. */
  readonly id?: string
  /** The first names the row. */
  readonly cells: readonly (string | Html)[]
}

/** A table that a phone shows as one card for each row, in which every cell says what it is. */
export function table(label: string, columns: readonly string[], rows: readonly TableRow[]): Html {
  return html`<table role="table" aria-label="${label}">
<thead role="rowgroup"><tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col">${column}</th>`)}</tr></thead>
<tbody role="rowgroup">${rows.map((row) => printRow(columns, row))}</tbody></table>`
}

// A browser forgets that a table is one as soon as its rows are laid out as blocks; the roles tell a screen reader all the same.
function printRow(columns: readonly string[], { id, cells }: TableRow): Html {
  const [name = '', ...rest] = cells
  const anchor = id === undefined ? html`` : html` id="${id}"`
  return html`<tr role="row"${anchor}><th role="rowheader" scope="row">${name}</th>${rest.map(
    (cell, index) => html`<td role="cell" data-label="${columns[index + 1] ?? ''}">${cell}</td>`,
  )}</tr>
`
}
