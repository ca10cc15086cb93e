import type { HeadSource } from '../chain/head.ts'
import type { Fees } from '../domain/journal.ts'

/** What a transaction should offer now, and the base fee below which no block takes it. */
type FeeQuote = Fees & { readonly baseFee: bigint }

export type FeeSource = { current(): Promise<FeeQuote> }

/** Twice the base fee covers six full blocks in a row, so a transaction signed now is still good while it waits. */
export function createFeeSource(options: { head: HeadSource; tipWei: bigint }): FeeSource {
  const { head, tipWei } = options
  return {
    async current() {
      const { baseFee } = await head.latest()
      return { maxFeePerGas: baseFee * 2n + tipWei, maxPriorityFeePerGas: tipWei, baseFee }
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

/** The fees that a wallet with so much can pay for so much gas; null when not even the base fee is among them. */
export function withinMeans(
  { maxFeePerGas, maxPriorityFeePerGas, baseFee }: FeeQuote,
  gas: bigint,
  wei: bigint | null,
): Fees | null {
  if (wei === null || gas * maxFeePerGas <= wei) return { maxFeePerGas, maxPriorityFeePerGas }
  const most = wei / gas
  if (most < baseFee) return null
  return { maxFeePerGas: most, maxPriorityFeePerGas: maxPriorityFeePerGas < most ? maxPriorityFeePerGas : most }
}
