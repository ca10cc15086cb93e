import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import type { Naming } from '../../store/orders/naming.ts'
import type { Timeline } from '../../store/orders/timeline.ts'
import { presentOrder } from './order-view.ts'
import { receiverHost } from './receiver-url.ts'

export type TimelineView = ReturnType<typeof presentTimeline>

/** Where anybody can look a transaction up; null where nobody but us has the chain. */
export type ExplorerLink = (chainId: number, transaction: string) => string | null

/** Everything that is written down about an order. What only a running shop knows is added by its route. */
export function presentTimeline(timeline: Timeline, naming: Naming, link: ExplorerLink) {
  const { order, events, tries, next, webhooks, notes, related } = timeline
  const chainId = Number(order.network.split(':')[1])
  return {
    order: {
      ...presentOrder(order, naming),
      links: {
        payment: order.settlement && link(chainId, order.settlement.transaction),
        refund: order.refund?.transaction ? link(chainId, order.refund.transaction) : null,
      },
    },
    events: events.map(({ sequence, type, at }) => ({ sequence, type, at: isoTime(at) })),
    tries: tries.map((one) => ({ ...one })),
    next: next && { at: isoTime(next.at), isRunning: next.isRunning },
    sends: timeline.sends.map((send) => presentSend(send, link)),
    webhooks: webhooks.map(({ nextAt, answers, url, ...one }) => ({
      ...one,
      url: receiverHost(url),
      answers: answers.map((answer) => ({ ...answer })),
      nextAt: nextAt === null ? null : isoTime(nextAt),
    })),
    notes: notes.map(({ at, ...note }) => ({ ...note, at: isoTime(at) })),
    related: related.map(({ id, by, status, amount, network, asset, createdAt }) => ({
      orderId: id,
      by,
      status,
      amount: formatUsd(usd(amount)),
      currency: naming.currencyOf(network, asset),
      createdAt: isoTime(createdAt),
    })),
  } satisfies JsonObject
}

/** The signed bytes stay in the store: whoever reads this has no use for them. */
function presentSend(send: Timeline['sends'][number], link: ExplorerLink) {
  const { chainId, signer, nonce, step, call, versions, landing, signedAt } = send
  const landed = landing && {
    transaction: landing.hash,
    block: landing.blockNumber.toString(),
    link: link(chainId, landing.hash),
  }
  return {
    step,
    chainId,
    signer,
    nonce,
    to: call.to,
    signedAt: isoTime(signedAt),
    outcome: landed ? 'landed' : 'not seen yet',
    transactions: versions.map(({ hash }) => ({ hash, link: link(chainId, hash) })),
    landed,
  }
}
