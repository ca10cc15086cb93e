import type { Address } from '../../base/address.ts'
import { type Clock, msSince } from '../../base/clock.ts'
import type { Rpc } from '../rpc.ts'

/** What a key has for gas. Read seldom: between two readings, what is signed is taken off. */
export type Tank = {
  /** At least this recent, less what was reserved since; null where gas is paid otherwise. */
  left(ageMaxMs: number): Promise<bigint | null>
  /** What was read last, without asking anybody. */
  known(): bigint | null
  reserve(wei: bigint): void
  read(): Promise<bigint>
}

export function createTank(options: {
  readonly rpc: Rpc
  readonly signer: Address
  readonly clock: Clock
  readonly isFilled: boolean
}): Tank {
  const { rpc, signer, clock, isFilled } = options
  let reading: { readonly at: number; readonly wei: bigint } | null = null
  let reserved = 0n

  async function read(): Promise<bigint> {
    return BigInt(await rpc.request<string>('eth_getBalance', [signer, 'latest']))
  }

  return {
    read,
    known: () => (isFilled ? (reading?.wei ?? null) : null),
    reserve(wei) {
      reserved += wei
    },
    async left(ageMaxMs) {
      if (!isFilled) return null
      if (reading === null || msSince(clock, reading.at) >= ageMaxMs) {
        const at = clock.now()
        reading = { at, wei: await read() }
        reserved = 0n
      }
      return reading.wei - reserved
    },
  }
}
