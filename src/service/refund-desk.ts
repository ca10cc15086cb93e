import type { DecidedDelivery, Decision } from '../api/operator/order-rows.ts'
import type { AskedRefund } from '../api/operator/rows.ts'
import type { DecidedTransfer } from '../api/operator/transfer-rows.ts'
import type { JsonObject } from '../base/json.ts'
import { formatUsd, usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import { toldBy } from '../checkout/advance.ts'
import type { Checkout } from '../checkout/checkout.ts'
import { type RefundFacts, refundObjection, refundOrder } from '../checkout/refund.ts'
import { isOpen, presentTransfer } from '../domain/booked-transfer.ts'
import { viewOf } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import { decideTransfer } from '../ledger/decision.ts'
import type { Alongside } from '../store/db.ts'
import { type Deed, type Doer, recordDeeds } from '../store/deeds.ts'
import { createGameCalls, type GameVerdict } from '../store/game/calls.ts'
import { hurry } from '../store/jobs.ts'
import type { Approval } from '../store/people/approvals.ts'
import { readCurrencies } from '../store/shop-terms.ts'
import { findTransfer } from '../store/transfers/transfers.ts'
import type { DeskParts } from './desk-parts.ts'
import { guardRefund } from './refund-guard.ts'

/** All by which an operator's word moves money. Each is written with what it changes, and each passes the same guard. */
export type RefundDesk = {
  refund(orderId: string, asked: AskedRefund): Promise<Order>
  decideTransfer(id: string, decided: DecidedTransfer): Promise<JsonObject>
  decideDelivery(order: Order, decided: DecidedDelivery): Promise<Decision>
  /** Why a delivery cannot be decided about; null: it can. */
  decideObjection(order: Order): Promise<string | null>
  /** Carries out what another operator asked for. */
  approve(doer: Doer, approval: Approval): Promise<JsonObject>
}

type Desk = { readonly parts: DeskParts; readonly checkout: Checkout }

/** How a second person says yes. */
type Approved<Asked> = Asked & { readonly approval?: Approval }

export function createRefundDesk(parts: DeskParts, checkout: Checkout): RefundDesk {
  const desk = { parts, checkout }
  return {
    refund: (orderId, asked) => refundByOperator(desk, orderId, asked),
    decideTransfer: (id, decided) => decideOnTransfer(desk, id, decided),
    decideDelivery: (order, decided) => decideDelivery(desk, order, decided),
    decideObjection: (order) => decideObjection(desk, order),
    approve: (doer, approval) => approve(desk, doer, approval),
  }
}

async function approve(desk: Desk, doer: Doer, approval: Approval): Promise<JsonObject> {
  const { kind, about, request } = approval
  const reason = (request.reason ?? null) as string | null
  switch (kind) {
    case 'order.refund': {
      const expect = (request.expect ?? undefined) as RefundFacts | undefined
      const key = (request.key ?? null) as string | null
      const order = await refundByOperator(desk, about, { reason: reason ?? '', expect, key, doer, approval })
      const told = toldBy(desk.checkout, order)
      return told.present(viewOf(told, order))
    }
    case 'transfer.refund':
      return decideOnTransfer(desk, about, { decision: 'refund', reason, doer, finish: 'now', approval })
    case 'order.decide': {
      const order = await desk.checkout.orders.byId(about)
      const outcome = request.outcome as GameVerdict
      const decision = order
        ? await decideDelivery(desk, order, { outcome, reason, doer, approval })
        : 'nothing_to_decide'
      return { orderId: about, decision }
    }
  }
}

async function refundByOperator(
  { parts, checkout }: Desk,
  orderId: string,
  { reason, doer, key, expect, approval }: Approved<AskedRefund>,
): Promise<Order> {
  const order = await checkout.orders.byId(orderId)
  const request = { reason, by: byBoth(doer, approval), key, expect }
  // What cannot be refunded, or was by this very request, is told without asking anybody.
  if (!order || refundObjection(order) !== null)
    return refundOrder(checkout, orderId, { ...request, alongside: unguarded })
  const { amount, payer: to, network, status } = order
  const currency = (await readCurrencies(parts.database))(network, order.asset)
  const after = { amount: formatUsd(usd(amount)), to, network }
  const deed = { deed: 'order.refunded', about: { kind: 'order', id: orderId }, before: { status }, after, reason }
  const facts = { reason, key, expect: expect ?? null, to, currency }
  const wish = { kind: 'order.refund', about: orderId, amount, request: facts } as const
  const alongside = await guardRefund(parts, doer, wish, { deed, approval })
  return refundOrder(checkout, orderId, { ...request, alongside })
}

async function decideOnTransfer(
  { parts }: Desk,
  id: string,
  { decision, reason, doer, finish, approval }: Approved<DecidedTransfer>,
): Promise<JsonObject> {
  const about = { kind: 'transfer', id }
  const said = reason ?? undefined
  const decided = { decision, by: byBoth(doer, approval), finish }
  const alongside =
    decision === 'keep'
      ? recorded(doer, { deed: 'transfer.kept', about, before: null, after: null, reason: said })
      : await guardTransfer(parts, doer, id, { reason: said, approval })
  const { transfer, account } = await decideTransfer(parts.reconcileContext, id, { ...decided, alongside })
  return presentTransfer(transfer, account)
}

type Said = { readonly reason: string | undefined; readonly approval: Approval | undefined }

async function guardTransfer(parts: DeskParts, doer: Doer, id: string, { reason, approval }: Said): Promise<Alongside> {
  const transfer = await findTransfer(parts.database, id)
  if (!transfer || !isOpen(transfer)) return unguarded
  const { amount, sender: to, account, state } = transfer
  const [network = '', asset = ''] = account.split('/')
  const currency = (await readCurrencies(parts.database))(network, asset)
  const after = { amount: formatUsd(usd(amount)), to, network }
  const deed = { deed: 'transfer.refunded', about: { kind: 'transfer', id }, before: { state }, after, reason }
  const wish = {
    kind: 'transfer.refund',
    about: id,
    amount,
    request: { reason: reason ?? null, to, currency },
  } as const
  return guardRefund(parts, doer, wish, { deed, approval })
}

/** A person found out what the game could not say. Not while a request may still be on its way to it. */
async function decideDelivery(
  { parts }: Desk,
  order: Order,
  { outcome, reason, doer, approval }: Approved<DecidedDelivery>,
): Promise<Decision> {
  const { config, database, clock, log } = parts
  const { id, status, amount, payer: to, network, asset } = order
  const calls = createGameCalls(database)
  const call = await calls.find(id)
  if (!call || call.verdict || !isAwaited(status)) return 'nothing_to_decide'
  if (clock.now() < call.sentAt + config.limits.gameRequestLifeMs) return 'too_early'
  const { sentAt } = call
  if (approval && approval.request.sentAt !== sentAt) throw askedAgain(id)
  const about = { kind: 'order', id }
  const deed = { deed: 'order.decided', about, before: { status }, after: { outcome }, reason: reason ?? undefined }
  const currency = (await readCurrencies(database))(network, asset)
  const wish = { kind: 'order.decide', about: id, amount, request: { outcome, reason, to, currency, sentAt } } as const
  // The money goes back by this word alone.
  const alongside =
    outcome === 'delivered' ? recorded(doer, deed) : await guardRefund(parts, doer, wish, { deed, approval })
  const by = byBoth(doer, approval)
  const judged = { orderId: id, sentAt }
  if (!(await calls.decide(judged, outcome, by, alongside))) return 'nothing_to_decide'
  log.warn('an operator decided about a delivery', { orderId: id, outcome, by })
  await hurry(database, { kind: 'order', key: id })
  return 'taken'
}

/** Whoever found out that nothing was delivered knew nothing of a request that left afterwards. */
function askedAgain(orderId: string): Problem {
  return new Problem(
    'changed_meanwhile',
    `No money was sent: the game was asked for order ${orderId} again since. Refuse this, find out, and ask anew.`,
  )
}

/** Paid, and its goods not heard of. */
function isAwaited(status: Order['status']): boolean {
  return status === 'settled' || status === 'submitted'
}

async function decideObjection({ parts }: Desk, { id, status }: Order): Promise<string | null> {
  const { config, database, clock } = parts
  if (!isAwaited(status)) return `It is ${status}; there is no delivery to decide about.`
  const call = await createGameCalls(database).find(id)
  if (!call) return 'No delivery of it was asked of a game backend.'
  if (call.verdict) return `It was decided already, by ${call.verdict.by}.`
  const left = call.sentAt + config.limits.gameRequestLifeMs - clock.now()
  return left > 0 ? `The request may still reach the game; ask again in ${Math.ceil(left / 1000)} seconds.` : null
}

/** In one transaction with what it tells of. */
function recorded(doer: Doer, deed: Deed): Alongside {
  return (tx) => recordDeeds(tx, doer, [deed])
}

/** For what was not to be refunded when it was looked at: if it is by now, nobody's budget was asked, and nothing begins. */
const unguarded: Alongside = async () => {
  throw new Problem('changed_meanwhile', 'No money was sent: it changed this very moment. Look at it again.')
}

/** Two people stand behind it. */
function byBoth({ by }: Doer, approval: Approval | undefined): string {
  return approval ? `${approval.asked.name}, approved by ${by}` : by
}
