import type { Transfer } from '../domain/receiving-account.ts'

type ScanStep = { readonly fromBlock: bigint; readonly toBlock: bigint; readonly transfers: readonly Transfer[] }

/** Sixty thousand in one statement take longer than the store allows. A block is never cut: a transfer that is not in its step counts as dropped. */
export const TRANSFERS_PER_STEP = 5_000

/** Cuts the transfers of a range of blocks into pieces that are stored one after the other. */
export function* scanSteps({ fromBlock, toBlock, transfers }: ScanStep): Generator<ScanStep> {
  const sorted = transfers.toSorted((one, other) => Number(one.blockNumber - other.blockNumber))
  let from = fromBlock
  let at = 0
  while (sorted.length - at > TRANSFERS_PER_STEP) {
    const cut = sorted[at + TRANSFERS_PER_STEP - 1]!.blockNumber
    // A node may show blocks it was not asked for: the mark must not go where nothing was read.
    if (cut < from || cut >= toBlock) break
    const end = sorted.findIndex(({ blockNumber }, index) => index >= at && blockNumber > cut)
    if (end === -1) break
    yield { fromBlock: from, toBlock: cut, transfers: sorted.slice(at, end) }
    from = cut + 1n
    at = end
  }
  yield { fromBlock: from, toBlock, transfers: sorted.slice(at) }
}
