import type { Problem, ProblemCode } from '../../base/problem.ts'
import type { Good } from '../../domain/good.ts'
import {
  type Action,
  assertReady,
  type Craft,
  deliverAction,
  isCarriedOut,
  pausedFinding,
  payerFinding,
  trialProblem,
  withExecution,
} from './action.ts'
import type { Accelerate } from './schema.ts'
import { allowanceFinding, balanceFinding, purseHolds, readSpendingLimits } from './spending-limits.ts'

/** Measured: 183,000 with one timer, and 28,000 for each further one that is shortened. */
const GAS_MAX = 1_000_000n

/** How much is charged, and who chose it. Decided before money moves: a default that changes later changes no open order. */
export type TokenCharge = { readonly amount: string; readonly amountSource: 'request' | 'default' }

export function chargeOf({ amount }: Accelerate, defaultAmount: bigint): TokenCharge {
  return amount === undefined
    ? { amount: defaultAmount.toString(), amountSource: 'default' }
    : { amount, amountSource: 'request' }
}

/** Charges approved craft tokens of the payer, and shortens their running timers. */
export function accelerateGood(craft: Craft, defaultAmount: bigint): Good<Accelerate> {
  const { controller } = craft

  const actionOf = ({ user }: Accelerate, { amount }: TokenCharge): Action => ({
    gasMax: GAS_MAX,
    call: (key) => controller.contract.encode('accelerate', [key, user, BigInt(amount)]),
  })

  return {
    name: 'accelerate',
    surface: 'craft',
    subject: 'craft.action',
    payerActs: true,

    async check(input, payer) {
      const charge = chargeOf(input, defaultAmount)
      await assertReady(craft, actionOf(input, charge))
      const amount = BigInt(charge.amount)
      const [spending, trial] = await Promise.all([
        readSpendingLimits(craft, input.user),
        trialProblem(craft, actionOf(input, charge)),
      ])
      const asked = [
        await payerFinding(craft, input.user, payer),
        { check: 'amount', problem: ifCode(trial, 'quantity_out_of_range') },
        balanceFinding(spending, amount),
        await allowanceFinding(craft, spending, amount),
        // A paused controller does not look at timers, so nothing is said of them.
        ...(spending.isPaused ? [] : [{ check: 'timer', problem: ifCode(trial, 'nothing_to_accelerate') }]),
        pausedFinding(spending.isPaused),
      ]
      return {
        findings: withExecution(asked, trial),
        plan: charge,
        holds: purseHolds(spending, amount),
      }
    },

    recall: async (input, orderId) => ((await isCarriedOut(craft, orderId)) ? chargeOf(input, defaultAmount) : null),
    deliver: (input, plan, buyer) => deliverAction(craft, buyer, actionOf(input, plan as TokenCharge)),
  }
}

function ifCode(problem: Problem | null, code: ProblemCode): Problem | null {
  return problem?.code === code ? problem : null
}
