import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { cursorOf, placeOf } from '../../base/cursor.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { type ArrivalState, arrivalStates, refundOf } from '../../domain/till.ts'
import type { Doer } from '../../store/deeds.ts'
import type { ArrivalFilter, FoundArrival } from '../../store/tills/arrival-list.ts'
import { type OperatorRoute, operator } from './route.ts'
import { formatField, isTableAsked, TABLE_PAGE, TABLE_TYPE, tableOf } from './table.ts'

/** Money that came without a purchase, as far as it is only read. */
type ArrivalListing = {
  listArrivals(filter: ArrivalFilter): Promise<readonly FoundArrival[]>
  arrivalsBy(reference: string): Promise<readonly FoundArrival[]>
}

type ArrivalDesk = ArrivalListing & {
  readonly now: () => number
  decide(id: string, decided: DecidedArrival): Promise<JsonObject>
}

export type DecidedArrival = {
  readonly decision: 'refund' | 'keep'
  readonly reason: string | null
  readonly doer: Doer
  readonly finish: 'now' | 'later'
}

const LIMIT = 50
export const ARRIVALS_PAGE_MAX = 500
/** What is not settled yet: it waits for its payer, for the chain or for a person. */
const OPEN: readonly ArrivalState[] = ['unclaimed', 'orphaned', 'held', 'refunding']
/** What came without a purchase, whatever became of it. */
const WITHOUT_ORDER: readonly ArrivalState[] = [...OPEN, 'kept', 'dust', 'refunded']

export const arrivalQuery = z.strictObject({
  state: z
    .enum([...arrivalStates, 'open', 'all'])
    .default('open')
    .describe('open: what is not decided yet; all: whatever came without a purchase'),
  rail: z.string().min(1).max(32).optional(),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(ARRIVALS_PAGE_MAX).default(LIMIT),
  format: formatField,
})

/** As many as one look at a list shows. */
const DECIDED_MAX = 100
const decision = z.enum(['refund', 'keep'])
const reason = z.string().min(1).max(300).describe('Why; kept with the deed')
const by = z.string().min(1).max(100).optional().describe('Who decided it')

export async function arrivalPage({ listArrivals }: ArrivalListing, query: z.output<typeof arrivalQuery>) {
  const { state, rail, cursor, limit } = query
  const states = state === 'open' ? OPEN : state === 'all' ? WITHOUT_ORDER : [state]
  const after = cursor === undefined ? undefined : placeOf(cursor)
  const found = await listArrivals({ states, rail, after, limit: limit + 1 })
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return { arrivals: shown.map(presentFound), next: found.length > limit && last ? cursorOf(last.place) : null }
}

const COLUMNS = [
  'arrivalId',
  'status',
  'reason',
  'protocol',
  'network',
  'currency',
  'amount',
  'payer',
  'payTo',
  'paymentTx',
  'blockNumber',
  'orderId',
  'refundTx',
  'decidedBy',
  'foundAt',
]

function arrivalTable(listing: ArrivalListing, query: z.output<typeof arrivalQuery>): Promise<AsyncGenerator<string>> {
  return tableOf(
    COLUMNS,
    async (cursor) => {
      const { arrivals, next } = await arrivalPage(listing, { ...query, cursor, limit: TABLE_PAGE })
      return { rows: arrivals.map((row) => ({ ...row, refundTx: row.refund?.['transaction'] ?? null })), next }
    },
    query.cursor,
  )
}

export type ArrivalView = ReturnType<typeof presentFound>

/** As operators see it. Network, asset and recipient are in the name of the till, however long ago it was ours. */
export function presentFound({ arrival, rail, currency }: FoundArrival) {
  const [network = '', asset = '', payTo = ''] = arrival.till.split('/')
  return {
    arrivalId: arrival.id,
    status: arrival.state,
    reason: arrival.reason,
    protocol: rail,
    network,
    asset,
    currency,
    amount: formatUsd(usd(arrival.amount)),
    payer: arrival.sender,
    payTo,
    paymentTx: arrival.transaction,
    blockNumber: arrival.blockNumber.toString(),
    orderId: arrival.orderId,
    refund: refundOf(arrival),
    decidedBy: arrival.decidedBy,
    foundAt: isoTime(arrival.foundAt),
  } satisfies JsonObject
}

export function arrivalRows(desk: ArrivalDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/arrivals', {
      role: 'viewer',
      summary: 'Money that came without a purchase, newest first; as a page, or all of it with Accept: text/csv',
      query: arrivalQuery,
      handle: async ({ query, header }) => {
        if (isTableAsked({ query, header })) return { body: await arrivalTable(desk, query), contentType: TABLE_TYPE }
        const asOf = isoTime(desk.now())
        return { body: { ...(await arrivalPage(desk, query)), asOf } }
      },
    }),
    operator('GET /operator/arrivals/{id}', {
      role: 'viewer',
      summary: 'The same by anything that names it: its id, its transaction, the nonce or challenge it was paid under',
      params: z.strictObject({ id: z.string().min(1).max(128) }),
      handle: async ({ params }) => {
        const found = await desk.arrivalsBy(params.id)
        if (found.length === 0) throw new Problem('order_not_found', `There is no arrival ${params.id.slice(0, 80)}.`)
        return { body: { arrivals: found.map(presentFound) } }
      },
    }),
    operator('POST /operator/arrivals/{id}', {
      role: 'admin',
      summary: 'Decide about money that came without a purchase: refund it, or keep it',
      params: z.strictObject({ id: z.string().min(1).max(64) }),
      body: z.strictObject({ decision, by, reason: reason.optional() }),
      handle: async ({ params, body, doer }) => {
        const { reason = null, decision } = body
        return { body: await desk.decide(params.id, { decision, reason, doer, finish: 'now' }) }
      },
    }),
    operator('POST /operator/arrivals/decide', {
      role: 'admin',
      summary: 'The same for many at once; each is told apart. What goes back is sent within moments',
      body: z.strictObject({ ids: z.array(z.string().min(1).max(64)).min(1).max(DECIDED_MAX), decision, reason, by }),
      handle: async ({ body: { ids, decision, reason }, doer }) => {
        const results: JsonObject[] = []
        for (const id of new Set(ids))
          results.push(await decideOne(desk, id, { decision, reason, doer, finish: 'later' }))
        return { body: { results, asOf: isoTime(desk.now()) } }
      },
    }),
  ]
}

/** One that is refused must not keep the others from being decided. */
async function decideOne({ decide }: ArrivalDesk, id: string, decided: DecidedArrival): Promise<JsonObject> {
  try {
    return { id, isDone: true, arrival: await decide(id, decided) }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { id, isDone: false, error: { code: error.code, detail: error.message } }
  }
}
