/** The id of the till in which a row's money arrives, as `domain/till.ts` makes it of a payment. */
export const tillIdOfRow = (row: string): string =>
  `lower(${row}.network || '/' || ${row}.asset || '/' || ${row}.pay_to)`
