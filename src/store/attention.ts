import type { OrderStatus } from '../domain/order.ts'
import type { Trouble, TroubleKind } from '../domain/trouble.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'
import { GONE_REASON } from './webhooks/endpoints.ts'

/** Paid for, and not at its end after so long: whatever keeps it, somebody should look. */
const STUCK_SECONDS = 900
/** What failed goes back within moments, unless a person must say so. */
const UNRETURNED_SECONDS = 60
/** So long a request may be on its way to the game; then it says what became of it, or cannot. */
const GAME_SECONDS = 120
/** Losses and messages that were given up stay as they are; nobody is reminded of them for ever. */
const NEWS_SECONDS = 86_400
/** So many of each kind are told one by one; what is beyond them is in the figures. */
const EACH_MAX = 50

export type NeedKind =
  /** Paid, and not at its end. */
  | 'stuck'
  /** The game cannot say whether it delivered. */
  | 'in_doubt'
  /** A refund that does not leave. */
  | 'refund_stuck'
  /** A refund that waits for a person's word. */
  | 'refund_held'
  /** The final blocks of the chain do not show its payment. */
  | 'payment_missing'
  /** Money without a purchase. */
  | 'held'
  | 'webhook_dead'
  | 'webhook_disabled'

/** Something that waits for a person, or soon will. */
export type Need = {
  readonly kind: NeedKind
  /** The order, the transfer or the endpoint. */
  readonly about: string
  readonly since: number
  /** Null: it is about no order. */
  readonly status: OrderStatus | null
  /** The last error, the reason it is held, or where it was to go. */
  readonly detail: string | null
  readonly money: { readonly amount: bigint; readonly network: string; readonly asset: string } | null
}

type Row = {
  kind: NeedKind
  about: string
  since: Date
  status: OrderStatus | null
  detail: string | null
  amount: string | null
  network: string | null
  asset: string | null
}

const ago = (seconds: number) => `$1::timestamptz - interval '${seconds} seconds'`
/** What follows the host may hold a secret of the receiver's. */
const HOST_OF = `split_part(w.url, '/', 1) || '//' || split_part(w.url, '/', 3)`
const LAST_ERROR = `o.tries -> -1 ->> 'error'`

// Money first. Each part reads an index that holds only what is open.
const NEEDED = statement<Row>(`
  (select case
            when o.status in ('failed', 'refunding') then 'refund_stuck'
            when g.order_id is not null then 'in_doubt'
            else 'stuck'
          end as kind,
          o.id as about, o.created_at as since, o.status, ${LAST_ERROR} as detail, o.amount, o.network, o.asset
   from orders o
   left join game_calls g
     on g.order_id = o.id
    and g.verdict is null
    and g.sent_at < ${ago(GAME_SECONDS)}
    and o.status in ('settled', 'submitted')
   where o.status not in ('confirmed', 'refunded', 'expired')
     and (o.status <> 'settling' or o.in_doubt)
     and not (o.status = 'failed' and o.refund_held)
     and (o.created_at < ${ago(STUCK_SECONDS)}
       or g.order_id is not null
       or (o.status = 'failed' and o.updated_at < ${ago(UNRETURNED_SECONDS)}))
   order by o.created_at
   limit ${EACH_MAX})
  union all
  -- Apart: buyers can bring about as many as they like, and must not hide the others.
  (select 'refund_held', o.id, o.created_at, o.status, ${LAST_ERROR}, o.amount, o.network, o.asset
   from orders o
   where o.status not in ('confirmed', 'refunded', 'expired')
     and o.status = 'failed'
     and o.refund_held
   order by o.created_at
   limit ${EACH_MAX})
  union all
  (select 'refund_stuck', t.id, r.created_at, null, t.reason, t.amount, split_part(t.account, '/', 1), split_part(t.account, '/', 2)
   from refunds r
   join transfers t on t.id = r.transfer_id
   where r.completed_at is null
     and r.created_at < ${ago(STUCK_SECONDS)}
   order by r.created_at
   limit ${EACH_MAX})
  union all
  (select 'payment_missing', o.id, o.settled_at, o.status, null, o.amount, o.network, o.asset
   from receiving_accounts a
   cross join unnest(a.missing) as missing (order_id)
   join orders o on o.id = missing.order_id
   order by o.settled_at
   limit ${EACH_MAX})
  union all
  (select 'held', t.id, t.found_at, null, t.reason, t.amount, split_part(t.account, '/', 1), split_part(t.account, '/', 2)
   from transfers t
   where t.state = 'held'
   order by t.found_at
   limit ${EACH_MAX})
  union all
  (select 'webhook_dead', w.id,
          (select min(d.updated_at)
           from webhook_deliveries d
           where d.endpoint_id = w.id and d.state = 'dead' and d.updated_at > ${ago(NEWS_SECONDS)}),
          null, ${HOST_OF}, null, null, null
   from webhook_endpoints w
   where exists (
     select
     from webhook_deliveries d
     where d.endpoint_id = w.id
       and d.state = 'dead'
       and d.updated_at > ${ago(NEWS_SECONDS)})
   limit ${EACH_MAX})
  union all
  (select 'webhook_disabled', w.id, w.updated_at, null, ${HOST_OF}, null, null, null
   from webhook_endpoints w
   where w.state = 'disabled'
     and w.state_reason = '${GONE_REASON}'
   limit ${EACH_MAX})`)

/** What waits for a person, by what is written down of it. */
export async function readNeeds(queryable: Queryable, now: number): Promise<readonly Need[]> {
  const { rows } = await queryable.query(NEEDED, [new Date(now)])
  return rows.map(({ kind, about, since, status, detail, amount, network, asset }) => ({
    kind,
    about,
    since: since.getTime(),
    status,
    detail,
    money: amount === null || network === null || asset === null ? null : { amount: BigInt(amount), network, asset },
  }))
}

/** What is told of each as an event. */
function wordsOf({ kind, about, status }: Need): string {
  switch (kind) {
    case 'stuck':
    case 'refund_stuck':
    case 'refund_held':
      if (status === null) return `Money without a purchase does not go back: sutler transfers show ${about}`
      return status === 'failed'
        ? `Order ${about} failed, and its refund waits for a person: sutler orders show ${about}`
        : `Order ${about} is paid and has been ${status} for more than ${STUCK_SECONDS / 60} minutes: sutler orders show ${about}`
    case 'in_doubt':
      return `The game cannot say whether it delivered order ${about}: find out, then sutler orders decide ${about}`
    case 'payment_missing':
      return `The final blocks of the chain do not show the payment of order ${about}: sutler orders show ${about}`
    case 'held':
      return `Money without a purchase waits for a decision: sutler transfers show ${about}`
    case 'webhook_dead':
      return `Messages to webhook ${about} were given up: mend the receiver, then sutler webhooks replay ${about}`
    case 'webhook_disabled':
      return `The receiver of webhook ${about} says that it is gone: mend it, then sutler webhooks enable ${about}`
  }
}

/** The same as troubles, one for each thing. */
export async function readAttention(queryable: Queryable, now: number): Promise<readonly Trouble[]> {
  const byName = new Map<string, Trouble>()
  for (const need of await readNeeds(queryable, now)) {
    byName.set(need.about, { kind: 'attention', about: need.about, detail: wordsOf(need) })
  }
  return [...byName.values()]
}

type HeldSum = { readonly network: string; readonly asset: string; readonly count: number; readonly amount: bigint }

const HELD = statement<{ network: string; asset: string; count: number; amount: string }>(`
  select split_part(account, '/', 1) as network, split_part(account, '/', 2) as asset, count(*)::int as count, sum(amount) as amount
  from transfers
  where state = 'held'
  group by account
  order by account`)

/** All money that waits for a person, by what it is. */
export async function readHeld(queryable: Queryable): Promise<readonly HeldSum[]> {
  return (await queryable.query(HELD)).rows.map(({ amount, ...row }) => ({ ...row, amount: BigInt(amount) }))
}

/** Something that replicas found wrong and that is not over. */
export type OpenTrouble = Trouble & { readonly id: string; readonly since: number }

const OPEN = statement<{ id: string; kind: TroubleKind; about: string; detail: string; began_at: Date }>(`
  select id, kind, about, detail, began_at
  from troubles
  where ended_at is null
    and kind <> 'attention'
  order by began_at
  limit 100`)

export async function readOpenTroubles(queryable: Queryable): Promise<readonly OpenTrouble[]> {
  return (await queryable.query(OPEN)).rows.map(({ began_at, ...row }) => ({ ...row, since: began_at.getTime() }))
}
