import { isProblem, MAY_HAVE_MOVED, Problem } from '../base/problem.ts'
import { type Credential, type Rail, SpoiltPayment } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import { isSurelyOver, landedInTime } from './payment-lookup.ts'
import { unsure } from './refusal.ts'

/** A payment as it was read, or what names it. */
export type ShownPayment = { readonly rail: Rail; readonly credential: Credential } | SpoiltPayment

/** A payment that is shown where it buys nothing, and how its payer is answered. */
export type MisplacedPayment = {
  /** The answer while the payment is unspent. */
  readonly problem: Problem
  /** The answer when its money may have moved. Null: no rail of this shop can read it. */
  readonly shown: { readonly payment: ShownPayment; readonly moved: Problem } | null
}

/**
 * Stock clients pay whatever they are asked for, so a payer whose payment may have been taken is not asked: the payer may have sent it, a purchase may
 * have taken it, it may be on its way back, or a stranger may have carried it to the chain. Nor is a payer asked
 * while the store or the chain does not answer.
 */
export async function refusalOfMisplaced(checkout: Checkout, { problem, shown }: MisplacedPayment): Promise<Problem> {
  if (shown === null) return problem
  return (await mayHaveMoved(checkout, shown.payment)) ? shown.moved : problem
}

/** The same for a payment in the right place of which a part is missing: a payer who repeats one that has bought is not asked to pay again. */
export async function refusalOfUnreadable(checkout: Checkout, error: unknown): Promise<unknown> {
  // What names no payment may have bought all the same, in a store that the shop does not sell from yet.
  if (isProblem(error, 'payment_payload_invalid') && !(await checkout.store.isKnown())) return unsure(error, false)
  if (!(error instanceof SpoiltPayment) || !(await mayHaveMoved(checkout, error))) return error
  return new Problem(error.code, `${error.message} It may have bought already; send it as it was.`, MAY_HAVE_MOVED)
}

async function mayHaveMoved(checkout: Checkout, payment: ShownPayment): Promise<boolean> {
  if (!(await checkout.store.isKnown())) return true
  try {
    return await (payment instanceof SpoiltPayment ? hasBought(checkout, payment) : hasMoved(checkout, payment))
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}

/** No authorization lands longer than this after the shop asked for it, by any clock. */
const AUTHORIZATION_MS_MAX = 3_600_000

/** The time at which it was asked for may be in the part that is missing. So soon after a restore, it may be what a forgotten purchase has sent. */
async function hasBought({ orders, clock, store }: Checkout, { handles }: SpoiltPayment): Promise<boolean> {
  return (await orders.isAnyHandleKnown(handles)) || store.restoredAt() > clock.now() - AUTHORIZATION_MS_MAX
}

/** May a purchase that the restored store lacks have sent this authorization, so that it may land yet? */
export async function mayBeUnderWay({ store }: Checkout, rail: Rail, credential: Credential): Promise<boolean> {
  if (!(await store.isKnown())) return true
  return isOlderThanRestore(store, credential) && !(await isSurelyOver(rail, credential))
}

/** Was it asked for before the store was restored? Then it may have bought something that the store lacks. */
export function isOlderThanRestore(store: Checkout['store'], { askedAt }: Credential): boolean {
  return store.restoredAt() > askedAt
}

async function hasMoved(checkout: Checkout, { rail, credential }: Exclude<ShownPayment, Problem>): Promise<boolean> {
  const { orders } = checkout
  if (credential.funds === 'captured' || (await mayBeUnderWay(checkout, rail, credential))) return true
  if ((await orders.byIdentities(credential.identities)) !== null) return true
  if (await orders.isQuarantined(await rail.namesOf(credential))) return true
  return (await landedInTime({ checkout, offer: { rail }, credential })) !== null
}
