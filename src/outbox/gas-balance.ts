import type { Address } from '../base/address.ts'
import { type Clock, msSince } from '../base/clock.ts'
import type { Rpc } from '../chain/rpc.ts'

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
