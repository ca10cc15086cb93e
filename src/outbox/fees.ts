import type { Address } from '../base/address.ts'
import { type Clock, msSince } from '../base/clock.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
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

/** What a key has for gas. Read seldom: between two readings, what is signed is taken off. */
export type GasBalance = {
  /** At least this recent, less what was reserved since; null where gas is paid otherwise. */
  left(ageMaxMs: number): Promise<bigint | null>
  /** What was read last. */
  known(): bigint | null
  reserve(wei: bigint): void
  read(): Promise<bigint>
}

export function createGasBalance(options: {
  readonly rpc: Rpc
  readonly signer: Address
  readonly clock: Clock
  readonly isPaid: boolean
}): GasBalance {
  const { rpc, signer, clock, isPaid } = options
  let reading: { readonly at: number; readonly wei: bigint } | null = null
  let reserved = 0n

  async function read(): Promise<bigint> {
    return BigInt(await rpc.request<string>('eth_getBalance', [signer, 'latest']))
  }

  return {
    read,
    known: () => (isPaid ? (reading?.wei ?? null) : null),
    reserve(wei) {
      reserved += wei
    },
    async left(ageMaxMs) {
      if (!isPaid) return null
      if (reading === null || msSince(clock, reading.at) >= ageMaxMs) {
        const at = clock.now()
        reading = { at, wei: await read() }
        reserved = 0n
      }
      return reading.wei - reserved
    },
  }
}
