import type { Lease } from '../domain/lease.ts'
import type { Checkout } from './checkout.ts'
import { doubted, runShared } from './run.ts'

/** Finds orders without a lease, after a crash, an outage or a long wait, and drives them on. */
type Worker = {
  /** Resolves when this process has stopped its work on all orders, those of answered requests too; other processes go on with the rest. */
  stop(): Promise<void>
}

const POLL_MS = 500
const CONCURRENT_MAX = 8

export function startWorker(checkout: Checkout): Worker {
  const { clock, jobs, log, limits } = checkout
  const stopping = new AbortController()
  const atWork = new Set<Promise<void>>()

  async function work(lease: Lease): Promise<void> {
    const order = await checkout.orders.byId(lease.key)
    if (!order) throw new Error(`job ${lease.key} has no order`)
    // The process that had it before may have sent its payment and died. An order that has to wait is released: no request waits for it here.
    await runShared(checkout, { order: doubted(order), lease }, { left: () => 0, halt: stopping.signal })
  }

  async function takeMore(): Promise<number> {
    const leases = await jobs.claim(CONCURRENT_MAX - atWork.size, limits.leaseSeconds)
    for (const lease of leases) {
      const task = work(lease)
        .catch((error) => log.error('order could not be processed', { orderId: lease.key, error }))
        .finally(() => atWork.delete(task))
      atWork.add(task)
    }
    return leases.length
  }

  async function loop(): Promise<void> {
    while (!stopping.signal.aborted) {
      const taken = await takeMore().catch((error) => {
        log.warn('open orders could not be looked up', { error })
        return 0
      })
      if (atWork.size >= CONCURRENT_MAX) await Promise.race(atWork)
      else if (taken === 0) await clock.sleep(POLL_MS, stopping.signal)
    }
  }

  const looping = loop()
  return {
    async stop() {
      stopping.abort()
      await looping
      await Promise.all([...atWork, ...checkout.running.values()])
    },
  }
}
