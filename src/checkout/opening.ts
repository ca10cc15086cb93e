import { newId } from '../base/id.ts'
import { canonical, type JsonObject, sha256Hex } from '../base/json.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { eventTypeOf } from '../domain/event.ts'
import { assertPassed, type Checked } from '../domain/good.ts'
import { type Offer, viewOf } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'
import type { Credential, Payment } from '../domain/rail.ts'
import type { Exposure } from '../store/orders/exposure.ts'
import { asOpened, type Opening, type OpenOutcome } from '../store/orders/opening.ts'
import type { PaidCall } from './paid-call.ts'
import { handleOf } from './payment-lookup.ts'

/** What opening an order came to; `unsure`: the store did not answer, and may have written it. */
export type Written = OpenOutcome | { readonly kind: 'unsure'; readonly order: Order }

/** A limit that was read before another order's hold ended is read again, so often; readings go stale only while other orders finish. */
const CHECKS_MAX = 5

/** What is written down: a call, what it asks for, and the payment that passed every check. */
type Purchase<Input extends JsonObject> = PaidCall<Input> & { readonly input: Input; readonly payment: Payment }

/** One transaction before money moves. Captured money is recorded first and checked afterwards; a refusal then sends it back. */
export async function open<Input extends JsonObject>(
  call: PaidCall<Input>,
  input: Input,
  payment: Payment,
): Promise<Written> {
  const purchase = { ...call, input, payment }
  if (payment.funds === 'captured') return openCaptured(purchase)
  for (let round = 1; ; round++) {
    const checked = await call.offer.good.check(input, payment.payer)
    assertPassed(checked)
    const opened = await writeWithMeans(purchase, checked)
    if (opened.kind !== 'refused' || !opened.isStale || round === CHECKS_MAX) return opened
  }
}

async function openCaptured<Input extends JsonObject>(purchase: Purchase<Input>): Promise<Written> {
  const opened = await write(purchase, null, null)
  if (opened.kind !== 'same_key') return opened
  const objection = new Problem(
    'idempotency_conflict',
    'This key names another purchase; the second payment goes back.',
  )
  const request = { ...purchase.request, idempotencyKey: null }
  const payment = { ...purchase.payment, objection, idempotencyKey: undefined }
  return write({ ...purchase, request, payment }, null, null)
}

/** The payer's balance is asked for only when other authorizations of theirs are open: then it must cover all of them. */
async function writeWithMeans<Input extends JsonObject>(purchase: Purchase<Input>, checked: Checked): Promise<Written> {
  const opened = await write(purchase, checked, null)
  if (opened.kind !== 'means_needed') return opened
  return write(purchase, checked, await purchase.offer.rail.meansOf(purchase.payment.payer))
}

async function write<Input extends JsonObject>(
  purchase: Purchase<Input>,
  checked: Checked | null,
  means: bigint | null,
): Promise<Written> {
  const { checkout, offer, request, input, payment, credential } = purchase
  const { orders, clock, random, limits, log, waypoint } = checkout
  const { good, rail } = offer
  const requestDigest = digestOf(offer, input)
  const opening: Omit<Opening, 'event'> = {
    id: newId('ord', random),
    flowId: payment.flowId ?? request.flowId,
    surface: good.surface,
    good: good.name,
    rail: rail.name,
    requestDigest,
    shownForDigest: digestShownFor(credential, requestDigest),
    input,
    plan: checked?.plan ?? null,
    holds: checked?.holds ?? [],
    payment,
    idempotencyKey: request.idempotencyKey ?? payment.idempotencyKey ?? null,
    openedAt: clock.now(),
    leaseSeconds: limits.leaseSeconds,
    askedAt: credential.askedAt,
    exposure: await exposureOf(purchase, checked, means),
  }
  await waypoint('order.opening')
  const order = asOpened(opening, opening.openedAt)
  const event = { type: eventTypeOf(good.subject, 'settling'), data: offer.present(viewOf(offer, order)) }
  return orders.open({ ...opening, event }).catch((error: unknown): Written => {
    if (!isProblem(error, 'store_unavailable')) throw error
    // The commit may have happened, and the worker would then settle it. The payer is given the payment's own name to ask by: whether there
    // is an order, and which, only a later look can tell.
    log.warn('no answer from the store: order may or may not be written', { orderId: order.id, error })
    return { kind: 'unsure', order: { ...order, id: handleOf(payment.identities[0]!) } }
  })
}

async function exposureOf<Input extends JsonObject>(
  { checkout, offer, payment }: Purchase<Input>,
  checked: Checked | null,
  means: bigint | null,
): Promise<Exposure> {
  const { payTo, amount, funds, gasAtRisk = 0n } = payment
  const { openOrdersPerPayer, refundsPerPayer, gasPerHour } = checkout.limits
  return {
    openOrdersMax: openOrdersPerPayer,
    refundsPerDayMax: refundsPerPayer,
    means,
    float: funds === 'captured' ? 0n : await offer.rail.float(payTo, amount),
    gasAtRisk: gasAtRisk + (checked?.gasAtRisk ?? 0n),
    gasPerHour,
  }
}

/** Equal digests: the same authorization, shown for equal requests. */
export function digestShownFor({ signedDigest }: Credential, requestDigest: string): string {
  return sha256Hex(`${requestDigest} ${signedDigest}`)
}

/** Equal digests: equal requests. */
export function digestOf<Input extends JsonObject>({ good, rail }: Offer<Input>, input: Input): string {
  return sha256Hex(canonical({ good: good.name, rail: rail.name, input }))
}
