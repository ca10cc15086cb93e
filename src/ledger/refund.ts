import type { Address, Hash } from '../base/address.ts'
import type { Lease } from '../domain/lease.ts'
import { AUTOMATIC } from '../domain/order.ts'
import type { PaidOrder, Rail } from '../domain/rail.ts'
import { type RefundBudget, RefundsUsedUp } from '../store/refund-budget.ts'

/** A payment that may go back: an order's, or a transfer without one. */
type Payment = { readonly rail: Rail; readonly paid: PaidOrder }

type RefundRules = {
  isBlocked(payer: Address): Promise<boolean>
  readonly limits: { readonly refundsPerDay: bigint; readonly receiverRefundPercent: number }
}

/** What its owner writes down of each decision. */
type Undecided<Next> = Payment & {
  /** Nothing of the shop has failed, and buyers can bring it about at will. */
  readonly byBuyer: boolean
  readonly perPayer: RefundBudget['perPayer']
  begin(budget: RefundBudget): Promise<Next>
  /** From now on a person decides. */
  hold(reason: string): Promise<Next>
  /** The chain, or one of two nodes, does not show the payment now. */
  wait(detail: string): Promise<Next>
}

const NOT_SHOWN = 'The chain, and each of two nodes, has to show its payment before it goes back.'

/** May it go back by itself? A person decides when the payer is blocked, or when the refunds of a day are used up. */
export async function decideRefund<Next>({ isBlocked, limits }: RefundRules, payment: Undecided<Next>): Promise<Next> {
  const { rail, paid, byBuyer, perPayer } = payment
  if (await isBlocked(paid.payer)) return payment.hold('Its payer is blocked.')
  if (!(await rail.isPaymentShown(paid))) return payment.wait(NOT_SHOWN)
  const { refundsPerDay: perDay, receiverRefundPercent: percent } = limits
  const { network, asset } = rail
  const byBuyers = byBuyer ? { network, asset, float: await rail.float(paid.payTo), percent } : null
  try {
    return await payment.begin({ perDay, perPayer, byBuyers })
  } catch (error) {
    if (error instanceof RefundsUsedUp) return payment.hold(error.message)
    throw error
  }
}

type Begun<Next> = Payment & {
  readonly lease: Lease
  /** The payment's own name. An order and a transfer of one payment have the same, so one of them goes back. */
  readonly name: string
  /** Who decided it. */
  readonly by: string
  wait(detail: string): Promise<Next>
  finish(transaction: Hash): Promise<Next>
}

/** However often this runs, one transfer leaves: the chain refuses a second one under the payment's name. */
export async function sendRefund<Next>({ rail, paid, lease, name, by, wait, finish }: Begun<Next>): Promise<Next> {
  const stillOwed = async () => by !== AUTOMATIC || rail.isPaymentShown(paid)
  const outcome = await rail.refund(paid, { lease, name, stillOwed })
  return outcome.kind === 'pending' ? wait(outcome.detail) : finish(outcome.transaction)
}
