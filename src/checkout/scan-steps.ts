import type { Transfer } from '../domain/till.ts'

export type ScanStep = { readonly fromBlock: bigint; readonly toBlock: bigint; readonly transfers: readonly Transfer[] }

/** Sixty thousand in one statement take longer than the store lets it. A block is never cut: what it does not show counts as dropped. */
export const TRANSFERS_PER_STEP = 5_000

/** Cuts what was found in a range of blocks into pieces that can be written down one after the other. */
export function* scanSteps({ fromBlock, toBlock, transfers }: ScanStep): Generator<ScanStep> {
  const sorted = transfers.toSorted((one, other) => Number(one.blockNumber - other.blockNumber))
  let from = fromBlock
  let at = 0
  while (sorted.length - at > TRANSFERS_PER_STEP) {
    const cut = sorted[at + TRANSFERS_PER_STEP - 1]!.blockNumber
    // Also for a node that shows blocks nobody asked for: the mark must not go where nothing was read.
    if (cut < from || cut >= toBlock) break
    const end = sorted.findIndex(({ blockNumber }, index) => index >= at && blockNumber > cut)
    if (end === -1) break
    yield { fromBlock: from, toBlock: cut, transfers: sorted.slice(at, end) }
    from = cut + 1n
    at = end
  }
  yield { fromBlock: from, toBlock, transfers: sorted.slice(at) }
}
