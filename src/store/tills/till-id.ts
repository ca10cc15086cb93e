/** The id of the till in which a row's money arrives, as `service/tills.ts` makes it of a rail. */
export const tillIdOf = (row: string): string => `lower(${row}.network || '/' || ${row}.asset || '/' || ${row}.pay_to)`
