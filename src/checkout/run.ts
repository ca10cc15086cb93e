import { type Countdown, withinTime } from '../base/clock.ts'
import type { Lease } from '../domain/lease.ts'
import { isFinal, type LeasedOrder, type Order } from '../domain/order.ts'
import type { Priority } from '../store/jobs.ts'
import { advance } from './advance.ts'
import type { Checkout } from './checkout.ts'
import type { OrderStep } from './order-step.ts'
import { paidError, reasonOf } from './paid-words.ts'

/** More than any order takes from its first state to its last. */
const STEPS_MAX = 50

/** How long an order is driven: one that would have to wait for longer than is left, or after `halt`, is released. */
type Patience = { readonly left: Countdown; readonly halt?: AbortSignal }

/**
 * Drives an order until it ends, the time is up or `halt` is aborted, then gives its lease back for the worker. While it drives, the lease is renewed;
 * when the lease is lost, another process has the order, and nothing done here counts any more.
 */
async function run(
  checkout: Checkout,
  { order: opened, lease }: LeasedOrder,
  { left, halt = new AbortController().signal }: Patience,
): Promise<Order> {
  const { clock, jobs, log } = checkout
  const stop = new AbortController()
  const heartbeat = keepAlive(checkout, lease, stop)
  const woken = AbortSignal.any([stop.signal, halt])
  let order = opened
  let isUntried: boolean | undefined = false
  try {
    for (let steps = 1; ; steps++) {
      const step: OrderStep = await advance(checkout, { order, lease, isUntried }).catch((error) =>
        stumbled(checkout, { order, lease }, error),
      )
      isUntried = step.kind === 'moved' && step.isUntried
      if (step.kind === 'lost' || stop.signal.aborted) return order
      order = step.order
      if (step.kind === 'ended') return order
      const waitMs = step.kind === 'waiting' ? step.waitMs : 0
      const isPatient = waitMs === 0 ? steps < STEPS_MAX : !halt.aborted && waitMs < left()
      if (!isPatient) {
        // An order that cannot be released now is free when its lease has run out.
        await jobs.release(lease, waitMs / 1000, priorityOf(order)).catch((error: unknown) => {
          log.warn('order could not be released', { orderId: order.id, error })
        })
        return order
      }
      if (waitMs > 0) await clock.sleep(waitMs, woken)
    }
  } finally {
    stop.abort()
    await heartbeat
  }
}

/** An unexpected error, or the store is down: it is logged, noted at the order where that can be written, and tried again. */
async function stumbled(checkout: Checkout, leased: LeasedOrder, error: unknown): Promise<OrderStep> {
  const { limits, log, orders, random } = checkout
  const { order } = leased
  const { id: orderId, status } = order
  log.error('order could not be advanced', { orderId, status, error: paidError(error) })
  await orders.noteTry(leased, reasonOf(error)).catch(() => {})
  const waitMs = limits.leaseSeconds * 1000 * (random.bytes(1)[0]! / 255)
  return { kind: 'waiting', order: doubted(order), waitMs, detail: 'error' }
}

/** Orders whose money is here go before those whose money may never come. */
function priorityOf({ status }: Order): Priority {
  return status === 'settling' ? 'usual' : 'urgent'
}

/** A try that ended without an answer may have sent the payment: from then on a refusal of the chain proves nothing. */
export function doubted(order: Order): Order {
  return order.status === 'settling' ? { ...order, inDoubt: true } : order
}

async function keepAlive({ clock, jobs, limits, log }: Checkout, lease: Lease, stop: AbortController): Promise<void> {
  while (!stop.signal.aborted) {
    await clock.sleep((limits.leaseSeconds * 1000) / 3, stop.signal)
    if (stop.signal.aborted) return
    const isHeld = await jobs.extend(lease, limits.leaseSeconds).catch((error) => {
      log.warn('lease could not be renewed', { orderId: lease.key, error })
      return true
    })
    if (!isHeld) stop.abort()
  }
}

/** Works on an order in this process, once: a twin request joins the work that is under way. */
export function runShared(checkout: Checkout, leased: LeasedOrder, patience: Patience): Promise<Order> {
  const { running } = checkout
  const { id } = leased.order
  const work = run(checkout, leased, patience).finally(() => {
    if (running.get(id) === work) running.delete(id)
  })
  running.set(id, work)
  return work
}

const POLL_MS_FIRST = 20
const LAST_LOOK_MS = 250
const POLL_MS_MAX = 250

/** Waits for an order that this or another process works on, and returns it as it then is, as far as the store can tell. */
export async function waitFor(checkout: Checkout, order: Order, left: Countdown): Promise<Order> {
  const { clock, orders, running } = checkout
  // A store that does not answer must not keep the caller longer than that.
  const look = async (last: Order): Promise<Order> => {
    const read = orders.byId(last.id).catch(() => null)
    return (await withinTime(clock, Math.max(LAST_LOOK_MS, left()), read)) ?? last
  }
  let seen = order
  for (let pause = POLL_MS_FIRST; !hasAnswer(seen) && left() > 0; pause = Math.min(POLL_MS_MAX, pause * 2)) {
    const here = running.get(seen.id)
    if (here !== undefined) seen = (await withinTime(clock, left(), here)) ?? (await look(seen))
    else {
      await clock.sleep(Math.min(pause, left()))
      seen = await look(seen)
    }
  }
  return seen
}

/** Ended, or on the way to a refund: then the payer can be answered. */
function hasAnswer({ status }: Order): boolean {
  return isFinal(status) || status === 'failed' || status === 'refunding'
}
