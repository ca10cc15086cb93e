import type { Hash } from '../../src/base/address.ts'
import type { ChainName } from './faults.ts'
import { ledgerOf } from './ledger.ts'
import type { Universe } from './universe.ts'

type Depth = { readonly chain: ChainName; readonly depth: number; readonly drop: readonly Hash[] }

/** The last blocks are made anew, without some transactions. Whoever had paid, and been given something for it, is noted. */
export async function reorganise(universe: Universe, { chain, depth, drop }: Depth): Promise<void> {
  const { world, purchases } = universe
  for (const purchase of purchases) {
    const { paid, delivered } = await ledgerOf(universe, purchase)
    if (delivered > 0) purchase.paidWhenGiven = Math.max(purchase.paidWhenGiven, paid.length)
  }
  await world[chain].ask({ method: 'dev_reorg', params: [depth, drop.length > 0 ? { drop } : {}] })
}
