import { saleLots } from '../../artifacts/SaleLots.ts'
import type { Address } from '../../base/address.ts'
import { cachedValue } from '../../base/cached-read.ts'
import type { Clock } from '../../base/clock.ts'
import { type Usd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { BatchReader } from '../../chain/batch.ts'
import type { Contract } from '../../chain/contract.ts'
import type { LotNote } from '../../store/lot-notes.ts'

export type SaleContract = Contract<typeof saleLots.abi>
export const saleAbi = saleLots.abi

/** A lot as the sale contract has it, in the words of the shop. */
export type Lot = {
  readonly saleId: number
  readonly name: string
  readonly description: string
  readonly picture: string | null
  readonly uri: string
  readonly unitPrice: Usd
  readonly supply: bigint
  readonly minted: bigint
  /** Milliseconds; null means no bound. */
  readonly opensAt: number | null
  readonly closesAt: number | null
  /** The whole contract is. */
  readonly isPaused: boolean
}

type LotState = 'open' | 'not_yet' | 'closed' | 'sold_out' | 'paused'

export type Lots = {
  /** All that is offered, at most two seconds old: for listings and for the price of an unpaid call. */
  recent(): ReadonlyMap<number, Lot> | Promise<ReadonlyMap<number, Lot>>
  /**
   * Read now, for a paid call: the lot, and how many of it keys of ours have minted, as of one block. Read one after the other they would
   * not fit together, and a mint in between would make the last piece look like two. Null when there is no such lot, or it is not offered.
   */
  standing(saleId: number): Promise<{ readonly lot: Lot; readonly own: bigint } | null>
}

const CACHE_MS = 2_000
/** As many as one question may be answered with, and as many as are looked at altogether. */
const PAGE = 200
const LOTS_MAX = 2_000

type LotNotes = {
  /** What the shop says of lots beside the chain. */
  all(): Promise<ReadonlyMap<number, LotNote>>
  /** Read now. */
  isHidden(saleId: number): Promise<boolean>
}

type LotsOptions = {
  readonly contract: SaleContract
  readonly read: BatchReader
  /** Only these, where they are named; else every lot of the contract, and a new one as soon as it is there. */
  readonly saleIds: readonly number[] | null
  readonly notes: LotNotes
  /** Every key that ever minted for us. What one of them has minted is among our own holds, also after another has taken its place. */
  minters(): Promise<readonly Address[]>
  readonly clock: Clock
}

export function createLots(options: LotsOptions): Lots {
  const { contract, read, saleIds, notes, minters, clock } = options

  async function readAll(): Promise<ReadonlyMap<number, Lot>> {
    const [lots, noted] = await Promise.all([readLots(contract, read, saleIds), notes.all()])
    const offered = lots.filter(({ saleId }) => noted.get(saleId)?.hidden !== true)
    return new Map(offered.map((lot) => [lot.saleId, told(lot, noted.get(lot.saleId))]))
  }

  return {
    async standing(saleId) {
      if (saleIds !== null && !saleIds.includes(saleId)) return null
      const id = BigInt(saleId)
      const questions = [
        contract.question('lot', [id]),
        contract.question('paused', []),
        ...(await minters()).map((minter) => contract.question('mintedBy', [id, minter])),
      ] as const
      const [isHidden, answers] = await Promise.all([notes.isHidden(saleId), read(questions, 'latest')])
      const [raw, isPaused, ...mintedBy] = answers
      const own = sumOf(mintedBy)
      if (raw === null || isPaused === null || own === null) throw unread()
      const lot = isHidden ? null : lotOf(saleId, raw, isPaused)
      return lot && { lot, own }
    },
    recent: cachedValue(clock, CACHE_MS, readAll),
  }
}

/** Every lot of the contract, or those that are named, as of now. */
export async function readLots(
  contract: SaleContract,
  read: BatchReader,
  saleIds: readonly number[] | null,
): Promise<readonly Lot[]> {
  const ids = saleIds ?? (await lotIds(contract, read))
  const [isPaused] = await read([contract.question('paused', [])], 'latest')
  if (isPaused === null) throw unread()
  const lots: Lot[] = []
  for (let at = 0; at < ids.length; at += PAGE) {
    const page = ids.slice(at, at + PAGE)
    const answers = await read(
      page.map((saleId) => contract.question('lot', [BigInt(saleId)])),
      'latest',
    )
    for (const [index, raw] of answers.entries()) {
      if (raw === null) throw unread()
      const lot = lotOf(page[index]!, raw, isPaused)
      if (lot) lots.push(lot)
    }
  }
  return lots
}

/** In the order in which they were made. An id that no request could name is left out. */
async function lotIds(contract: SaleContract, read: BatchReader): Promise<readonly number[]> {
  const ids: number[] = []
  for (let offset = 0; offset < LOTS_MAX; offset += PAGE) {
    const [page] = await read([contract.question('lotIds', [BigInt(offset), BigInt(PAGE)])], 'latest')
    if (page === null) throw unread()
    ids.push(...page.map(Number).filter(Number.isSafeInteger))
    if (page.length < PAGE) break
  }
  return ids
}

/** Null when one of them is not known. */
function sumOf(amounts: readonly (bigint | null)[]): bigint | null {
  return amounts.reduce<bigint | null>((sum, one) => (sum === null || one === null ? null : sum + one), 0n)
}

function unread(): Problem {
  return new Problem('chain_unavailable', 'The sale contract could not be read; try again shortly.')
}

type RawLot = Awaited<ReturnType<typeof lotNow>>
const lotNow = (contract: SaleContract) => contract.read('lot', [0n])

function lotOf(saleId: number, { exists, minted, terms }: RawLot, isPaused: boolean): Lot | null {
  if (!exists) return null
  const { name, uri, unitPrice, supply, opensAt, closesAt } = terms
  const time = (seconds: bigint) => (seconds === 0n ? null : Number(seconds) * 1000)
  return {
    saleId,
    name,
    ...describedBy(name, uri),
    uri,
    unitPrice: usd(unitPrice),
    supply,
    minted,
    opensAt: time(opensAt),
    closesAt: time(closesAt),
    isPaused,
  }
}

function told(lot: Lot, note: LotNote | undefined): Lot {
  if (!note) return lot
  const { name, description, picture } = note
  return {
    ...lot,
    name: name ?? lot.name,
    description: description ?? lot.description,
    picture: picture ?? lot.picture,
  }
}

export function lotStateOf(lot: Lot, nowMs: number): LotState {
  if (lot.isPaused) return 'paused'
  if (lot.opensAt !== null && nowMs < lot.opensAt) return 'not_yet'
  if (lot.closesAt !== null && nowMs >= lot.closesAt) return 'closed'
  return lot.minted >= lot.supply ? 'sold_out' : 'open'
}

/** Metadata inside the URI itself can be read without asking a stranger's server; anything else is described by its name. */
function describedBy(name: string, uri: string): Pick<Lot, 'description' | 'picture'> {
  const { description, image } = metadataIn(uri)
  return {
    description: typeof description === 'string' ? description.slice(0, 500) : `NFT lot "${name}".`,
    picture: typeof image === 'string' && /^https:\/\/\S{1,2000}$/.test(image) ? image : null,
  }
}

function metadataIn(uri: string): { readonly description?: unknown; readonly image?: unknown } {
  const [, encoded] = /^data:application\/json(?:;charset=utf-8)?,(.*)$/s.exec(uri) ?? []
  try {
    const metadata: unknown = JSON.parse(decodeURIComponent(encoded ?? '{}'))
    return typeof metadata === 'object' && metadata !== null ? metadata : {}
  } catch {
    return {}
  }
}
