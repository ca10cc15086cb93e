import { saleLots } from '../../artifacts/SaleLots.ts'
import type { Address } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { type Usd, usd } from '../../base/money.ts'
import type { Contract } from '../../chain/contract.ts'

export type SaleContract = Contract<typeof saleLots.abi>
export const saleAbi = saleLots.abi

/** A lot as the sale contract has it. */
export type Lot = {
  readonly saleId: number
  readonly name: string
  readonly description: string
  readonly uri: string
  readonly unitPrice: Usd
  readonly supply: bigint
  readonly minted: bigint
  /** Milliseconds; null means no bound. */
  readonly opensAt: number | null
  readonly closesAt: number | null
}

export type LotState = 'open' | 'not_yet' | 'closed' | 'sold_out'

export type Lots = {
  /** At most two seconds old: for listings and for the price of an unpaid call. */
  recent(): Promise<ReadonlyMap<number, Lot>>
  /** Read now: for a paid call. Null when the contract has no such lot, or it is not offered here. */
  fresh(saleId: number): Promise<Lot | null>
  /** How many of a lot a minter key has minted. */
  mintedBy(saleId: number, minter: Address): Promise<bigint>
}

const CACHE_MS = 2_000

export function createLots(options: { contract: SaleContract; saleIds: readonly number[]; clock: Clock }): Lots {
  const { contract, saleIds, clock } = options
  const offered = new Set(saleIds)
  let cached: { readonly at: number; readonly lots: Promise<ReadonlyMap<number, Lot>> } | null = null

  async function fresh(saleId: number): Promise<Lot | null> {
    if (!offered.has(saleId)) return null
    const { exists, minted, terms } = await contract.read('lot', [BigInt(saleId)])
    if (!exists) return null
    const { name, uri, unitPrice, supply, opensAt, closesAt } = terms
    const time = (seconds: bigint) => (seconds === 0n ? null : Number(seconds) * 1000)
    return {
      saleId,
      name,
      description: describe(name, uri),
      uri,
      unitPrice: usd(unitPrice),
      supply,
      minted,
      opensAt: time(opensAt),
      closesAt: time(closesAt),
    }
  }

  async function readAll(): Promise<ReadonlyMap<number, Lot>> {
    const lots = await Promise.all(saleIds.map(fresh))
    return new Map(lots.flatMap((lot) => (lot ? [[lot.saleId, lot]] : [])))
  }

  return {
    fresh,
    mintedBy: (saleId, minter) => contract.read('mintedBy', [BigInt(saleId), minter]),
    recent() {
      const now = clock.now()
      if (cached === null || now - cached.at > CACHE_MS) {
        const lots = readAll()
        lots.catch(() => {
          cached = null
        })
        cached = { at: now, lots }
      }
      return cached.lots
    },
  }
}

export function stateOf(lot: Lot, nowMs: number): LotState {
  if (lot.opensAt !== null && nowMs < lot.opensAt) return 'not_yet'
  if (lot.closesAt !== null && nowMs >= lot.closesAt) return 'closed'
  return lot.minted >= lot.supply ? 'sold_out' : 'open'
}

/** Metadata inside the URI itself can be read without asking a stranger's server; anything else is described by its name. */
function describe(name: string, uri: string): string {
  const [, encoded] = /^data:application\/json(?:;charset=utf-8)?,(.*)$/s.exec(uri) ?? []
  try {
    const { description } = JSON.parse(decodeURIComponent(encoded ?? '{}')) as { description?: unknown }
    if (typeof description === 'string') return description.slice(0, 500)
  } catch {
    // Not JSON: the name must do.
  }
  return `NFT lot "${name}".`
}
