import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { eventTypes } from '../../domain/event.ts'
import { fitsSieve } from '../../store/events.ts'
import { type EventLog, presentEvent } from './event-stream.ts'

const PAGE = 100
const PAGE_MAX = 1_000

export const positionField = z
  .string()
  .regex(/^\d{1,18}$/)
  .transform(BigInt)
export const limitField = z
  .string()
  .regex(/^\d{1,4}$/)
  .transform(Number)
  .refine((value) => value >= 1 && value <= PAGE_MAX, { message: `a limit is 1 to ${PAGE_MAX}` })

export const eventQuery = z
  .strictObject({
    after: positionField.optional(),
    limit: limitField.optional(),
    last: limitField.optional().describe('So many, newest first; `next` is `before` of the older ones'),
    before: positionField.optional().describe('Only with last: those before this position'),
    types: z
      .string()
      .max(1_000)
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(eventTypes)).min(1))
      .optional()
      .describe('Only these, separated by commas'),
    subject: z.string().min(1).max(128).optional().describe('Only what happened to this order, transfer or trouble'),
  })
  .refine(({ before, last }) => before === undefined || last !== undefined, {
    message: 'goes with last; pages in the order in which it happened go on with after',
    path: ['before'],
  })

type EventQuery = z.output<typeof eventQuery>

/** As a page in the order in which it happened, as the newest, or from where a reader stands on. */
export async function answerEvents(events: EventLog, query: EventQuery, header: (name: string) => string | undefined) {
  const { types, subject } = query
  const last = await events.last()
  if (query.last !== undefined) return { body: await newest(events, query.last, query) }
  const resumed = header('last-event-id')
  const after = resumed !== undefined && /^\d{1,18}$/.test(resumed) ? BigInt(resumed) : query.after
  if (after !== undefined && after > last) throw aheadOfLog(last)
  const forgotten = await events.forgotten()
  if (after !== undefined && after < forgotten) throw behindLog(forgotten)
  if (/\btext\/event-stream\b/.test(header('accept') ?? ''))
    return { body: events.stream(after ?? last, { types, subject }), contentType: 'text/event-stream' }
  const page = await events.read(after ?? forgotten, query.limit ?? PAGE)
  const next = page.at(-1)?.position ?? after ?? forgotten
  const shown = page.filter((event) => fitsSieve(event, { types, subject }))
  return { body: { events: shown.map(presentEvent), next: next.toString(), hasMore: next < last } }
}

async function newest(events: EventLog, count: number, { before, types, subject }: EventQuery): Promise<JsonObject> {
  const found = await events.newest({ before, types, subject, limit: count + 1 })
  const shown = found.slice(0, count)
  const next = found.length > count ? (shown.at(-1)?.position.toString() ?? null) : null
  return { events: shown.map(presentEvent), next }
}

/** A reader who knows more than the log was reading another one: this store was restored from a backup. */
function aheadOfLog(last: bigint): Problem {
  return new Problem(
    'invalid_request',
    `The log ends at ${last}; a later position is of a log that this store does not have. Begin at an earlier one.`,
  )
}

/** What lies between was deleted. Nobody is handed the rest as if it were all. */
function behindLog(forgotten: bigint): Problem {
  return new Problem(
    'invalid_request',
    `Events through position ${forgotten} are no longer kept, so some that came after yours are missing. Take up what you may have missed from /operator/orders, then go on with after=${forgotten}.`,
    { members: { forgotten: forgotten.toString() } },
  )
}
