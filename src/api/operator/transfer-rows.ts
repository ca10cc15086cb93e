import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { cursorOf, placeOf } from '../../base/cursor.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { refundOf, type TransferState, transferStates } from '../../domain/booked-transfer.ts'
import type { Doer } from '../../store/deeds.ts'
import type { FoundTransfer, TransferFilter } from '../../store/transfers/list.ts'
import { type OperatorRoute, operator } from './route.ts'
import { formatField, isTableAsked, TABLE_PAGE, TABLE_TYPE, tableOf } from './table.ts'

/** Money that came without a purchase, as far as it is only read. */
type TransferListing = {
  listTransfers(filter: TransferFilter): Promise<readonly FoundTransfer[]>
  transfersBy(reference: string): Promise<readonly FoundTransfer[]>
}

type TransferDesk = TransferListing & {
  readonly now: () => number
  decide(id: string, decided: DecidedTransfer): Promise<JsonObject>
}

export type DecidedTransfer = {
  readonly decision: 'refund' | 'keep'
  readonly reason: string | null
  readonly doer: Doer
  readonly finish: 'now' | 'later'
}

const LIMIT = 50
export const TRANSFERS_PAGE_MAX = 500
/** What came without a purchase, whatever became of it. */
const WITHOUT_ORDER: readonly TransferState[] = ['unmatched', 'held', 'kept', 'returned']

export const transferQuery = z.strictObject({
  state: z
    .enum([...transferStates, 'all'])
    .default('held')
    .describe('held: a person decides; all: whatever came without a purchase'),
  rail: z.string().min(1).max(32).optional(),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(TRANSFERS_PAGE_MAX).default(LIMIT),
  format: formatField,
})

/** As many as one look at a list shows. */
const DECIDED_MAX = 100
const decision = z.enum(['refund', 'keep'])
const reason = z.string().min(1).max(300).describe('Why; kept with the deed')
const by = z.string().min(1).max(100).optional().describe('Who decided it')

export async function transferPage({ listTransfers }: TransferListing, query: z.output<typeof transferQuery>) {
  const { state, rail, cursor, limit } = query
  const states = state === 'all' ? WITHOUT_ORDER : [state]
  const after = cursor === undefined ? undefined : placeOf(cursor)
  const found = await listTransfers({ states, rail, after, limit: limit + 1 })
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return { transfers: shown.map(presentFound), next: found.length > limit && last ? cursorOf(last.place) : null }
}

const COLUMNS = [
  'transferId',
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

function transferTable(
  listing: TransferListing,
  query: z.output<typeof transferQuery>,
): Promise<AsyncGenerator<string>> {
  return tableOf(
    COLUMNS,
    async (cursor) => {
      const { transfers, next } = await transferPage(listing, { ...query, cursor, limit: TABLE_PAGE })
      return { rows: transfers.map((row) => ({ ...row, refundTx: row.refund?.['transaction'] ?? null })), next }
    },
    query.cursor,
  )
}

export type TransferView = ReturnType<typeof presentFound>

/** As operators see it. Network, asset and recipient are in the name of the receiving account, however long ago it was ours. */
export function presentFound({ transfer, rail, currency }: FoundTransfer) {
  const [network = '', asset = '', payTo = ''] = transfer.account.split('/')
  return {
    transferId: transfer.id,
    status: transfer.state,
    reason: transfer.reason,
    protocol: rail,
    network,
    asset,
    currency,
    amount: formatUsd(usd(transfer.amount)),
    payer: transfer.sender,
    payTo,
    paymentTx: transfer.transaction,
    blockNumber: transfer.blockNumber.toString(),
    orderId: transfer.orderId,
    refund: refundOf(transfer),
    decidedBy: transfer.decidedBy,
    foundAt: isoTime(transfer.foundAt),
  } satisfies JsonObject
}

export function transferRows(desk: TransferDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/transfers', {
      role: 'viewer',
      summary: 'Money that came without a purchase, newest first; as a page, or all of it with Accept: text/csv',
      query: transferQuery,
      handle: async ({ query, header }) => {
        if (isTableAsked({ query, header })) return { body: await transferTable(desk, query), contentType: TABLE_TYPE }
        const asOf = isoTime(desk.now())
        return { body: { ...(await transferPage(desk, query)), asOf } }
      },
    }),
    operator('GET /operator/transfers/{id}', {
      role: 'viewer',
      summary: 'The same by anything that names it: its id, its transaction, the nonce or challenge it was paid under',
      params: z.strictObject({ id: z.string().min(1).max(128) }),
      handle: async ({ params }) => {
        const found = await desk.transfersBy(params.id)
        if (found.length === 0) throw new Problem('order_not_found', `There is no transfer ${params.id.slice(0, 80)}.`)
        return { body: { transfers: found.map(presentFound) } }
      },
    }),
    operator('POST /operator/transfers/{id}', {
      role: 'admin',
      summary: 'Decide about money that came without a purchase: refund it, or keep it',
      params: z.strictObject({ id: z.string().min(1).max(64) }),
      body: z.strictObject({ decision, by, reason: reason.optional() }),
      handle: async ({ params, body, doer }) => {
        const { reason = null, decision } = body
        return { body: await desk.decide(params.id, { decision, reason, doer, finish: 'now' }) }
      },
    }),
    operator('POST /operator/transfers/decide', {
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
async function decideOne({ decide }: TransferDesk, id: string, decided: DecidedTransfer): Promise<JsonObject> {
  try {
    return { id, isDone: true, transfer: await decide(id, decided) }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { id, isDone: false, error: { code: error.code, detail: error.message } }
  }
}
