import type { Clock } from '../base/clock.ts'
import { blockBefore, newestBlocks } from '../chain/head.ts'
import { remembers } from '../chain/memory.ts'
import { isAnswered } from '../chain/node-agreement.ts'
import { answerOrNull, type Rpc } from '../chain/rpc.ts'
import type { PaidOrder } from '../domain/rail.ts'
import type { Sender } from '../outbox/sender.ts'

/** Clocks of chains and replicas differ, and blocks take their time: be sure before saying "never". */
const MARGIN_MS = 60_000

/** Is the time of a payment over for good? The chain's own counts, told by a block that lies deep; ours may be wrong, and only saves asking. */
export async function isOver(
  { clock, deepTime }: { readonly clock: Clock } & Pick<Sender, 'deepTime'>,
  { expiresAt }: Pick<PaidOrder, 'expiresAt'>,
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

/** What the last search for a payment finds, by whichever node has the blocks still: one that has not may say that nothing is in them. */
export async function foundByAny<Found>(rpc: Rpc, search: (node: Rpc) => Promise<Found | null>): Promise<Found | null> {
  const found = await search(rpc)
  if (found !== null || rpc.second === null) return found
  return answerOrNull(search(rpc.second))
}

/**
 * Can the search since a block say that there is nothing? Who has forgotten what it was asked for denies nothing; who is left must be two, where there are
 * two.
 */
export async function isRemembered(rpc: Rpc, since: bigint): Promise<boolean> {
  const memories = await Promise.all(rpc.each().map((node) => remembers(node, since)))
  return isAnswered(
    rpc,
    memories.filter((isKnown) => isKnown),
  )
}
