import * as z from 'zod'
import { isAddress } from '../../base/address.ts'
import { isoTime } from '../../base/clock.ts'
import { cursorOf, placeOf } from '../../base/cursor.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { type ArrivalState, arrivalStates, refundOf } from '../../domain/till.ts'
import type { FoundOrder } from '../../store/orders/orders.ts'
import type { ArrivalFilter, FoundArrival } from '../../store/tills/arrival-list.ts'
import type { OrderBook } from './order-query.ts'
import { presentOrder } from './order-view.ts'
import { type OperatorRoute, operator } from './route.ts'

/** Money that came without a purchase, as far as it is only read. */
type ArrivalBook = {
  listArrivals(filter: ArrivalFilter): Promise<readonly FoundArrival[]>
  arrivalsBy(reference: string): Promise<readonly FoundArrival[]>
}

type FindDesk = ArrivalBook &
  Pick<OrderBook, 'list'> & {
    ordersBy(reference: string): Promise<readonly FoundOrder[]>
    arrivalsFrom(sender: string, limit: number): Promise<readonly FoundArrival[]>
  }

const LIMIT = 50
export const ARRIVALS_PAGE_MAX = 500
/** What is not settled yet: it waits for its payer, for the chain or for a person. */
const OPEN: readonly ArrivalState[] = ['unclaimed', 'orphaned', 'held', 'refunding']
/** What came without a purchase, whatever became of it. */
const STRAY: readonly ArrivalState[] = [...OPEN, 'kept', 'dust', 'refunded']

export const arrivalQuery = z.strictObject({
  state: z
    .enum([...arrivalStates, 'open', 'all'])
    .default('open')
    .describe('open: what is not decided yet; all: whatever came without a purchase'),
  rail: z.string().min(1).max(32).optional(),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before'),
  limit: z.coerce.number().int().min(1).max(ARRIVALS_PAGE_MAX).default(LIMIT),
})

export async function arrivalPage({ listArrivals }: ArrivalBook, query: z.output<typeof arrivalQuery>) {
  const { state, rail, cursor, limit } = query
  const states = state === 'open' ? OPEN : state === 'all' ? STRAY : [state]
  const after = cursor === undefined ? undefined : placeOf(cursor)
  const found = await listArrivals({ states, rail, after, limit: limit + 1 })
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return { arrivals: shown.map(presentFound), next: found.length > limit && last ? cursorOf(last.place) : null }
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

export function arrivalRows(desk: FindDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/arrivals', {
      role: 'viewer',
      summary: 'Money that came without a purchase, newest first',
      query: arrivalQuery,
      handle: async ({ query }) => ({ body: await arrivalPage(desk, query) }),
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
    operator('GET /operator/find', {
      role: 'viewer',
      summary: 'Orders and money without one, by any name: id, transaction, nonce, challenge, key, wallet, nickname',
      query: z.strictObject({ q: z.string().min(1).max(128) }),
      handle: async ({ query }) => ({ body: await findAll(desk, query.q) }),
    }),
  ]
}

const FOUND_MAX = 10

async function findAll(desk: FindDesk, text: string): Promise<JsonObject> {
  const isWallet = isAddress(text)
  const [named, paid, bought, money, sent] = await Promise.all([
    desk.ordersBy(text),
    isWallet ? desk.list({ payer: text, limit: FOUND_MAX }) : [],
    desk.list({ player: text, limit: FOUND_MAX }),
    desk.arrivalsBy(text),
    isWallet ? desk.arrivalsFrom(text, FOUND_MAX) : [],
  ])
  const orders = new Map([...named, ...paid, ...bought].map(({ order }) => [order.id, presentOrder(order)]))
  const arrivals = new Map([...money, ...sent].map((one) => [one.arrival.id, presentFound(one)]))
  return { orders: [...orders.values()], arrivals: [...arrivals.values()] }
}
