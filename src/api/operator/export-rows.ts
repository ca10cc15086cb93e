import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { type Exported, type ExportPlan, type RetainedThing, retainedThings } from '../../domain/retention.ts'
import type { Doer } from '../../store/deeds.ts'
import type { ExportPage } from '../../store/retention/export.ts'
import { type OperatorRoute, operator } from './route.ts'

/** What an export works with. */
type ExportDesk = {
  /** What will be due in so many days: before when things of each kind were written; null for what is kept for ever. */
  plan(days: number): ExportPlan
  page(
    kind: RetainedThing,
    slice: { readonly before: number; readonly after: string | null; readonly limit: number },
  ): Promise<ExportPage>
  /** The file is written; what is in it may go when its time has come. */
  mark(doer: Doer, exported: Exported): Promise<void>
}

const PAGE = 500
const DAYS = 7
const time = z.iso.datetime().transform((text) => Date.parse(text))

export function exportRows(desk: ExportDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/export', {
      role: 'admin',
      summary: 'What will be deleted within so many days, as moments before which things were written',
      query: z.strictObject({
        days: z
          .string()
          .regex(/^\d{1,3}$/)
          .transform(Number)
          .optional(),
      }),
      handle: async ({ query }) => ({ body: presentPlan(desk.plan(query.days ?? DAYS)) }),
    }),
    operator('GET /operator/export/{kind}', {
      role: 'admin',
      summary: 'The rows of one kind that will be deleted, page by page',
      params: z.strictObject({ kind: z.enum(retainedThings) }),
      query: z.strictObject({ before: time, after: z.string().max(500).optional() }),
      handle: async ({ params, query }) => {
        const slice = { before: query.before, after: query.after ?? null, limit: PAGE }
        const { rows, next } = await desk.page(params.kind, slice)
        return { body: { rows: [...rows], next } }
      },
    }),
    operator('POST /operator/export', {
      role: 'admin',
      summary: 'Say that an export is written and safe; with SUTLER_KEEP_UNTIL_EXPORTED only then is anything deleted',
      body: z.strictObject({ asOf: time, at: time }),
      handle: async ({ body, doer }) => {
        await desk.mark(doer, body)
        return { body: { asOf: isoTime(body.asOf), at: isoTime(body.at) } }
      },
    }),
  ]
}

function presentPlan({ asOf, at, before }: ExportPlan): JsonObject {
  const moments = retainedThings.map((kind) => [kind, before[kind] === null ? null : isoTime(before[kind])] as const)
  return { asOf: isoTime(asOf), at: isoTime(at), before: Object.fromEntries(moments) }
}
