import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Timeline } from '../../store/timeline.ts'
import { presentOrder } from './order-view.ts'

export type TimelineView = ReturnType<typeof presentTimeline>

export function presentTimeline({ order, events, sends }: Timeline) {
  return {
    order: presentOrder(order),
    events: events.map(({ sequence, type, at }) => ({ sequence, type, at: isoTime(at) })),
    // The signed bytes stay in the store: whoever reads this has no use for them.
    sends: sends.map(({ chainId, signer, nonce, step, call, versions }) => ({
      step,
      chainId,
      signer,
      nonce,
      to: call.to,
      transactions: versions.map(({ hash, isVoid }) => ({ hash, isVoid })),
    })),
  } satisfies JsonObject
}
