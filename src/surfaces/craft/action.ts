import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import type { Alarm } from '../../base/alarm.ts'
import { type Clock, isoTime } from '../../base/clock.ts'
import { type Hex, toHex } from '../../base/hex.ts'
import type { JsonObject } from '../../base/json.ts'
import { keccak256 } from '../../base/keccak.ts'
import { Problem } from '../../base/problem.ts'
import type { HeadSource } from '../../chain/head.ts'
import type { Limits } from '../../config/limits.ts'
import type { Buyer, Delivery, Finding } from '../../domain/good.ts'
import { deliverOnce, orderKey } from '../../outbox/deliver-once.ts'
import type { Sender } from '../../outbox/sender.ts'
import type { HoldReader } from '../../store/orders/holds.ts'
import type { KeyRight, PayerProblem } from '../surface.ts'
import type { Controller } from './controller.ts'
import { refusalOf } from './refusal.ts'

/** What both craft actions work with. */
export type Craft = {
  readonly controller: Controller
  /** The key with the controller's operator role. Users approve the controller, never this key. */
  readonly crafter: Sender
  readonly head: HeadSource
  readonly holds: HoldReader
  readonly clock: Clock
  readonly delivery: Limits['delivery']
  readonly alarm: Alarm
  /** What speaks against this payer, whatever they buy. */
  readonly payerProblem: (payer: Address) => PayerProblem
}

const OPERATOR_ROLE = toHex(keccak256(Buffer.from('OPERATOR_ROLE')))

export type Action = {
  /** The call, under the 32 bytes by which the controller takes it only once. */
  readonly call: (key: Hash) => Hex
  /** The most that it may cost, and the limit it is signed with. */
  readonly gasMax: bigint
}

/** Refuses before money moves when the key could not carry it out. */
export async function assertReady({ crafter }: Craft, { gasMax }: Pick<Action, 'gasMax'>): Promise<void> {
  await crafter.assertFunded(gasMax)
  await crafter.assertClear()
}

/** Only the owner of the tokens may have them taken. So a quote, which has no payer, can tell what the owner would hear. */
export async function payerFinding({ payerProblem }: Craft, user: Address, payer: Address | null): Promise<Finding> {
  const isOther = payer !== null && !sameAddress(payer, user)
  const problem = isOther
    ? new Problem('payer_not_user', `Only ${user} may pay for an action on its own tokens; pay from that wallet.`)
    : await payerProblem(user)
  return { check: 'payer', problem }
}

export function pausedFinding(isPaused: boolean): Finding {
  const problem = isPaused ? new Problem('craft_paused', 'The craft controller is paused; try again later.') : null
  return { check: 'paused', problem }
}

/** Runs the action itself without a trace: the controller's own word, under a name that no order has. */
export async function trialProblem(craft: Craft, { call, gasMax }: Action): Promise<Problem | null> {
  const { controller, crafter, clock } = craft
  const refusal = await controller.trial(await crafter.terms(gasMax), call(orderKey(`trial ${clock.now()}`)))
  // Whether the fault is ours is asked of the controller: the words may be those of a token behind it.
  if (refusal) await assertRole(craft)
  return refusal && refusalOf(refusal)
}

const CLOSED_SECONDS = 60

export async function crafterRight({ controller: { contract }, crafter }: Craft): Promise<KeyRight> {
  const has = await contract.read('hasRole', [OPERATOR_ROLE, crafter.address])
  return { address: crafter.address, name: 'OPERATOR_ROLE', has }
}

/** A role that is gone is no user's fault, and a person must mend it. */
export async function assertRole({ controller: { contract }, crafter, alarm }: Craft): Promise<void> {
  if (await contract.read('hasRole', [OPERATOR_ROLE, crafter.address])) return
  alarm('role', 'the crafter lacks its role on the craft controller; nothing is crafted', {
    controller: contract.address,
    crafter: crafter.address,
    fix: 'grant OPERATOR_ROLE to the crafter, or configure the key that has it',
  })
  const detail = 'The shop may not use its craft controller right now; nothing was taken.'
  throw new Problem('surface_closed', detail, { afterSeconds: CLOSED_SECONDS })
}

/** What the trial found beyond all that was asked one by one: a collection that lies, a token with a fee, a role that is gone. */
export function withExecution(asked: readonly Finding[], trial: Problem | null): readonly Finding[] {
  const isExplained = asked.some(({ problem }) => problem !== null)
  return isExplained ? asked : [...asked, { check: 'execution', problem: trial }]
}

/**
 * One transaction for the whole action. A trial asks the controller once more just before anything is sent, so a token that was
 * sold or an approval that was taken back since the check costs the user nothing: the action is impossible, and the money goes back.
 */
export function deliverAction(
  craft: Craft,
  { orderId, settledAt, lease, isUntried }: Buyer,
  { call, gasMax }: Action,
): Promise<Delivery> {
  const { controller, crafter, clock, delivery } = craft
  const { contract } = controller
  const key = orderKey(orderId)
  const data = call(key)
  return deliverOnce(crafter, clock, {
    orderId,
    step: 'craft',
    lease,
    isUntried,
    to: contract.address,
    data,
    closing: contract.encode('closeOrder', [key]),
    gasMax,
    deadline: settledAt + delivery.craftMs,
    retryMs: delivery.retryMs,
    trial: (terms) => contract.simulate(terms, data),
    recall: () => timersOf(controller, key),
    hasGivenUp: () => contract.read('isClosed', [key]),
    // A receipt names the timers of an acceleration without their new ends. What counts for both actions is what the controller knows.
    read: () => null,
    async isClosed(block) {
      const [isPaused, isOperator] = await Promise.all([
        contract.read('paused', [], block),
        contract.read('hasRole', [OPERATOR_ROLE, crafter.address], block),
      ])
      return isPaused || !isOperator
    },
    // The owner of the tokens can take them, or their approval, away at the last moment.
    mayBeBuyers: async () => true,
    meaningOf(refusal) {
      const { code, message } = refusalOf(refusal)
      return { code, detail: message }
    },
  })
}

/** Has the controller carried out the action of this order? */
export async function isCarriedOut({ controller: { contract } }: Craft, orderId: string): Promise<boolean> {
  const [, , isDone] = await contract.read('actionOf', [orderKey(orderId)])
  return isDone
}

/** The timers that an action started or shortened, as they are now; null when the controller has not carried it out. */
async function timersOf({ contract, read }: Controller, key: Hash): Promise<JsonObject | null> {
  const [, , isDone, timerIds] = await contract.read('actionOf', [key])
  if (!isDone) return null
  const timers = await read(
    timerIds.map((id) => contract.question('timer', [id])),
    'latest',
  )
  return {
    timers: timers.map((timer, index) => {
      if (timer === null) throw new Error(`timer ${timerIds[index]} could not be read`)
      return { id: timer.id.toString(), readyAt: isoTime(Number(timer.readyAt) * 1000) }
    }),
  }
}
