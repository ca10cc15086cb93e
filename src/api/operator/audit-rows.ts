import * as z from 'zod'
import { type Clock, isoTime } from '../../base/clock.ts'
import { printCsv } from '../../base/csv.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Operator } from '../../domain/operator.ts'
import type { Database } from '../../store/db.ts'
import {
  type AuditFilter,
  type AuditRecord,
  type AuditVerdict,
  listAudit,
  verifyAudit,
} from '../../store/people/audit.ts'
import { receiverUrl } from './receiver-url.ts'
import { type OperatorRoute, operator } from './route.ts'
import { formatField, isTableAsked, TABLE_TYPE } from './table.ts'

const LIMIT = 50
const LIMIT_MAX = 500
const CSV_PAGE = 500
/** Read in one answer; an answer takes some seconds at most. */
const VERIFIED_MAX = 20_000

const position = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt)

const query = z.strictObject({
  who: z.string().min(1).max(100).optional().describe('A name, or the id of an operator'),
  deed: z.string().min(1).max(64).optional(),
  about: z.string().min(1).max(128).optional().describe('The id of an order, an item, an operator …'),
  cursor: position.optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT),
  format: formatField,
})

type AuditDesk = { readonly database: Database; readonly clock: Clock }

/** Who did what. It can only be read. */
export function auditRows({ database, clock }: AuditDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/audit', {
      role: 'viewer',
      summary: 'Who did what, newest first; as a page, or all of it with Accept: text/csv',
      query,
      handle: async ({ query, header, who }) => {
        const { cursor: before, limit, format: _, ...filter } = query
        if (isTableAsked({ query, header }))
          return { body: auditTable(database, who, { ...filter, before }), contentType: TABLE_TYPE }
        const found = await listAudit(database, { ...filter, before, limit: limit + 1 })
        const shown = found.slice(0, limit)
        const next = found.length > limit ? shown.at(-1)!.position.toString() : null
        return {
          body: { entries: shown.map((entry) => presentEntry(readBy(who, entry))), next, asOf: isoTime(clock.now()) },
        }
      },
    }),
    operator('GET /operator/audit/verify', {
      role: 'viewer',
      summary:
        'Read the log, and name each entry that was changed, removed or slipped in; ask again with `after` until `next` is null',
      query: z.strictObject({
        position: position.optional().describe('An end of the log that was noted earlier'),
        hash: z
          .string()
          .regex(/^[0-9a-f]{64}$/)
          .optional(),
        after: z
          .string()
          .regex(/^\d{1,18}:[0-9a-f]{64}$/)
          .optional()
          .describe('`next` of the answer before'),
      }),
      handle: async ({ query: { position, hash, after } }) => {
        const noted = position === undefined || hash === undefined ? null : { position, hash }
        const [at = '', its = ''] = after?.split(':') ?? []
        const from = after === undefined ? null : { position: BigInt(at), hash: its }
        return { body: presentVerdict(await verifyAudit(database, noted, { from, entriesMax: VERIFIED_MAX })) }
      },
    }),
  ]
}

/** The log keeps addresses of receivers as they are; who may not see them there does not see them here. */
function readBy(who: Operator, entry: AuditRecord): AuditRecord {
  if (entry.about.kind !== 'webhook') return entry
  const told = (state: JsonObject | null) =>
    typeof state?.['url'] === 'string' ? { ...state, url: receiverUrl(who, state['url']) } : state
  return { ...entry, before: told(entry.before), after: told(entry.after) }
}

function presentEntry({ position, deedId: _, ...entry }: AuditRecord): JsonObject {
  return { ...entry, position: position.toString() }
}

/** Whole only when it was read to its end. */
export function presentVerdict({ entries, head, faults, next }: AuditVerdict) {
  return {
    isWhole: faults.length === 0 && next === null,
    entries,
    next: next && `${next.position}:${next.hash}`,
    head: { position: head.position.toString(), hash: head.hash },
    faults: faults.map(({ position, kind }) => ({ position: position.toString(), kind })),
  }
}

const COLUMNS = [
  'position',
  'at',
  'who',
  'role',
  'via',
  'address',
  'deed',
  'kind',
  'id',
  'reason',
  'before',
  'after',
  'hash',
]

async function* auditTable(
  database: Database,
  who: Operator,
  filter: Omit<AuditFilter, 'limit'>,
): AsyncGenerator<string> {
  yield printCsv([COLUMNS])
  for (let before = filter.before; ; ) {
    const page = await listAudit(database, { ...filter, before, limit: CSV_PAGE })
    if (page.length > 0) yield printCsv(page.map((entry) => lineOf(readBy(who, entry))))
    if (page.length < CSV_PAGE) return
    before = page.at(-1)!.position
  }
}

function lineOf({ position, at, who, role, via, address, deed, about, reason, before, after, hash }: AuditRecord) {
  const json = (value: JsonObject | null) => (value === null ? '' : JSON.stringify(value))
  const first = [position.toString(), at, who, role, via, address, deed, about.kind, about.id, reason ?? '']
  return [...first, json(before), json(after), hash]
}
