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
import type { FoundTransfer } from '../../store/transfers/list.ts'
import type { Endpoint } from '../../store/webhooks/endpoints.ts'
import type { OrderListing } from './order-query.ts'
import { listedOrder } from './order-view.ts'
import { receiverHost, receiverUrl } from './receiver-url.ts'
import { type OperatorRoute, operator } from './route.ts'
import { presentFound } from './transfer-rows.ts'

type SearchDesk = Pick<OrderListing, 'list' | 'naming'> & {
  ordersBy(reference: string): Promise<readonly FoundOrder[]>
  transfersBy(reference: string): Promise<readonly FoundTransfer[]>
  transfersFrom(sender: string, limit: number): Promise<readonly FoundTransfer[]>
  /** By wallet, or by how the nickname begins; none where the game keeps its own. */
  players(text: string, limit: number): Promise<readonly PlayerRow[]>
  webhooks(): Promise<readonly Endpoint[]>
  shelf(text: string, limit: number): Promise<readonly ShelfName[]>
  /** Asks the chains for transfers to our tills in a transaction. Null: none of them shows it. */
  onChain(transaction: string): Promise<JsonObject | null>
}

type Match = {
  readonly type: 'order' | 'transfer' | 'player' | 'payer' | 'webhook' | 'item'
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
    desk.transfersBy(text),
    isWallet ? desk.transfersFrom(text, EACH_MAX) : [],
    desk.players(text, EACH_MAX),
    desk.webhooks(),
    desk.shelf(text, EACH_MAX),
  ])
  const orders = new Map([...named, ...paid, ...bought].map(({ order }) => [order.id, order]))
  // What paid an order is found as that order.
  const orphaned = [...money, ...sent].filter(({ transfer }) => transfer.state !== 'matched')
  const transfers = new Map(orphaned.map((one) => [one.transfer.id, one]))
  const naming = await desk.naming([...orders.values()])
  const matches: readonly Match[] = [
    ...[...orders.values()].map((order) => orderMatch(order, naming)),
    ...[...transfers.values()].map(transferMatch),
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

function transferMatch(found: FoundTransfer): Match {
  const { transfer, currency } = found
  const { transferId, status } = presentFound(found)
  return {
    type: 'transfer',
    id: transferId,
    title: `${formatUsd(usd(transfer.amount))} ${currency ?? ''} without a purchase`,
    hint: `${status}, from ${transfer.sender}`,
    href: `/operator/transfers/${transferId}`,
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
