import { countdown } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { whenThere } from '../base/when-there.ts'
import { pollUntil } from '../chain/receipt.ts'
import type { Offer } from '../domain/offer.ts'
import { agreedPrice, priceOf, probePrice } from '../domain/price.ts'
import type { Payment, Terms, Verified } from '../domain/rail.ts'
import { ASKED, type ChallengeReason, type Outcome } from './answer.ts'
import type { Checkout } from './checkout.ts'
import {
  isOlderThanRestore,
  type MisplacedPayment,
  refusalOfMisplaced,
  refusalOfUnreadable,
} from './misplaced-payment.ts'
import { digestOf, digestShownFor, open, type Written } from './opening.ts'
import type { PaidCall, PurchaseRequest } from './paid-call.ts'
import { isSurelyOver, landedInTime } from './payment-lookup.ts'
import { returnPayment } from './payment-return.ts'
import {
  cannotLookNow,
  mayStillLand,
  quarantinedBefore,
  ranOut,
  refusalOfOpening,
  storeIsAnother,
  unsure,
} from './refusal.ts'
import { replay, saidBefore, sameKey } from './replay.ts'
import { refuseRetired, whereMeant } from './retired-rail.ts'
import { runShared, waitFor } from './run.ts'

/**
 * One purchase, top to bottom. Every line only reads, or is safe to run again after a crash. Every 402 carries a fresh
 * challenge; once a payment may have been taken, nothing here ends in a 402 any more.
 */
export async function purchase<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Promise<Outcome> {
  return (await answerPaid({ checkout, offer, request }, buyOrSendBack)) ?? ask(checkout, offer, request)
}

/** For a retired offer: a payer who bought there gets the answer, and no new payment buys. */
export async function answerRetired<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Promise<Outcome> {
  return (await answerPaid({ checkout, offer, request }, refuseRetired)) ?? ask(checkout, offer, request)
}

/** Answers a call without a payment. Without a promise where the price is known: nothing is asked of a shop more often. */
export function ask<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
): Outcome | Promise<Outcome> {
  const why = request.isProbe ? 'probe' : 'unpaid'
  const call = { checkout, offer, request }
  const refused = (error: unknown): never => {
    throw noted(call, error)
  }
  try {
    const asked = whenThere(checkout.assertSelling(offer.good.surface, offer.rail.name), () =>
      whenThere(priceShown(offer, request), (price) => challenge(call, price, { why, problem: ASKED[why] })),
    )
    return asked instanceof Promise ? asked.catch(refused) : asked
  } catch (error) {
    return refused(error)
  }
}

/** Answers a call whose payment this offer cannot read, because it was made for another one. */
export async function refuse<Input extends JsonObject>(
  checkout: Checkout,
  offer: Offer<Input>,
  request: PurchaseRequest<Input>,
  misplaced: MisplacedPayment,
): Promise<Outcome> {
  const problem = await refusalOfMisplaced(checkout, misplaced)
  // Once money may have moved the client is not asked to pay, at whichever address the payment is shown.
  if (problem.status !== 402) throw problem
  return askAgain({ checkout, offer, request }, problem)
}

/** Asks for another payment, of a payer whose payment was refused; like any payer, not before the shop sells. */
async function askAgain<Input extends JsonObject>(
  call: Omit<PaidCall<Input>, 'credential'>,
  problem: Problem,
): Promise<Outcome> {
  const { checkout, offer, request } = call
  try {
    await checkout.assertSelling(offer.good.surface, offer.rail.name)
  } catch (error) {
    // What could not be read was not looked for either.
    throw unsure(error, false)
  }
  // It may have failed over a moment ago, and no replica has noticed yet.
  if (!(await checkout.store.isKnown())) throw storeIsAnother(problem)
  return challenge(call, await priceShown(offer, request), { why: 'refused', problem })
}

/** What to do with a payment that no order and no arrival has. */
type OnNewPayment = <Input extends JsonObject>(call: PaidCall<Input>) => Promise<Outcome>

async function answerPaid<Input extends JsonObject>(
  call: Omit<PaidCall<Input>, 'credential'>,
  onNew: OnNewPayment,
): Promise<Outcome | null> {
  const { offer, request } = call
  try {
    const credential = offer.rail.read(request.incoming)
    if (!credential) return null
    const paid = { ...call, credential }
    const isOfRetired = whereMeant(paid).offer.rail !== offer.rail
    return await sellOrReplay(paid, isOfRetired ? refuseRetired : onNew)
  } catch (failure) {
    const error = await refusalOfUnreadable(call.checkout, failure)
    if (!isProblem(error) || error.status !== 402) throw noted(call, error)
    return askAgain(call, error).catch((failure: unknown) => {
      throw noted(call, failure)
    })
  }
}

/** Counts a refusal, and returns the error. A 202, which only waits, is no refusal. */
function noted<Input extends JsonObject>(
  { checkout, offer }: Pick<PaidCall<Input>, 'checkout' | 'offer'>,
  error: unknown,
): unknown {
  if (isProblem(error) && error.status >= 400)
    checkout.meter.refused(offer.good.surface, offer.rail.name, error.code, error.message)
  return error
}

async function sellOrReplay<Input extends JsonObject>(call: PaidCall<Input>, onNew: OnNewPayment): Promise<Outcome> {
  const { checkout, credential } = call
  const isCaptured = credential.funds === 'captured'
  // By an earlier request, or because the payer sent it: then a refusal must not say that nothing was taken.
  let mayBeTaken = true
  try {
    // Before anything else: a spent payment fails every check, and yet its payer gets the stored answer.
    const seen = await checkout.orders.byIdentities(credential.identities)
    if (seen) return await replay(call, seen)
    mayBeTaken = isCaptured
    return await onNew(call).catch(async (error: unknown) => {
      // A twin of this call may have been faster: then its success made this one fail, and this one gets the same answer.
      mayBeTaken = true
      if (isProblem(error) && error.status === 402 && !isCaptured) await makeVoid(call, error)
      const twin = await checkout.orders.byIdentities(credential.identities)
      if (twin) return replay(call, twin)
      // What went back without an order fails every check too, and its payer must not be asked to pay again.
      if (await checkout.orders.isQuarantined(await call.offer.rail.namesOf(credential))) throw quarantinedBefore()
      mayBeTaken = isCaptured
      throw error
    })
  } catch (error) {
    throw mayBeTaken ? unsure(error, isCaptured) : error
  }
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

/** 402, and why. */
function challenge<Input extends JsonObject>(
  { checkout, offer, request }: Omit<PaidCall<Input>, 'credential'>,
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

/** Takes a new payment. One that a stranger has carried to the chain fails every check; its payer must not be asked to pay again, so it is sent back. */
async function buyOrSendBack<Input extends JsonObject>(call: PaidCall<Input>): Promise<Outcome> {
  if (isOlderThanRestore(call.checkout.store, call.credential)) throw await notSold(call, MAY_HAVE_BOUGHT)
  return verifyAndTake(call).catch(async (error: unknown) => {
    const { checkout, credential } = call
    if (!isProblem(error) || credential.funds === 'captured') throw error
    // Another store can say neither that it was not taken nor that it has bought nothing.
    if (!(await checkout.store.isKnown())) throw error.status === 402 ? storeIsAnother(error) : unsure(error, false)
    const transaction = error.status === 402 ? await landedInTime(call) : null
    if (!transaction) throw error
    const detail = 'This payment is on the chain already and has bought nothing; it goes back to its payer.'
    throw await returnPayment(call, { transaction, detail, mayBeAnothers: true })
  })
}

async function verifyAndTake<Input extends JsonObject>(call: PaidCall<Input>): Promise<Outcome> {
  const { checkout, offer, request, credential } = call
  const input = request.parse()
  if (credential.funds === 'authorized') await checkout.assertSelling(offer.good.surface, offer.rail.name)
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

async function take<Input extends JsonObject>(call: PaidCall<Input>, input: Input, payment: Payment): Promise<Outcome> {
  const { checkout } = call
  if (payment.funds === 'captured' && checkout.isNeverServed(payment.payer)) throw await notSold(call, NOT_SERVED)
  checkout.ensureRoom()
  const opened = await open(call, input, payment)
  if (opened.kind === 'blocked' && payment.funds === 'captured') throw await notSold(call, NOT_SERVED)
  return answer(call, opened)
}

const NOT_SERVED = 'This payer is not served here.'
/** Unless the chain dropped it, the payment would be seen there. */
const MAY_HAVE_BOUGHT = "It may have bought before this shop's database was restored."

/** The answer for a payment that is not sold to, though its money has moved or may yet: what is on the chain goes back, or an operator decides. */
async function notSold<Input extends JsonObject>(call: PaidCall<Input>, detail: string): Promise<Problem> {
  const { offer, credential } = call
  const isCaptured = credential.funds === 'captured'
  // Before the look: a payment that landed before it expired is then seen by it.
  const isOver = !isCaptured && (await isSurelyOver(offer.rail, credential))
  const transaction = await landedInTime(call)
  if (transaction) return returnPayment(call, { transaction, detail, mayBeAnothers: false })
  if (isCaptured) return cannotLookNow()
  return isOver ? ranOut() : mayStillLand()
}

const UNSEEN_SECONDS = 2

/** A payment that its payer sends may take a moment to show on the chain. A few requests may wait for that; nothing is stored before it shows. */
async function verify<Input extends JsonObject>(
  { checkout, offer, request, credential }: PaidCall<Input>,
  terms: Terms,
): Promise<Verified> {
  const look = () => offer.rail.verify(credential, terms)
  const first = await look()
  // What answers no challenge of ours pays nobody here, and is not waited for.
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
    default:
      throw refusalOfOpening(call.offer, opened)
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
