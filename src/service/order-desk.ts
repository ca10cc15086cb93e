import { arrivalRows, type DecidedArrival } from '../api/operator/arrival-rows.ts'
import { attentionRows } from '../api/operator/attention-rows.ts'
import type { OrderBook } from '../api/operator/order-query.ts'
import { type DecidedDelivery, type Decision, orderRows } from '../api/operator/order-rows.ts'
import type { ExplorerLink } from '../api/operator/order-timeline.ts'
import type { OperatorRoute } from '../api/operator/route.ts'
import type { AskedRefund } from '../api/operator/rows.ts'
import { searchRows } from '../api/operator/search-rows.ts'
import { paymentStatus } from '../api/shop/purchase-status.ts'
import type { Hash } from '../base/address.ts'
import { isoTime } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import type { JsonObject } from '../base/json.ts'
import { formatUsd, usd } from '../base/money.ts'
import { isProblem } from '../base/problem.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { decideArrival } from '../checkout/orphans.ts'
import type { ReconcileContext } from '../checkout/reconcile-context.ts'
import { refundObjection, refundOrder } from '../checkout/refund.ts'
import type { Config } from '../config/config.ts'
import { transactionLink } from '../config/networks.ts'
import { offerKey } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import { presentArrival } from '../domain/till.ts'
import { readHeld, readNeeds, readOpenTroubles } from '../store/attention.ts'
import { type Deed, type Doer, recordDeeds } from '../store/deeds.ts'
import { createGameCalls } from '../store/game/calls.ts'
import { createPlayers } from '../store/game/players.ts'
import { hurry } from '../store/jobs.ts'
import { listOrders, openOrdersBefore, sumOrders } from '../store/orders/list.ts'
import { readNaming } from '../store/orders/naming.ts'
import { addNote } from '../store/orders/notes.ts'
import { readTimeline } from '../store/orders/timeline.ts'
import { searchShelf } from '../store/shelf-names.ts'
import { readCurrencies } from '../store/shop-terms.ts'
import { arrivalsBy, arrivalsFrom, listFound } from '../store/tills/arrival-list.ts'
import { listEndpoints } from '../store/webhooks/endpoints.ts'
import type { DeskParts } from './operator-routes.ts'

/** Orders and money without one, as operators see them and decide about them. Each deed is written with what it changes. */
export function orderDeskRows(parts: DeskParts, checkout: Checkout): readonly OperatorRoute[] {
  const { config, database, clock, reconcileContext } = parts
  const book = orderBook(parts)
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
      ...book,
      ordersBy: checkout.orders.byReference,
      arrivalsBy: (reference) => arrivalsBy(database, reference),
      arrivalsFrom: (sender, limit) => arrivalsFrom(database, sender, limit),
      players: async (text, limit) => (config.game.backend.kind === 'embedded' ? players.search(text, limit) : []),
      webhooks: () => listEndpoints(database),
      shelf: (text, limit) => searchShelf(database, text, limit),
      onChain: (transaction) => onChain(reconcileContext, transaction),
    }),
    ...arrivalRows({
      now: clock.now,
      listArrivals: (filter) => listFound(database, filter),
      arrivalsBy: (reference) => arrivalsBy(database, reference),
      decide: (id, decided) => decideStray(parts, id, decided),
    }),
    ...orderRows({
      ...book,
      timeline: (reference) => readTimeline(database, reference),
      link: explorerLink(config),
      buyerView: (order) => buyerView(checkout, order),
      hurry: (order, doer) => hurryOrder(parts, order, doer),
      decide: (order, decided) => decideDelivery(parts, order, decided),
      refundObjection: (order) =>
        refundObjection(order) ??
        (checkout.offers.has(offerKey(order)) ? null : 'This configuration has nothing of its rail any more.'),
      decideObjection: (order) => decideObjection(parts, order),
      note: (order, doer, text) => noteOrder(parts, order, doer, text),
    }),
  ]
}

export function orderBook({ database, clock }: Pick<DeskParts, 'database' | 'clock'>): OrderBook {
  return {
    list: (filter) => listOrders(database, filter),
    sum: (selection, ordersMax) => sumOrders(database, selection, ordersMax),
    openBefore: (time) => openOrdersBefore(database, time),
    naming: (orders) => readNaming(database, orders),
    now: clock.now,
  }
}

/** The chains of the sandbox are nobody else's, though they answer under the names of public ones. */
export function explorerLink({ mode }: Pick<Config, 'mode'>): ExplorerLink {
  return mode === 'sandbox' ? () => null : transactionLink
}

/** In one transaction with what it tells of. */
function recorded(doer: Doer, deed: Deed) {
  return (tx: Parameters<typeof recordDeeds>[0]) => recordDeeds(tx, doer, [deed])
}

export async function refundByOperator(
  checkout: Checkout,
  orderId: string,
  { reason, doer, key, expect }: AskedRefund,
): Promise<Order> {
  const order = await checkout.orders.byId(orderId)
  const after = order && { amount: formatUsd(usd(order.amount)), to: order.payer, network: order.network }
  const about = { kind: 'order', id: orderId }
  const before = order && { status: order.status }
  const alongside = recorded(doer, { deed: 'order.refunded', about, before, after, reason })
  return refundOrder(checkout, orderId, { reason, by: doer.by, key, expect, alongside })
}

async function decideStray(
  { reconcileContext }: DeskParts,
  id: string,
  { decision, reason, doer, finish }: DecidedArrival,
): Promise<JsonObject> {
  const deed = decision === 'refund' ? 'arrival.refunded' : 'arrival.kept'
  const about = { kind: 'arrival', id }
  const alongside = recorded(doer, { deed, about, before: null, after: null, reason: reason ?? undefined })
  const decided = { decision, by: doer.by, finish, alongside }
  const { arrival, till } = await decideArrival(reconcileContext, id, decided)
  return presentArrival(arrival, till)
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

/** A person found out what the game could not say. Not while a request may still be on its way to it. */
async function decideDelivery(
  { config, database, clock, log }: DeskParts,
  { id, status }: Order,
  { outcome, reason, doer }: DecidedDelivery,
): Promise<Decision> {
  const calls = createGameCalls(database)
  const call = await calls.find(id)
  if (call && clock.now() < call.sentAt + config.limits.gameRequestLifeMs) return 'too_early'
  const about = { kind: 'order', id }
  const deed = { deed: 'order.decided', about, before: { status }, after: { outcome }, reason: reason ?? undefined }
  const isTaken = await calls.decide(id, outcome, doer.by, recorded(doer, deed))
  if (!isTaken) return 'nothing_to_decide'
  log.warn('an operator decided about a delivery', { orderId: id, outcome, by: doer.by })
  await hurry(database, { kind: 'order', key: id })
  return 'taken'
}

async function decideObjection({ config, database, clock }: DeskParts, { id, status }: Order): Promise<string | null> {
  if (status !== 'settled' && status !== 'submitted') return `It is ${status}; there is no delivery to decide about.`
  const call = await createGameCalls(database).find(id)
  if (!call) return 'No delivery of it was asked of a game backend.'
  if (call.verdict) return `It was decided already, by ${call.verdict.by}.`
  const left = call.sentAt + config.limits.gameRequestLifeMs - clock.now()
  return left > 0 ? `The request may still reach the game; ask again in ${Math.ceil(left / 1000)} seconds.` : null
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

/** Asked of the chains themselves: a payment may have reached us a moment ago, and be in no book yet. */
async function onChain({ tills, clock }: ReconcileContext, transaction: string): Promise<JsonObject | null> {
  for (const till of tills) {
    const [transfer] = await till.transfersOf(transaction as Hash).catch(() => [])
    if (!transfer) continue
    const { sender, amount, blockNumber } = transfer
    const { rail, payTo } = till
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
