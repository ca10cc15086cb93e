import { isProblem, MAY_HAVE_MOVED, Problem } from '../base/problem.ts'
import { type Credential, type Rail, SpoiltPayment } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import { isSurelyOver, landedInTime } from './payment-lookup.ts'

/** A payment as it was read, or what names it. */
export type ShownPayment = { readonly rail: Rail; readonly credential: Credential } | SpoiltPayment

/** A payment that is shown where it buys nothing, and what its payer hears. */
export type MisplacedPayment = {
  /** While it is free. */
  readonly problem: Problem
  /** When its money may have moved. Null: nobody here could read it. */
  readonly shown: { readonly payment: ShownPayment; readonly moved: Problem } | null
}

/**
 * Stock clients pay what they are asked for, so nobody is asked whose payment may have been taken: by their own hand, by a purchase, though the store have
 * forgotten it, by the books, or by somebody else who has carried it to the chain. Nor while the store or the chain does not say.
 */
export async function refusalOfMisplaced(checkout: Checkout, { problem, shown }: MisplacedPayment): Promise<Problem> {
  if (shown === null) return problem
  return (await mayHaveMoved(checkout, shown.payment)) ? shown.moved : problem
}

/** The same where it would buy, if all of it were there: whoever repeats what has bought, and has lost a part of it, is not asked to pay. */
export async function refusalOfUnreadable(checkout: Checkout, error: unknown): Promise<unknown> {
  if (!(error instanceof SpoiltPayment) || !(await mayHaveMoved(checkout, error))) return error
  return new Problem(error.code, `${error.message} It may have bought already; send it as it was.`, MAY_HAVE_MOVED)
}

async function mayHaveMoved(checkout: Checkout, payment: ShownPayment): Promise<boolean> {
  if (await checkout.isInDoubt()) return true
  try {
    return await (payment instanceof SpoiltPayment ? hasBought(checkout, payment) : hasMoved(checkout, payment))
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}

/** Longer after it was asked for no promise lands, by whichever clock. */
const AUTHORIZATION_MS_MAX = 3_600_000

/** When it was asked for may be what is lost of it: whatever is shown so soon after a restore may be what a forgotten purchase has sent. */
async function hasBought({ orders, clock }: Checkout, { handles }: SpoiltPayment): Promise<boolean> {
  return (await orders.isAnyHandleKnown(handles)) || orders.mayHaveForgotten(clock.now() - AUTHORIZATION_MS_MAX)
}

/** May a purchase that the store has forgotten have sent this promise, so that the chain may yet show it? */
export async function mayBeUnderWay(checkout: Checkout, rail: Rail, credential: Credential): Promise<boolean> {
  if (await checkout.isInDoubt()) return true
  return (await checkout.orders.mayHaveForgotten(credential.askedAt)) && !(await isSurelyOver(rail, credential))
}

async function hasMoved(checkout: Checkout, { rail, credential }: Exclude<ShownPayment, Problem>): Promise<boolean> {
  const { orders } = checkout
  if (credential.funds === 'captured' || (await mayBeUnderWay(checkout, rail, credential))) return true
  if ((await orders.byIdentities(credential.identities)) !== null) return true
  if (await orders.isQuarantined(await rail.namesOf(credential))) return true
  return (await landedInTime({ checkout, offer: { rail }, credential }, 'one')) !== null
}
