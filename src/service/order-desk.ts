import { attentionRows } from '../api/operator/attention-rows.ts'
import type { OrderListing } from '../api/operator/order-query.ts'
import { orderRows } from '../api/operator/order-rows.ts'
import type { ExplorerLink } from '../api/operator/order-timeline.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import { searchRows } from '../api/operator/search-rows.ts'
import { transferRows } from '../api/operator/transfer-rows.ts'
import { paymentStatus } from '../api/shop/purchase-status.ts'
import type { Hash } from '../base/address.ts'
import { isoTime } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import { formatUsd, usd } from '../base/money.ts'
import { isProblem } from '../base/problem.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { refundObjection } from '../checkout/refund.ts'
import type { Config } from '../config/config.ts'
import { transactionLink } from '../config/networks.ts'
import { offerKey } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { ReconcileContext } from '../ledger/reconcile-context.ts'
import { readHeld, readNeeds, readOpenTroubles } from '../store/attention.ts'
import { type Doer, recordDeeds } from '../store/deeds.ts'
import { createPlayers } from '../store/game/players.ts'
import { hurry } from '../store/jobs.ts'
import { listOrders, openOrdersBefore, sumOrders } from '../store/orders/list.ts'
import { readNaming } from '../store/orders/naming.ts'
import { addNote } from '../store/orders/notes.ts'
import { readTimeline } from '../store/orders/timeline.ts'
import { searchShelf } from '../store/shelf-names.ts'
import { readCurrencies } from '../store/shop-terms.ts'
import { listTransfers, transfersBy, transfersFrom } from '../store/transfers/list.ts'
import { listEndpoints } from '../store/webhooks/endpoints.ts'
import type { DeskParts } from './desk-parts.ts'
import type { RefundDesk } from './refund-desk.ts'

/** Orders and money without one, as operators see them and decide about them. Each deed is written with what it changes. */
export function orderDeskRows(parts: DeskParts, checkout: Checkout, refunds: RefundDesk): readonly OperatorRoute[] {
  const { config, database, clock, reconcileContext } = parts
  const listing = orderListing(parts)
  const players = createPlayers(database)
  return [
    ...attentionRows({
      now: clock.now,
      needs: () => readNeeds(database, clock.now()),
      held: () => readHeld(database),
      troubles: () => readOpenTroubles(database),
      currencies: () => readCurrencies(database),
    }),
    ...searchRows({
      ...listing,
      ordersBy: checkout.orders.byReference,
      transfersBy: (reference) => transfersBy(database, reference),
      transfersFrom: (sender, limit) => transfersFrom(database, sender, limit),
      players: async (text, limit) => (config.game.backend.kind === 'embedded' ? players.search(text, limit) : []),
      webhooks: () => listEndpoints(database),
      shelf: (text, limit) => searchShelf(database, text, limit),
      onChain: (transaction) => onChain(reconcileContext, transaction),
    }),
    ...transferRows({
      now: clock.now,
      listTransfers: (filter) => listTransfers(database, filter),
      transfersBy: (reference) => transfersBy(database, reference),
      decide: refunds.decideTransfer,
    }),
    ...orderRows({
      ...listing,
      timeline: (reference) => readTimeline(database, reference),
      byId: checkout.orders.byId,
      link: explorerLink(config),
      buyerView: (order) => buyerView(checkout, order),
      hurry: (order, doer) => hurryOrder(parts, order, doer),
      decide: refunds.decideDelivery,
      refundObjection: (order) =>
        refundObjection(order) ??
        (checkout.offers.has(offerKey(order)) ? null : 'This configuration has nothing of its rail any more.'),
      decideObjection: refunds.decideObjection,
      note: (order, doer, text) => noteOrder(parts, order, doer, text),
    }),
  ]
}

export function orderListing({ database, clock }: Pick<DeskParts, 'database' | 'clock'>): OrderListing {
  return {
    list: (filter) => listOrders(database, filter),
    sum: (selection, ordersMax) => sumOrders(database, selection, ordersMax),
    openBefore: (time) => openOrdersBefore(database, time),
    naming: (orders) => readNaming(database, orders),
    now: clock.now,
  }
}

/** The chains of the sandbox are nobody else's, though they answer under the names of public ones. */
function explorerLink({ mode }: Pick<Config, 'mode'>): ExplorerLink {
  return mode === 'sandbox' ? () => null : transactionLink
}

/** What its buyer would read at this moment, refusals included. */
async function buyerView(checkout: Checkout, { id }: Order): Promise<JsonObject> {
  try {
    const { status = 200, body } = await paymentStatus(checkout, id)
    return { status, body }
  } catch (error) {
    if (!isProblem(error)) throw error
    return { status: error.status, body: { code: error.code, detail: error.message } }
  }
}

async function hurryOrder({ database }: DeskParts, { id, status }: Order, doer: Doer): Promise<boolean> {
  return database.transaction(async (tx) => {
    const isDue = await hurry(tx, { kind: 'order', key: id })
    const about = { kind: 'order', id }
    if (isDue) await recordDeeds(tx, doer, [{ deed: 'order.hurried', about, before: { status }, after: null }])
    return isDue
  })
}

async function noteOrder(
  { database, random, clock }: DeskParts,
  { id: orderId }: Order,
  doer: Doer,
  text: string,
): Promise<JsonObject> {
  const note = { id: newId('note', random), at: clock.now(), by: doer.by, text }
  await addNote(database, doer, orderId, note)
  return { ...note, at: isoTime(note.at), orderId }
}

/** Asked of the chains themselves: a payment may have reached us a moment ago, and be recorded nowhere yet. */
async function onChain({ accounts, clock }: ReconcileContext, transaction: string): Promise<JsonObject | null> {
  for (const account of accounts) {
    const [transfer] = await account.transfersOf(transaction as Hash).catch(() => [])
    if (!transfer) continue
    const { sender, amount, blockNumber } = transfer
    const { rail, payTo } = account
    return {
      protocol: rail.name,
      network: rail.network,
      currency: rail.currency,
      amount: formatUsd(usd(amount)),
      payer: sender,
      payTo,
      blockNumber: blockNumber.toString(),
      asOf: isoTime(clock.now()),
    }
  }
  return null
}
