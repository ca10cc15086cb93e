import * as z from 'zod'
import { hashField, isPlainName } from '../../domain/fields.ts'

const USER_ID_LENGTH_MAX = 128

/** A user id is whatever the game calls its users; it is written down and never looked up. */
export const reportSchema = z.strictObject({
  userId: z
    .string()
    .min(1)
    .max(USER_ID_LENGTH_MAX)
    .refine(isPlainName, { message: 'a user id has no control, invisible or direction marks' })
    .describe('User identifier of the reporting user'),
  txHash: hashField.describe('Hash of the successful transaction'),
})

export type ReportTx = z.output<typeof reportSchema>
