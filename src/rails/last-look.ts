import type { Clock } from '../base/clock.ts'
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
