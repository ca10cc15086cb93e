import type { Hash } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'

/** Lets a caller wait until a transaction is in a block. */
export type Arrivals = {
  /** Resolves true when it arrives and false when `ms` have passed; rejects when the chain gives it up. */
  wait(hash: Hash, ms: number): Promise<boolean>
  arrived(hash: Hash): void
  givenUp(hash: Hash, reason: Error): void
}

export function createArrivals(clock: Clock): Arrivals {
  type Waiter = { resolve(arrived: boolean): void; reject(reason: Error): void }
  const waiting = new Map<Hash, Set<Waiter>>()

  function take(hash: Hash): Waiter[] {
    const waiters = [...(waiting.get(hash) ?? [])]
    waiting.delete(hash)
    return waiters
  }

  return {
    async wait(hash, ms) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      const waiter = { resolve, reject }
      const waiters = waiting.get(hash) ?? new Set()
      waiting.set(hash, waiters.add(waiter))
      const timer = new AbortController()
      const timeout = clock.sleep(ms, timer.signal).then(() => false)
      try {
        return await Promise.race([promise, timeout])
      } finally {
        timer.abort()
        waiters.delete(waiter)
        if (waiters.size === 0 && waiting.get(hash) === waiters) waiting.delete(hash)
      }
    },
    arrived: (hash) => take(hash).forEach(({ resolve }) => void resolve(true)),
    givenUp: (hash, reason) => take(hash).forEach(({ reject }) => void reject(reason)),
  }
}
