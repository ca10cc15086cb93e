import { isProblem, type Problem } from '../base/problem.ts'
import type { Credential, Rail } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'
import { landedInTime } from './in-time.ts'

/** A payment that is shown where it buys nothing, and what its payer hears. */
export type Misplaced = {
  /** While it is free. */
  readonly problem: Problem
  /** When its money may have moved. Null: nobody here could read it. */
  readonly shown: { readonly rail: Rail; readonly credential: Credential; readonly moved: Problem } | null
}

/**
 * Stock clients pay what they are asked for, so nobody is asked whose payment may have been taken: by their own hand, by a purchase, by the books, or by
 * somebody else who has carried it to the chain. Nor while the store or the chain does not say.
 */
export async function refusalOfMisplaced(checkout: Checkout, { problem, shown }: Misplaced): Promise<Problem> {
  if (shown === null) return problem
  const { rail, credential, moved } = shown
  return (await mayHaveMoved(checkout, rail, credential)) ? moved : problem
}

async function mayHaveMoved(checkout: Checkout, rail: Rail, credential: Credential): Promise<boolean> {
  const { orders } = checkout
  if (credential.funds === 'captured') return true
  try {
    if ((await orders.byIdentities(credential.identities)) !== null) return true
    if (await orders.isSetAside(await rail.namesOf(credential))) return true
    return (await landedInTime({ checkout, offer: { rail }, credential }, 'one')) !== null
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}
