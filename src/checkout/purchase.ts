import { ZERO_ADDRESS } from '../base/address.ts'
import { newId } from '../base/id.ts'
import { canonical, type JsonObject, sha256Hex } from '../base/json.ts'
import { type Usd, usd } from '../base/money.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { eventTypeOf } from '../domain/event.ts'
import { assertPassed, type Checked, type Price } from '../domain/good.ts'
import { type Offer, viewOf } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
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

// The answers to most requests of all; nothing in them is of one request, so they are made once.
const ASKED_PRICE = new Problem(
  'payment_required',
  'Pay to use this route. Where the price depends on the request, send the request to learn its own.',
)
const ASKED_UNPAID = new Problem('payment_required', 'Pay the challenge and repeat this request with the same body.')

/**
 * One purchase, top to bottom. Every line only reads, or is safe to run again after a crash. Whatever ends in a 402 carries a fresh
 * challenge; once a payment may have been taken, nothing here ends in a 402 any more.
 */
export async function purchase<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Promise<Outcome> {
  // By an earlier request, or by the payer's own hand: then a refusal must not say that nothing was taken.
  let mayBeTaken = false
  try {
    const credential = offer.rail.read(request.incoming)
    if (!credential) {
      const price = await priceShown(offer.price, request)
      return challenge(checkout, offer, request, price, request.isProbe ? ASKED_PRICE : ASKED_UNPAID)
    }
    mayBeTaken = true
    // Before anything else: a spent payment fails every check, and yet its payer is owed the answer.
    const seen = await checkout.orders.byIdentities(credential.identities)
    if (seen) return await replay(checkout, offer, request, credential, seen)

    mayBeTaken = credential.funds === 'captured'
    try {
      return await buy(checkout, offer, request, credential)
    } catch (error) {
      // A twin of this call may have been faster: what it took is what made this one fail, and its answer is owed here too.
      mayBeTaken = true
      const twin = await checkout.orders.byIdentities(credential.identities)
      if (twin) return await replay(checkout, offer, request, credential, twin)
      mayBeTaken = credential.funds === 'captured'
      throw error
    }
  } catch (error) {
    if (!isProblem(error) || error.status !== 402) throw mayBeTaken ? unsure(error) : error
    return challenge(checkout, offer, request, await priceShown(offer.price, request), error)
  }
}

/** 402, and why. */
function challenge<Input extends JsonObject>(
  { meter }: Checkout,
  { good, rail }: Offer<Input>,
  request: PurchaseRequest<Input>,
  price: Usd,
  problem: Problem,
): Outcome {
  meter.challenged(good.surface, rail.name, problem.code)
  return { kind: 'challenged', problem, price, wire: rail.challenge(termsOf(request, price), problem) }
}

/** A payment that nobody has seen before. */
async function buy<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  credential: Credential,
): Promise<Outcome> {
  const input = request.parse()
  const quoted = await quote(offer.price, input, credential)
  const payment = await offer.rail.verify(credential, termsOf(request, quoted.price))
  const { objection = payment.objection } = quoted
  checkout.ensureRoom()
  const opened = await open(checkout, offer, request, input, { ...payment, objection })
  return answer(checkout, offer, request, credential, opened)
}

/** Written, or perhaps written: the store did not say. */
type Written = OpenOutcome | { readonly kind: 'unsure'; readonly order: Order }

async function answer<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  credential: Credential,
  opened: Written,
): Promise<Outcome> {
  const { clock, limits, log, meter, waypoint } = checkout
  switch (opened.kind) {
    case 'opened': {
      const { id, flowId, good, rail } = opened.order
      log.info('order opened', { orderId: id, flowId, good, rail })
      meter.moved(opened.order)
      await waypoint('order.opened')
      const until = clock.now() + limits.waitMsMax
      // A step may take longer than the caller is made to wait; the work goes on then, and the answer is 202.
      void runShared(checkout, opened.order, opened.lease, until)
      const end = await waitFor(checkout, opened.order, until)
      await waypoint('answer.ready')
      return said(offer, end, false)
    }
    case 'unsure':
      return said(offer, opened.order, false)
    case 'known':
      return replay(checkout, offer, request, credential, opened.order)
    case 'same_key':
      return sameKey(checkout, offer, request, opened.order)
    case 'spent':
      throw new Problem(
        'payment_conflict',
        'This payment came without a purchase and was set aside, to be sent back to its payer; it buys nothing any more.',
      )
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
): Promise<Written> {
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
): Promise<Written> {
  const { orders, clock, random, limits, log, waypoint } = checkout
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
    // A key belongs to a payer, and a payer who is not known yet has none.
    idempotencyKey: payment.payer === ZERO_ADDRESS ? null : (request.idempotencyKey ?? payment.idempotencyKey ?? null),
    openedAt: clock.now(),
    leaseSeconds: limits.leaseSeconds,
  }
  await waypoint('order.opening')
  const order = asOpened(opening, opening.openedAt)
  const event = { type: eventTypeOf(good.surface, 'settling'), data: offer.present(viewOf(offer, order)) }
  return orders.open({ ...opening, event }).catch((error: unknown) => {
    if (!isProblem(error, 'store_unavailable')) throw error
    // The commit may have happened, and the worker would then settle it. It is known by its payment's own name: whether there is an
    // order, and which, only a later look can tell.
    log.warn('the store did not say whether an order was written', { orderId: order.id, error })
    return { kind: 'unsure', order: { ...order, id: handleOf(payment) } }
  })
}

/** The part of its first name that a payer knows a payment by: the authorization's nonce, the challenge's id. */
function handleOf({ identities }: Payment): string {
  return identities[0]!.split('/').at(-1)!
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

function priceOf<Input>(price: Price<Input>, input: Input): Usd | Promise<Usd> {
  return price.kind === 'fixed' ? price.amount : price.of(input)
}

const NO_PRICE = usd(0n)

/**
 * What a request costs now. Where nothing can be asked for it any more, money that has moved already is taken down all the same, with
 * what speaks against it; where nobody could say, its delivery will find out.
 */
async function quote<Input>(
  price: Price<Input>,
  input: Input,
  credential: Credential,
): Promise<{ readonly price: Usd; readonly objection?: Problem }> {
  try {
    return { price: await priceOf(price, input) }
  } catch (error) {
    if (credential.funds !== 'captured' || !isProblem(error)) throw error
    return error.status < 500 ? { price: NO_PRICE, objection: error } : { price: NO_PRICE }
  }
}

/** What a 402 asks for: the price of this very request, and only where there is no request the lowest there is. */
function priceShown<Input>(price: Price<Input>, request: PurchaseRequest<Input>): Usd | Promise<Usd> {
  return request.isProbe ? probePrice(price) : priceOf(price, request.parse())
}

/** Nobody may be told that nothing was taken when the money may have moved. */
function unsure(error: unknown): Problem {
  if (!isProblem(error))
    return new Problem('internal_error', 'The shop failed; send the same payment again.', {
      taken: 'unknown',
      cause: error,
    })
  const { code, message, extra, kind } = error
  return (extra.taken ?? kind.taken) === false ? new Problem(code, message, { ...extra, taken: 'unknown' }) : error
}

/** A price question is answered with the lowest price there is; a payment of it is good only for a request that costs just that. */
async function probePrice<Input>(price: Price<Input>): Promise<Usd> {
  if (price.kind === 'fixed') return price.amount
  const range = await price.range()
  if (!range) throw new Problem('item_unavailable', 'Nothing is on sale here right now.')
  return range.lowest
}
