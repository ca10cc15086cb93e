import type { Fees } from '../domain/journal.ts'
import type { HeadSource } from './head.ts'

export type FeeSource = { current(): Promise<Fees> }

/** Twice the base fee covers six full blocks in a row, so a transaction signed now is still good while it waits. */
export function createFeeSource(options: { head: HeadSource; tipWei: bigint }): FeeSource {
  const { head, tipWei } = options
  return {
    async current() {
      const { baseFee } = await head.latest()
      return { maxFeePerGas: baseFee * 2n + tipWei, maxPriorityFeePerGas: tipWei }
    },
  }
}

/** Nodes accept a replacement only when both fees rise by at least 10 %; an eighth more is safe everywhere. */
export function raised(previous: Fees, current: Fees): Fees {
  const raise = (was: bigint, now: bigint) => {
    const least = was + was / 8n + 1n
    return least > now ? least : now
  }
  return {
    maxFeePerGas: raise(previous.maxFeePerGas, current.maxFeePerGas),
    maxPriorityFeePerGas: raise(previous.maxPriorityFeePerGas, current.maxPriorityFeePerGas),
  }
}
