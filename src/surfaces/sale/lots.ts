import { saleLots } from '../../artifacts/SaleLots.ts'
import type { Address } from '../../base/address.ts'
import { cachedRead } from '../../base/cached-read.ts'
import type { Clock } from '../../base/clock.ts'
import { type Usd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { BatchReader } from '../../chain/batch.ts'
import { type Contract, decodeEventLog, eventTopic } from '../../chain/contract.ts'
import { blockTime, type HeadSource } from '../../chain/head.ts'
import type { Log } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'

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
  /**
   * Read now, for a paid call: the lot, and how many of it a minter key has minted, as of one block. Read one after the other they would
   * not fit together, and a mint in between would make the last piece look like two. Null when there is no such lot, or it is not offered.
   */
  standing(saleId: number, minter: Address): Promise<{ readonly lot: Lot; readonly own: bigint } | null>
  /** Did one of this lot cost so much at any moment since? The contract tells of every change. */
  priceWas(saleId: number, unitPrice: Usd, since: number): Promise<boolean>
}

const CACHE_MS = 2_000
/** More than are made while a quoted price holds, wherever we sell; all nodes search this many. */
const HISTORY_BLOCKS = 1_000n
const LOT_SET = eventTopic(saleAbi, 'LotSet')

export function createLots(options: {
  contract: SaleContract
  rpc: Rpc
  head: HeadSource
  read: BatchReader
  saleIds: readonly number[]
  clock: Clock
}): Lots {
  const { contract, rpc, head, read, saleIds, clock } = options
  const offered = new Set(saleIds)
  const readLot = (saleId: number) => contract.read('lot', [BigInt(saleId)])

  async function readAll(): Promise<ReadonlyMap<number, Lot>> {
    const lots = await Promise.all(saleIds.map(async (saleId) => asLot(saleId, await readLot(saleId))))
    return new Map(lots.flatMap((lot) => (lot ? [[lot.saleId, lot]] : [])))
  }

  /** When the terms of a lot were changed lately, and to what price, oldest first. */
  async function changesOf(saleId: number): Promise<readonly { readonly block: bigint; readonly price: bigint }[]> {
    const { number } = await head.latest()
    const fromBlock = `0x${(number > HISTORY_BLOCKS ? number - HISTORY_BLOCKS : 0n).toString(16)}`
    const topics = [LOT_SET, `0x${BigInt(saleId).toString(16).padStart(64, '0')}`]
    const filter = { address: contract.address, topics, fromBlock, toBlock: 'latest' }
    const logs = await rpc.request<readonly Log[]>('eth_getLogs', [filter])
    return logs.flatMap((log) => {
      const event = decodeEventLog(saleAbi, log)
      return event?.eventName === 'LotSet'
        ? [{ block: BigInt(log.blockNumber), price: event.args.terms.unitPrice }]
        : []
    })
  }

  async function priceAt(saleId: number, block: bigint): Promise<bigint | null> {
    const [lot] = await read([lotQuestion(contract, saleId)], block)
    return lot?.exists ? lot.terms.unitPrice : null
  }

  return {
    async priceWas(saleId, unitPrice, since) {
      const changes = await changesOf(saleId)
      for (const [index, { block }] of changes.entries()) {
        if ((await blockTime(rpc, block)) < since) continue
        const replaced = changes[index - 1]?.price ?? (await priceAt(saleId, block - 1n))
        if (replaced === unitPrice) return true
      }
      return false
    },
    async standing(saleId, minter) {
      if (!offered.has(saleId)) return null
      const [raw, own] = await read(
        [lotQuestion(contract, saleId), contract.question('mintedBy', [BigInt(saleId), minter])],
        'latest',
      )
      if (raw === null || own === null)
        throw new Problem('chain_unavailable', 'The sale contract could not be read; try again shortly.')
      const lot = asLot(saleId, raw)
      return lot && { lot, own }
    },
    recent: cachedRead(clock, CACHE_MS, readAll),
  }
}

const lotQuestion = (contract: SaleContract, saleId: number) => contract.question('lot', [BigInt(saleId)])
type ChainLot = ReturnType<ReturnType<typeof lotQuestion>['decode']>

function asLot(saleId: number, { exists, minted, terms }: ChainLot): Lot | null {
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
