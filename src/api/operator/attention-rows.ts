import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { type Role, roles } from '../../domain/operator.ts'
import type { Need, NeedKind, OpenTrouble } from '../../store/attention.ts'
import type { Currencies } from '../../store/shop-terms.ts'
import { type OperatorRoute, operator } from './route.ts'

type AttentionDesk = {
  now(): number
  needs(): Promise<readonly Need[]>
  held(): Promise<readonly { network: string; asset: string; count: number; amount: bigint }[]>
  troubles(): Promise<readonly OpenTrouble[]>
  currencies(): Promise<Currencies>
}

/** `act`: somebody's money or goods wait. `soon`: they will. */
type Severity = 'act' | 'soon'

type Item = {
  readonly id: string
  readonly kind: NeedKind | 'wallet_low' | 'check_failing'
  readonly severity: Severity
  readonly title: string
  readonly detail: string | null
  readonly subject: { readonly type: string; readonly id: string }
  readonly count: number
  readonly amount: string | null
  readonly currency: string | null
  readonly since: string
  readonly actions: readonly string[]
  /** The least that may do the first of them. */
  readonly role: Role
}

/** What waits for a person, from the store alone: it is told while everything else is down. */
export function attentionRows(desk: AttentionDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/attention', {
      role: 'viewer',
      summary: 'What needs a person: the most urgent first, then the oldest',
      handle: async () => ({ body: await readItems(desk) }),
    }),
  ]
}

async function readItems(desk: AttentionDesk): Promise<JsonObject> {
  const checkedAt = isoTime(desk.now())
  const [needs, held, troubles, currencyOf] = await Promise.all([
    desk.needs(),
    desk.held(),
    desk.troubles(),
    desk.currencies(),
  ])
  const single = needs.filter(({ kind }) => kind !== 'held').map((need) => needItem(need, currencyOf))
  const orphaned = needs.filter(({ kind }) => kind === 'held')
  const grouped = held.flatMap((sum) => heldItem(sum, orphaned, currencyOf))
  const items = [...single, ...grouped, ...troubles.map(troubleItem)].toSorted(
    (a, b) => Number(a.severity === 'soon') - Number(b.severity === 'soon') || a.since.localeCompare(b.since),
  )
  return {
    items: items.map((item) => ({ ...item, subject: { ...item.subject }, actions: [...item.actions] })),
    checkedAt,
  }
}

type Words = {
  readonly title: string
  readonly severity: Severity
  readonly type: string
  readonly actions: readonly string[]
  readonly role: Role
}

const [, SUPPORT, ADMIN] = roles

function wordsOf({ kind, status }: Need): Words {
  const order = { severity: 'act', type: 'order', role: SUPPORT } as const
  switch (kind) {
    case 'stuck':
      return status === 'settling'
        ? { ...order, title: 'Nobody knows whether this payment landed', actions: ['retry'] }
        : { ...order, title: 'Paid, and still not delivered', actions: ['retry'] }
    case 'in_doubt':
      return { ...order, title: 'The game cannot say whether it delivered', actions: ['decide', 'retry'] }
    case 'refund_held':
    case 'refund_stuck':
      if (status === null)
        return { ...order, type: 'transfer', title: 'A refund does not get through', actions: ['reconcile'] }
      return status === 'failed'
        ? { ...order, title: 'Failed, and its refund waits for a person', actions: ['refund', 'retry'] }
        : { ...order, title: 'A refund does not get through', actions: ['retry'] }
    case 'payment_missing':
      return {
        severity: 'soon',
        type: 'order',
        role: SUPPORT,
        title: 'The chain does not show this payment now',
        actions: ['reconcile'],
      }
    case 'held':
      return {
        ...order,
        type: 'transfer',
        role: ADMIN,
        title: 'A payment without an order is held',
        actions: ['decide'],
      }
    case 'webhook_dead':
      return { severity: 'soon', type: 'webhook', role: SUPPORT, title: 'Messages were given up', actions: ['replay'] }
    case 'webhook_disabled':
      return {
        severity: 'soon',
        type: 'webhook',
        role: ADMIN,
        title: 'A receiver says it is gone',
        actions: ['enable'],
      }
  }
}

function needItem(need: Need, currencyOf: Currencies): Item {
  const { kind, about, since, detail, money } = need
  const { title, severity, type, actions, role } = wordsOf(need)
  return {
    id: `${kind}:${about}`,
    kind,
    severity,
    title,
    detail,
    subject: { type, id: about },
    count: 1,
    amount: money && formatUsd(usd(money.amount)),
    currency: money && currencyOf(money.network, money.asset),
    since: isoTime(since),
    actions,
    role,
  }
}

type HeldSum = Awaited<ReturnType<AttentionDesk['held']>>[number]

/** All of one currency together: they are decided together. */
function heldItem(
  { network, asset, count, amount }: HeldSum,
  orphaned: readonly Need[],
  currencyOf: Currencies,
): Item[] {
  const own = orphaned.filter(({ money }) => money?.network === network && money.asset === asset)
  const oldest = own.toSorted((a, b) => a.since - b.since)[0]
  if (!oldest) return []
  const one = needItem(oldest, currencyOf)
  if (count === 1) return [one]
  return [
    {
      ...one,
      id: `held:${network}/${asset}`,
      title: `${count} payments without an order are held`,
      detail: null,
      subject: { type: 'transfers', id: 'held' },
      count,
      amount: formatUsd(usd(amount)),
    },
  ]
}

function troubleItem({ id, kind, about, detail, since }: OpenTrouble): Item {
  const isWallet = kind === 'wallet'
  return {
    id: `${kind}:${about}`,
    kind: isWallet ? 'wallet_low' : 'check_failing',
    severity: isWallet || kind === 'node' ? 'soon' : 'act',
    title: isWallet ? `Running low: ${about}` : `Down: ${about}`,
    detail,
    subject: { type: isWallet ? 'wallet' : kind, id: isWallet ? about : id },
    count: 1,
    amount: null,
    currency: null,
    since: isoTime(since),
    actions: [isWallet ? 'fund' : 'look'],
    role: isWallet ? ADMIN : roles[0],
  }
}
