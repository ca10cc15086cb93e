import { newId } from '../base/id.ts'
import { canonical, type JsonObject, sha256Hex } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { eventTypeOf } from '../domain/event.ts'
import { assertPassed, type Checked, type Price } from '../domain/good.ts'
import { type Offer, viewOf } from '../domain/offer.ts'
import { isFinal, type Order } from '../domain/order.ts'
import type { Credential, Incoming, Payment, Resource, Terms } from '../domain/rail.ts'
import { asOpened, type Opening, type OpenOutcome } from '../store/order-opening.ts'
import { type Outcome, outcomeOf } from './answer.ts'
import type { Checkout } from './checkout.ts'
import { runShared, waitFor } from './run.ts'

/** One call of a paid route or tool, as its carrier hands it over. */
export type PurchaseRequest<Input> = {
  readonly resource: Resource
  readonly incoming: Incoming
  /** The body's bytes as sent; null when there is none, or it is `{}`. */
  readonly body: Uint8Array | null
  readonly bodyIsBound: boolean
  /** True when this request, as it stands, asks for a price rather than for a purchase. */
  readonly isProbe: boolean
  /** Strict JSON and schema; throws 400. Called at most once before anything else is asked. */
  parse(): Input
  readonly flowId: string
  readonly idempotencyKey: string | null
}

/**
 * One purchase, top to bottom. Every line only reads, or is safe to run again after a crash. Whatever ends in a 402 carries a fresh
 * challenge; once a payment may have been taken, nothing here ends in a 402 any more.
 */
export async function purchase<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Promise<Outcome> {
  const priced = { price: null as Usd | null }
  try {
    const credential = offer.rail.read(request.incoming)
    // Before anything else: a spent payment fails every check, and yet its payer is owed the answer.
    const seen = credential && (await checkout.orders.byIdentities(credential.identities))
    if (seen) return await replay(checkout, offer, request, credential, seen)

    if (!credential && request.isProbe)
      throw new Problem('payment_required', 'Pay to use this route; the price depends on the request.')
    const input = request.parse()
    priced.price = await priceOf(offer.price, input)
    if (!credential)
      throw new Problem('payment_required', 'Pay the challenge and repeat this request with the same body.')

    const payment = await offer.rail.verify(credential, termsOf(request, priced.price))
    checkout.ensureRoom()
    const opened = await open(checkout, offer, request, input, payment)
    return await answer(checkout, offer, request, credential, opened)
  } catch (error) {
    if (!isProblem(error) || error.status !== 402) throw error
    const price = priced.price ?? (await probePrice(offer.price))
    return { kind: 'challenged', problem: error, wire: offer.rail.challenge(termsOf(request, price), error) }
  }
}

async function answer<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  credential: Credential,
  opened: OpenOutcome,
): Promise<Outcome> {
  const { clock, limits, waypoint } = checkout
  switch (opened.kind) {
    case 'opened': {
      await waypoint('order.opened')
      const until = clock.now() + limits.waitMsMax
      const order = await runShared(checkout, opened.order, opened.lease, until)
      const end = isFinal(order.status) ? order : await waitFor(checkout, order, until)
      await waypoint('answer.ready')
      return said(offer, end, false)
    }
    case 'known':
      return replay(checkout, offer, request, credential, opened.order)
    case 'same_key':
      return sameKey(checkout, offer, request, opened.order)
    case 'in_doubt':
      throw new Problem(
        'settlement_in_doubt',
        'An earlier payment of yours for this very request is not resolved yet, so this one was not taken.',
        {
          statusUrl: offer.statusUrl(opened.order),
          members: { orderId: opened.order.id },
        },
      )
    case 'held':
      throw new Problem(opened.hold.refusal.code, opened.hold.refusal.detail)
  }
}

/** A limit that was read before somebody else's hold ended is read again; readings go stale only while others finish. */
const CHECKS_MAX = 5

async function open<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  input: Input,
  payment: Payment,
): Promise<OpenOutcome> {
  // Money that has moved is written down first and judged afterwards; a refusal then sends it back.
  if (payment.funds === 'captured') {
    const opened = await write(checkout, offer, request, input, payment, null)
    if (opened.kind !== 'same_key') return opened
    const objection = new Problem(
      'idempotency_conflict',
      'This key names another purchase; the second payment goes back.',
    )
    return write(
      checkout,
      offer,
      { ...request, idempotencyKey: null },
      input,
      { ...payment, objection, idempotencyKey: undefined },
      null,
    )
  }
  for (let round = 1; ; round++) {
    const checked = await offer.good.check(input, payment.payer)
    assertPassed(checked)
    const opened = await write(checkout, offer, request, input, payment, checked)
    if (opened.kind !== 'held' || !opened.isStale || round === CHECKS_MAX) return opened
  }
}

async function write<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  input: Input,
  payment: Payment,
  checked: Checked | null,
): Promise<OpenOutcome> {
  const { orders, clock, random, limits, waypoint } = checkout
  const { good, rail } = offer
  const opening: Omit<Opening, 'event'> = {
    id: newId('ord', random),
    flowId: payment.flowId ?? request.flowId,
    surface: good.surface,
    good: good.name,
    rail: rail.name,
    requestDigest: digestOf(offer, input),
    input,
    plan: checked?.plan ?? null,
    holds: checked?.holds ?? [],
    payment,
    idempotencyKey: request.idempotencyKey ?? payment.idempotencyKey ?? null,
    openedAt: clock.now(),
    leaseSeconds: limits.leaseSeconds,
  }
  await waypoint('order.opening')
  const data = offer.present(viewOf(offer, asOpened(opening, opening.openedAt)))
  return orders.open({ ...opening, event: { type: eventTypeOf(good.surface, 'settling'), data } })
}

/**
 * The same payment again. Its names are public once it is on the chain, so its answer is given only to whoever proves the payment and
 * asks the same thing; anybody else learns nothing but that it is taken.
 */
async function replay<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  credential: Credential,
  order: Order,
): Promise<Outcome> {
  const isTheirs = order.proofDigest === credential.proofDigest || (await credential.proves())
  if (!isTheirs || !isSameRequest(offer, request, order)) {
    throw new Problem(
      'payment_conflict',
      'This payment was used for another request. Repeat that one exactly, or read its status; do not pay again.',
    )
  }
  const { clock, limits } = checkout
  return said(offer, await waitFor(checkout, order, clock.now() + limits.waitMsMax), true)
}

/** The caller's own key, with a new payment: the first purchase is answered, and the new payment is not taken. */
async function sameKey<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  order: Order,
): Promise<Outcome> {
  if (!isSameRequest(offer, request, order))
    throw new Problem(
      'idempotency_conflict',
      'This idempotency key was used for another request; this payment was not taken.',
    )
  const { clock, limits } = checkout
  return said(offer, await waitFor(checkout, order, clock.now() + limits.waitMsMax), true)
}

function isSameRequest<Input extends JsonObject>(
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  order: Order,
): boolean {
  try {
    return digestOf(offer, request.parse()) === order.requestDigest
  } catch (error) {
    if (isProblem(error)) return false
    throw error
  }
}

function said<Input extends JsonObject>(offer: Offer<Input>, order: Order, isReplay: boolean): Outcome {
  const outcome = outcomeOf(offer as unknown as Offer, order, isReplay)
  if (outcome) return outcome
  const { code, detail } = order.failure ?? { code: 'payment_expired', detail: 'The payment never landed.' }
  throw new Problem(code, detail, { status: 402 })
}

function digestOf<Input extends JsonObject>({ good, rail }: Offer<Input>, input: Input): string {
  return sha256Hex(canonical({ good: good.name, rail: rail.name, input }))
}

function termsOf<Input>({ resource, body, bodyIsBound, flowId }: PurchaseRequest<Input>, price: Usd): Terms {
  return { price, resource, body, bodyIsBound, flowId }
}

async function priceOf<Input>(price: Price<Input>, input: Input): Promise<Usd> {
  return price.kind === 'fixed' ? price.amount : price.of(input)
}

/** A price question is answered with the lowest price there is; a payment of it is good only for a request that costs just that. */
async function probePrice<Input>(price: Price<Input>): Promise<Usd> {
  if (price.kind === 'fixed') return price.amount
  const range = await price.range()
  if (!range) throw new Problem('item_unavailable', 'Nothing is on sale here right now.')
  return range.lowest
}
