import { countdown } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { whenThere } from '../base/when-there.ts'
import { pollUntil } from '../chain/receipt.ts'
import type { Offer } from '../domain/offer.ts'
import { agreedPrice, priceOf, probePrice } from '../domain/price.ts'
import { type Payment, SpoiltPayment, type Terms, type Verified } from '../domain/rail.ts'
import { seenBefore } from '../store/orders/not-opened.ts'
import { ASKED, type ChallengeReason, type Outcome } from './answer.ts'
import type { Checkout } from './checkout.ts'
import { digestOf, digestShownFor, open, type Written } from './opening.ts'
import type { PaidCall, PurchaseRequest } from './paid-call.ts'
import { withoutClaim } from './paid-words.ts'
import {
  isKnownByName,
  isOlderThanRestore,
  lastLook,
  mayHaveMoved,
  nameOnChain,
  type ShownPayment,
} from './payment-lookup.ts'
import { returnPayment } from './payment-return.ts'
import { cannotLookNow, movedPerhaps, storeIsAnother, unsure } from './refusal.ts'
import { replay, saidBefore, sameKey } from './replay.ts'
import { runShared, waitFor } from './run.ts'

type Call<Input extends JsonObject> = Omit<PaidCall<Input>, 'credential'>

/**
 * One purchase, top to bottom. Every line only reads, or is safe to run again after a crash. Every 402 carries a fresh
 * challenge; once a payment may have been taken, nothing here ends in a 402 any more.
 */
export async function purchase<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Promise<Outcome> {
  const call = { checkout, offer, request }
  try {
    const credential = offer.rail.read(request.incoming)
    if (credential) return await replayOrBuy({ ...call, credential })
  } catch (error) {
    return refused(call, error, error instanceof SpoiltPayment ? error : null)
  }
  return ask(checkout, offer, request)
}

/** Answers a call whose payment this offer cannot take. `shown`: that payment, as far as a rail of this shop can read it. */
export function refuse<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  { problem, shown }: { readonly problem: Problem; readonly shown: ShownPayment | null },
): Promise<Outcome> {
  return refused({ checkout, offer, request }, problem, shown)
}

/** Answers a call without a payment. Without a promise where the price is known: nothing is asked of a shop more often. */
export function ask<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Outcome | Promise<Outcome> {
  const why = request.isProbe ? 'probe' : 'unpaid'
  const call = { checkout, offer, request }
  const fail = (error: unknown): never => {
    throw noted(call, error)
  }
  try {
    const asked = whenThere(checkout.assertSelling(offer.good.surface, offer.rail.name), () =>
      whenThere(priceShown(offer, request), (price) => challenge(call, price, { why, problem: ASKED[why] })),
    )
    return asked instanceof Promise ? asked.catch(fail) : asked
  } catch (error) {
    return fail(error)
  }
}

/** Before anything else a payment is looked up: a spent one fails every check, and yet its payer gets the stored answer. */
async function replayOrBuy<Input extends JsonObject>(call: PaidCall<Input>): Promise<Outcome> {
  const { checkout, credential } = call
  const isCaptured = credential.funds === 'captured'
  const seen = await checkout.orders.byIdentities(credential.identities).catch((error: unknown) => {
    throw unsure(error, isCaptured)
  })
  if (!seen) return buy(call).catch((error: unknown) => afterRefusal(call, error))
  return replay(call, seen).catch((error: unknown) => {
    throw unsure(error, isCaptured)
  })
}

/** Verify, open, advance. */
async function buy<Input extends JsonObject>(call: PaidCall<Input>): Promise<Outcome> {
  const { checkout, offer, request, credential } = call
  // A purchase that the restored store lacks may have spent it.
  if (isOlderThanRestore(checkout.store, credential))
    throw new Problem(
      'payment_expired',
      "This shop's database was restored after it had asked for this payment, which has run out and paid nothing; pay the challenge in this answer.",
    )
  const input = request.parse()
  if (credential.funds === 'authorized') await assertSellingStill(call)
  const asked = askedOf(offer, request)
  const quoted = offer.rail.quoted(credential, asked)
  const { price, objection } = await agreedPrice(offer.price, input, quoted, credential)
  const verified = await verify(call, { ...asked, price })
  switch (verified.kind) {
    case 'unseen':
      throw new Problem(
        'payment_pending',
        'The chain does not show this transaction yet. Send the same request again; if it was never sent, begin anew without a credential.',
        { action: 'wait_same_credential', afterSeconds: UNSEEN_SECONDS },
      )
    case 'orphaned':
      throw await returnPayment(call, verified)
    case 'pays':
      return take(call, input, { objection, ...verified.payment })
  }
}

const UNSEEN_SECONDS = 2

/** A payment that its payer sends may take a moment to show on the chain. A few requests may wait for that; nothing is stored before it shows. */
async function verify<Input extends JsonObject>(
  { checkout, offer, request, credential }: PaidCall<Input>,
  terms: Terms,
): Promise<Verified> {
  const look = () => offer.rail.verify(credential, terms)
  const first = await look()
  // What answers no challenge of ours pays nothing here, and is not waited for.
  const mayPay = first.kind === 'unseen' && credential.challengeOfOurs() !== null
  const leave = mayPay ? checkout.enterWaitingRoom(request.client) : null
  if (leave === null) return first
  try {
    const lookAgain = async () => {
      const verified = await look()
      return verified.kind === 'unseen' ? null : verified
    }
    const seen = await pollUntil(checkout.clock, checkout.limits.waitMsMax, lookAgain)
    return seen ?? first
  } finally {
    leave()
  }
}

async function take<Input extends JsonObject>(call: PaidCall<Input>, input: Input, payment: Payment): Promise<Outcome> {
  const { checkout } = call
  const isCaptured = payment.funds === 'captured'
  if (isCaptured && checkout.isNeverServed(payment.payer)) throw await sentBack(call)
  checkout.ensureRoom()
  const opened = await open(call, input, payment)
  if (opened.kind === 'refused' && isCaptured) throw await sentBack(call)
  return answer(call, opened)
}

/** The answer for money that has moved and is not sold for: the books send it back, or keep it for a person. */
async function sentBack<Input extends JsonObject>(call: PaidCall<Input>): Promise<Problem> {
  return (await lastLook(call)) ?? cannotLookNow()
}

async function answer<Input extends JsonObject>(call: PaidCall<Input>, opened: Written): Promise<Outcome> {
  const { checkout, offer } = call
  const { clock, limits, log, meter, waypoint } = checkout
  switch (opened.kind) {
    case 'opened': {
      const { id, flowId, good, rail } = opened.order
      log.info('order opened', { orderId: id, flowId, good, rail })
      meter.moved(opened.order)
      await waypoint('order.opened')
      const left = countdown(clock, limits.waitMsMax)
      // A step may take longer than the caller waits; then the work goes on, and the answer is 202.
      void runShared(checkout, opened, { left })
      const end = await waitFor(checkout, opened.order, left)
      await waypoint('answer.ready')
      return saidBefore(offer, end, false)
    }
    case 'unsure':
      return saidBefore(offer, opened.order, false)
    case 'known':
      return replay(call, opened.order)
    case 'same_key':
      return sameKey(call, opened.order)
    case 'unresolved':
      throw new Problem(
        'settlement_in_doubt',
        'An earlier payment of yours for this very request is not resolved yet, so this one was not taken.',
        { statusUrl: offer.statusUrl(opened.order.id), members: { orderId: opened.order.id } },
      )
    case 'refused':
      throw opened.problem
    case 'means_needed':
      throw new TypeError('the means of the payer were asked for twice')
  }
}

/**
 * "Nothing was taken" is the last word only where that is so: a twin of this call may have been faster, the payment may have bought or gone back
 * under another configuration, or a stranger may have carried it to the chain.
 */
async function afterRefusal<Input extends JsonObject>(call: PaidCall<Input>, error: unknown): Promise<Outcome> {
  const { checkout, credential } = call
  const isCaptured = credential.funds === 'captured'
  const saysFree = isProblem(error) && (error.extra.taken ?? error.kind.taken) === false
  const asksToPay = isProblem(error) && error.status === 402
  try {
    if (asksToPay && !isCaptured) await makeVoid(call, error)
    const twin = await checkout.orders.byIdentities(credential.identities)
    if (twin) return await replay(call, twin)
    if (saysFree && (await isKnownByName(checkout, credential))) throw seenBefore()
    const moved = saysFree && (asksToPay || !isCaptured) ? await lookBefore(call, error) : null
    if (moved) throw moved
  } catch (failure) {
    throw unsure(failure, isCaptured)
  }
  throw isCaptured ? unsure(error, true) : error
}

/** Any holder of an authorization may have carried it to the chain. A refusal other than 402 keeps its reason where nodes cannot tell. */
async function lookBefore<Input extends JsonObject>(call: PaidCall<Input>, refusal: Problem): Promise<Problem | null> {
  if (refusal.status === 402) return lastLook(call)
  // The node that has just been silent is not waited for once more.
  if (refusal.code === 'chain_unavailable') throw refusal
  return lastLook(call).catch((failure: unknown) => {
    throw isProblem(failure) ? withoutClaim(refusal) : failure
  })
}

/**
 * A payer who reads 402 pays again, so the authorization is void for this request from here on: a twin of this call, on a replica whose clock or
 * node judges it otherwise, must not take it afterwards. That is stored before the 402 is sent. Whether the signature is good is not asked: for
 * a contract wallet only a node can tell.
 */
async function makeVoid<Input extends JsonObject>(call: PaidCall<Input>, { code }: Problem): Promise<void> {
  const { checkout, offer, request, credential } = call
  if (credential.signedDigest === null) return
  const { identities } = credential
  const shownForDigest = digestShownFor(credential, digestOf(offer, request.parse()))
  if (await checkout.orders.refuse({ identities, shownForDigest, code })) return
  throw new Problem('rate_limited', 'This payment was shown for too many requests; send the one it was made for.')
}

/** Every refusal of a call with a payment. Only a 402 asks for another payment, and like any payer not before the shop sells. */
async function refused<Input extends JsonObject>(
  call: Call<Input>,
  error: unknown,
  shown: ShownPayment | null = null,
): Promise<Outcome> {
  const { checkout, offer, request } = call
  try {
    if (!isProblem(error)) throw error
    if (shown && (await mayHaveMoved(checkout, shown)))
      throw movedPerhaps(error, checkout.paymentUrl(offer.rail.name, nameOnChain(shown)))
    // It may have failed over a moment ago: then it may lack what this payment has bought, and no replica has noticed yet.
    if (!(await checkout.store.isKnown())) throw error.status === 402 ? storeIsAnother(error) : unsure(error, false)
    if (error.status !== 402) throw error
    await assertSellingStill(call)
    return challenge(call, await priceShown(offer, request), { why: 'refused', problem: error })
  } catch (failure) {
    throw noted(call, failure)
  }
}

/** A shop that sells nothing looks for no payment, so nothing is claimed of it, and a flood of them does not reach the nodes. */
async function assertSellingStill<Input extends JsonObject>({ checkout, offer }: Call<Input>): Promise<void> {
  try {
    await checkout.assertSelling(offer.good.surface, offer.rail.name)
  } catch (error) {
    throw unsure(error, false)
  }
}

/** Counts a refusal, and returns the error. A 202, which only waits, is no refusal. */
function noted<Input extends JsonObject>({ checkout, offer }: Call<Input>, error: unknown): unknown {
  if (isProblem(error) && error.status >= 400)
    checkout.meter.refused(offer.good.surface, offer.rail.name, error.code, error.message)
  return error
}

/** 402, and why. */
function challenge<Input extends JsonObject>(
  { checkout, offer, request }: Call<Input>,
  price: Usd,
  { why, problem }: { readonly why: ChallengeReason; readonly problem: Problem },
): Outcome {
  const { good, rail } = offer
  checkout.meter.challenged(good.surface, rail.name, problem.code, problem.message)
  return {
    kind: 'challenged',
    why,
    problem,
    price,
    wire: request.challenge({ ...askedOf(offer, request), price }, problem),
  }
}

function askedOf<Input>(
  { good }: Pick<Offer<Input>, 'good'>,
  { resource, body, bodyIsBound, flowId }: PurchaseRequest<Input>,
): Omit<Terms, 'price'> {
  return { resource, body, bodyIsBound, payerActs: good.payerActs ?? false, flowId }
}

/** What a 402 asks for: the price of this very request, and only where there is no request the lowest there is. */
function priceShown<Input extends JsonObject>(
  { price }: Offer<Input>,
  request: PurchaseRequest<Input>,
): Usd | Promise<Usd> {
  return request.isProbe ? probePrice(price) : priceOf(price, request.parse())
}
