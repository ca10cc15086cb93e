import { presentTimeline, type TimelineView } from '../api/operator/order-timeline.ts'
import type { OrderStatus } from '../domain/order.ts'
import { rails } from '../rails/rails.ts'
import { readNaming } from '../store/orders/naming.ts'
import { readTimeline } from '../store/orders/timeline.ts'
import { type Command, CommandRefusal, operatorOptions } from './command.ts'
import { painted } from './orders.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'
import type { Terminal } from './terminal.ts'
import { findTransfers, transferText } from './transfers.ts'

export const showOrder: Command = {
  args: '<order>',
  about: `Shows one purchase: what was asked, what was paid, every event and try, every transaction that was signed for it, and who was told.\n<order> may be the order id, the payment transaction, ${rails.map(({ reference }) => `the ${reference}`).join(', ')} or the idempotency key;\nmoney that the shop holds without an order is found too.`,
  options: operatorOptions,
  examples: [['sutler orders show ord_4w5k…', 'the whole story of one purchase']],
  async run(call) {
    const [reference = ''] = call.args
    const timeline = await readShopOrStore(
      call,
      (client) => client.get<TimelineView>(`/operator/orders/${encodeURIComponent(reference)}`).catch(noOrder),
      async (database) => {
        const found = await readTimeline(database, reference)
        return found && presentTimeline(found, await readNaming(database, [found.order]), noLink)
      },
    )
    if (timeline) return { json: timeline, text: timelineText(timeline, call.terminal) }
    // Money that the shop holds is worth showing, even when nothing was bought with it.
    const transfers = await findTransfers(call, reference)
    if (transfers.length === 0) throw new CommandRefusal('order_not_found', `there is no order ${reference}`)
    return {
      json: { order: null, transfers },
      text: transfers.map((one) => transferText(one, call.terminal)).join('\n\n'),
    }
  },
}

/** A store alone does not know whether its chain is a public one. */
const noLink = () => null

function noOrder(error: unknown): null {
  if (error instanceof CommandRefusal && error.code === 'order_not_found') return null
  throw error
}

export const retryOrder: Command = {
  args: '<order>',
  about:
    'Goes on with an unfinished purchase now instead of at its next turn. Open purchases are tried again by themselves, at growing\nintervals; use this when what was in the way is mended. It never pays or delivers twice. <order> is the order id.',
  options: operatorOptions,
  examples: [['sutler orders retry ord_4w5k…', 'the game is back; deliver now']],
  async run(call) {
    const [reference = ''] = call.args
    const path = `/operator/orders/${encodeURIComponent(reference)}/retry`
    const answer = await operatorClient(call).post<{ orderId: string; status: OrderStatus; isDue: boolean }>(path)
    const { orderId, status, isDue } = answer
    const isFinished = ['confirmed', 'refunded', 'expired'].includes(status)
    const why = isFinished ? `it is ${status}, and nothing is left to do` : 'it is being worked on right now'
    return {
      json: { ...answer },
      text: isDue ? `${orderId} is ${status}, and is taken up now` : `${orderId}: ${why}`,
      isGood: isDue || !isFinished,
    }
  },
}

function timelineText(timeline: TimelineView, { style, table }: Terminal): string {
  const { order, events, tries } = timeline
  const began = Date.parse(events[0]?.at ?? order.createdAt)
  const section = (title: string, text: string | null) => (text === null ? [] : ['', style.bold(title), text])
  const rows = (lines: readonly (readonly string[])[]) => (lines.length === 0 ? null : table(lines))
  return [
    `${style.bold(order.orderId)}  ${painted(order.status, style)}`,
    table(factsOf(timeline).map(([what, value]) => [`  ${style.dim(what)}`, value])),
    ...section(
      'What happened',
      rows(events.map(({ type, at }) => [`  ${at}`, style.dim(`+${elapsed(Date.parse(at) - began)}`), type])),
    ),
    ...section(
      'What was tried and came to nothing',
      rows(tries.map(({ status, error, times, lastAt }) => [`  ${lastAt}`, status, `${times} ×`, error])),
    ),
    ...section('What was signed', rows(signed(timeline)) ?? '  nothing by the shop itself'),
    ...section('Who was told', rows(told(timeline))),
    ...section('Notes', rows(timeline.notes.map(({ at, by, text }) => [`  ${at}`, by, text]))),
  ].join('\n')
}

type Fact = readonly [what: string, value: string]

function factsOf({ order, next }: TimelineView): readonly Fact[] {
  const { failure, refund } = order
  const facts: (Fact | null)[] = [
    ['bought', `${order.good} (${order.surface}): ${JSON.stringify(order.input)}`],
    ['paid', `${order.amount} by ${order.protocol} on ${order.network}, from ${order.payer}`],
    ['payment', order.paymentTx ?? 'not on the chain yet'],
    order.deliveryTx ? ['delivery', order.deliveryTx] : null,
    order.attempts > 0 ? ['attempts', String(order.attempts)] : null,
    next && ['next try', next.isRunning ? `under way, until ${next.at} at the latest` : next.at],
    failure && ['failure', `${failure.code}: ${failure.detail}`],
    refund && ['refund', `${refund.transaction ?? 'on its way'}, by ${refund.by}: ${refund.reason}`],
  ]
  return facts.filter((fact) => fact !== null)
}

function signed({ sends }: TimelineView): readonly (readonly string[])[] {
  return sends.flatMap(({ step, chainId, nonce, transactions, landed }) =>
    transactions.map(({ hash }) => [
      `  ${step}`,
      `chain ${chainId}`,
      `nonce ${nonce}`,
      hash,
      landed?.transaction === hash ? `block ${landed.block}` : '',
    ]),
  )
}

function told({ webhooks }: TimelineView): readonly (readonly string[])[] {
  return webhooks.map(({ type, state, attempts, url, answers, nextAt }) => {
    const last = answers.at(-1)
    const answer = last ? `${last.status ?? 'no answer'}: ${last.text}`.slice(0, 80) : ''
    return [`  ${type}`, state, `${attempts} ×`, url, nextAt === null ? answer : `${answer} (next ${nextAt})`]
  })
}

function elapsed(ms: number): string {
  return ms < 10_000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`
}
