import * as z from 'zod'
import { isAddress } from '../../base/address.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import type { Operator } from '../../domain/operator.ts'
import type { Order } from '../../domain/order.ts'
import type { PlayerRow } from '../../store/game/players.ts'
import type { Naming } from '../../store/orders/naming.ts'
import type { FoundOrder } from '../../store/orders/orders.ts'
import type { ShelfName } from '../../store/shelf-names.ts'
import type { FoundArrival } from '../../store/tills/arrival-list.ts'
import type { Endpoint } from '../../store/webhooks/endpoints.ts'
import { presentFound } from './arrival-rows.ts'
import type { OrderListing } from './order-query.ts'
import { listedOrder } from './order-view.ts'
import { receiverHost, receiverUrl } from './receiver-url.ts'
import { type OperatorRoute, operator } from './route.ts'

type SearchDesk = Pick<OrderListing, 'list' | 'naming'> & {
  ordersBy(reference: string): Promise<readonly FoundOrder[]>
  arrivalsBy(reference: string): Promise<readonly FoundArrival[]>
  arrivalsFrom(sender: string, limit: number): Promise<readonly FoundArrival[]>
  /** By wallet, or by how the nickname begins; none where the game keeps its own. */
  players(text: string, limit: number): Promise<readonly PlayerRow[]>
  webhooks(): Promise<readonly Endpoint[]>
  shelf(text: string, limit: number): Promise<readonly ShelfName[]>
  /** Asks the chains for transfers to our tills in a transaction. Null: none of them shows it. */
  onChain(transaction: string): Promise<JsonObject | null>
}

type Match = {
  readonly type: 'order' | 'arrival' | 'player' | 'payer' | 'webhook' | 'item'
  readonly id: string
  readonly title: string
  readonly hint: string
  readonly href: string
}

const EACH_MAX = 10
const HASH = /^0x[0-9a-f]{64}$/i

/** One box for everything that has a name. */
export function searchRows(desk: SearchDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/search', {
      role: 'viewer',
      summary: 'Anything by any name: id, transaction, nonce, challenge, key, wallet, nickname, item, webhook',
      query: z.strictObject({
        q: z.string().trim().min(1).max(128),
        chain: z
          .enum(['true', 'false'])
          .optional()
          .describe('true: a transaction that nothing here knows is looked for on the chains, too'),
      }),
      handle: async ({ query, who }) => ({ body: await search(desk, who, query.q, query.chain === 'true') }),
    }),
  ]
}

async function search(desk: SearchDesk, who: Operator, text: string, asksChain: boolean): Promise<JsonObject> {
  const isWallet = isAddress(text)
  const [named, paid, bought, money, sent, players, webhooks, shelf] = await Promise.all([
    desk.ordersBy(text),
    isWallet ? desk.list({ payer: text, limit: EACH_MAX }) : [],
    desk.list({ player: text, limit: EACH_MAX }),
    desk.arrivalsBy(text),
    isWallet ? desk.arrivalsFrom(text, EACH_MAX) : [],
    desk.players(text, EACH_MAX),
    desk.webhooks(),
    desk.shelf(text, EACH_MAX),
  ])
  const orders = new Map([...named, ...paid, ...bought].map(({ order }) => [order.id, order]))
  // What paid an order is found as that order.
  const orphaned = [...money, ...sent].filter(({ arrival }) => arrival.state !== 'matched')
  const arrivals = new Map(orphaned.map((one) => [one.arrival.id, one]))
  const naming = await desk.naming([...orders.values()])
  const matches: readonly Match[] = [
    ...[...orders.values()].map((order) => orderMatch(order, naming)),
    ...[...arrivals.values()].map(arrivalMatch),
    ...(paid.length > 0 ? [payerMatch(text, paid.length)] : []),
    ...players.map(playerMatch),
    // Nobody finds out by guessing what they are not shown.
    ...webhooks.filter(({ id, url }) => id === text || receiverUrl(who, url).includes(text)).map(webhookMatch),
    ...shelf.map(itemMatch),
  ]
  const chain = matches.length > 0 || !HASH.test(text) ? null : await chainWord(desk, text, asksChain)
  return { matches: matches.map((match) => ({ ...match })), chain }
}

/** `unasked`: it may be there; ask again with `chain=true`. */
async function chainWord({ onChain }: SearchDesk, tx: string, isAsked: boolean): Promise<JsonObject> {
  if (!isAsked) return { state: 'unasked', tx, found: null }
  const found = await onChain(tx)
  return { state: found ? 'found' : 'unknown', tx, found }
}

function orderMatch(order: Order, naming: Naming): Match {
  const { orderId, title, quantity, status, amount, currency, player } = listedOrder(order, naming)
  return {
    type: 'order',
    id: orderId,
    title: quantity === 1 ? title : `${quantity} × ${title}`,
    hint: `${status}, ${amount} ${currency}${player === null ? '' : `, for ${player}`}`,
    href: `/operator/orders/${orderId}`,
  }
}

function arrivalMatch(found: FoundArrival): Match {
  const { arrival, currency } = found
  const { arrivalId, status } = presentFound(found)
  return {
    type: 'arrival',
    id: arrivalId,
    title: `${formatUsd(usd(arrival.amount))} ${currency ?? ''} without a purchase`,
    hint: `${status}, from ${arrival.sender}`,
    href: `/operator/arrivals/${arrivalId}`,
  }
}

function payerMatch(address: string, orders: number): Match {
  const hint = orders < EACH_MAX ? `paid ${orders} orders` : `paid ${EACH_MAX} orders or more`
  return { type: 'payer', id: address, title: address, hint, href: `/operator/orders?payer=${address}` }
}

function playerMatch({ playerId, nickname, level, wallets }: PlayerRow): Match {
  const hint = `level ${level}, ${wallets.length} wallets`
  return { type: 'player', id: playerId, title: nickname, hint, href: `/operator/players/${playerId}` }
}

function webhookMatch({ id, url, state }: Endpoint): Match {
  return { type: 'webhook', id, title: receiverHost(url), hint: state, href: `/operator/webhooks/${id}` }
}

function itemMatch({ surface, id, name }: ShelfName): Match {
  return {
    type: 'item',
    id,
    title: name,
    hint: `${surface} ${id}`,
    href: `/operator/orders?item=${encodeURIComponent(id)}`,
  }
}
