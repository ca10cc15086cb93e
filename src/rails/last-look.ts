import type { Clock } from '../base/clock.ts'
import { blockBefore, newestBlocks } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Sender } from '../chain/sender.ts'
import type { PaidOrder } from '../domain/rail.ts'

/** Clocks of chains and replicas differ, and blocks take their time: be sure before saying "never". */
const MARGIN_MS = 60_000

/** Is the time of a payment over for good? The chain's own counts, told by a block that lies deep; ours may be wrong, and only saves asking. */
export async function isOver(
  { clock, deepTime }: { readonly clock: Clock } & Pick<Sender, 'deepTime'>,
  { expiresAt }: PaidOrder,
): Promise<boolean> {
  const end = expiresAt + MARGIN_MS
  return clock.now() > end && (await deepTime()) > end
}

/**
 * Where the last search for a payment begins, before anybody says that there is nothing. One node told the block at which it came, and may have made it
 * up, so two tell it; and when its order was opened the store told, whose clock may be ahead of the chain's. So the earlier of both.
 */
export async function lastSearchFrom(rpc: Rpc, { createdAt }: PaidOrder, told: bigint): Promise<bigint> {
  const opened = await blockBefore(rpc, createdAt - MARGIN_MS, (await newestBlocks(rpc)).lower)
  return opened > told ? told : opened
}
