/** The id of the receiving account in which a row's money arrives, as `domain/receiving-account.ts` makes it of a payment. */
export const accountIdOfRow = (row: string): string =>
  `lower(${row}.network || '/' || ${row}.asset || '/' || ${row}.pay_to)`
