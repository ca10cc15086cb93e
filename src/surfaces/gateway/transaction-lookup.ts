import type { Hash } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import { readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { ChainWord } from '../../store/reports.ts'

/** Asks the chains that we know about a transaction. */
export type TransactionLookup = {
  /** Null when none of them has seen it, or none answered in time: a report does not wait for a chain. */
  find(hash: Hash): Promise<ChainWord | null>
}

type TransactionLookupOptions = {
  readonly chains: readonly { readonly network: string; readonly rpc: Rpc }[]
  readonly clock: Clock
  readonly log: Log
  readonly waitMs: number
}

export function createTransactionLookup({ chains, clock, log, waitMs }: TransactionLookupOptions): TransactionLookup {
  async function ask(
    { network, rpc }: TransactionLookupOptions['chains'][number],
    hash: Hash,
  ): Promise<ChainWord | null> {
    try {
      const receipt = await readReceipt(rpc, hash)
      return receipt && { network, status: receipt.succeeded ? 'success' : 'reverted' }
    } catch (error) {
      log.warn('reported transaction could not be looked up', { network, hash, error })
      return null
    }
  }

  /** The first chain that has seen it decides; a silent one must not hide what another knows. */
  async function firstWord(hash: Hash): Promise<ChainWord | null> {
    const seen = chains.map(async (chain) => (await ask(chain, hash)) ?? Promise.reject(new Error('not seen')))
    return Promise.any(seen).catch(() => null)
  }

  return {
    async find(hash) {
      const timer = new AbortController()
      const timeUp = clock.sleep(waitMs, timer.signal).then(() => null)
      try {
        return await Promise.race([firstWord(hash), timeUp])
      } finally {
        timer.abort()
      }
    },
  }
}
