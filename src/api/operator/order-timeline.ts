import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Timeline } from '../../store/orders/timeline.ts'
import { presentOrder } from './order-view.ts'

export type TimelineView = ReturnType<typeof presentTimeline>

export function presentTimeline({ order, events, sends, tries, next, webhooks }: Timeline) {
  return {
    order: presentOrder(order),
    events: events.map(({ sequence, type, at }) => ({ sequence, type, at: isoTime(at) })),
    tries: tries.map((one) => ({ ...one })),
    next: next && { at: isoTime(next.at), isRunning: next.isRunning },
    // The signed bytes stay in the store: whoever reads this has no use for them.
    sends: sends.map(({ chainId, signer, nonce, step, call, versions, landing }) => ({
      step,
      chainId,
      signer,
      nonce,
      to: call.to,
      transactions: versions.map(({ hash, isVoid }) => ({ hash, isVoid })),
      landed: landing && { transaction: landing.hash, block: landing.blockNumber.toString() },
    })),
    webhooks: webhooks.map(({ nextAt, answers, ...one }) => ({
      ...one,
      answers: answers.map((answer) => ({ ...answer })),
      nextAt: nextAt === null ? null : isoTime(nextAt),
    })),
  } satisfies JsonObject
}
