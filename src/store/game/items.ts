import { type Usd, usd } from '../../base/money.ts'
import { type Lease, LeaseLost } from '../../domain/lease.ts'
import type { Database } from '../db.ts'
import { isCheckViolation } from '../fault.ts'
import { leaseHeld } from '../jobs.ts'
import { statement } from '../statement.ts'

export type ItemRow = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly price: Usd
  readonly stock: { readonly left: number; readonly delivered: number } | null
  readonly limitPerPlayer: number | null
  readonly levelMin: number
  /** Where it can be seen. */
  readonly picture: string | null
  /** Milliseconds; null means no bound. */
  readonly opensAt: number | null
  readonly closesAt: number | null
}

/** An item as one player sees it. */
export type PersonalRow = {
  readonly item: ItemRow
  /** Zero for a player that does not exist. */
  readonly level: number
  readonly discountPoints: number
  readonly limitLeft: number | null
}

type NewGrant = {
  readonly orderId: string
  readonly playerId: string
  readonly itemId: string
  readonly quantity: number
}

export type GrantRow = NewGrant & { readonly grantedAt: number }

/** The shelf of the embedded game as buyers see it, without what is hidden, and the ledger of what left it. */
export type Items = {
  list(): Promise<readonly ItemRow[]>
  /** Every item, or the named one only. */
  forPlayer(playerId: string, itemId: string | null): Promise<readonly PersonalRow[]>
  granted(orderId: string): Promise<GrantRow | null>
  /** Gives the items under the lease, once per order: the second call returns what the first one gave. Null when the stock does not reach. */
  grant(lease: Lease, grant: NewGrant): Promise<GrantRow | null>
}

/** The hold that keeps a player within the limit while an order is open. */
export function limitResource(itemId: string, playerId: string): string {
  return `limit:${itemId}:${playerId}`
}

export type Row = {
  id: string
  name: string
  description: string
  price: string
  stock: string | null
  delivered: string
  limit_per_player: number | null
  level_min: number
  picture: string | null
  opens_at: Date | null
  closes_at: Date | null
}

const LIST = statement<Row>(`
  select *
  from items
  where not hidden
  order by position, id`)

// What an open order was given already is still counted by its hold; counting it here as well would refuse the next order too early.
const FOR_PLAYER = statement<Row & { level: number; basis_points: number; bought: string }>(`
  select i.*,
         coalesce(p.level, 0) as level,
         coalesce(d.basis_points, 0) as basis_points,
         coalesce((
           select sum(l.quantity)
           from inventory_ledger l
           where l.player_id = $1
             and l.item_id = i.id
             and not exists (
               select
               from holds h
               where h.order_id = l.effect_key
                 and h.resource = 'limit:' || l.item_id || ':' || l.player_id
                 and h.released_at is null)), 0) as bought
  from items i
  left join players p on p.id = $1
  left join discounts d on d.player_id = $1 and d.item_id = i.id
  where not i.hidden
    and ($2::text is null or i.id = $2)
  order by i.position, i.id`)

type LedgerRow = { effect_key: string; player_id: string; item_id: string; quantity: string; granted_at: Date }

const GRANTED = statement<LedgerRow>(`
  select *
  from inventory_ledger
  where effect_key = $1`)

// Ledger and shelf in one statement. A stock that does not reach breaks the table's own rule, and nothing of it is written.
const GRANT = statement<LedgerRow>(`
  with granted as (
    insert into inventory_ledger (effect_key, player_id, item_id, quantity)
    select $1, $2, $3, $4::bigint
    where ${leaseHeld({ kind: '$5', key: '$6', lease: '$7::uuid' })}
    on conflict (effect_key) do nothing
    returning *
  ), taken as (
    update items
    set stock = items.stock - granted.quantity,
        delivered = items.delivered + granted.quantity
    from granted
    where items.id = granted.item_id
  )
  select *
  from granted`)

export function createItems(db: Database): Items {
  async function granted(orderId: string): Promise<GrantRow | null> {
    const { rows } = await db.query(GRANTED, [orderId])
    return rows[0] ? fromLedger(rows[0]) : null
  }

  return {
    granted,
    async list() {
      const { rows } = await db.query(LIST)
      return rows.map(fromRow)
    },
    async forPlayer(playerId, itemId) {
      const { rows } = await db.query(FOR_PLAYER, [playerId, itemId])
      return rows.map((row) => ({
        item: fromRow(row),
        level: row.level,
        discountPoints: row.basis_points,
        limitLeft: row.limit_per_player === null ? null : Math.max(0, row.limit_per_player - Number(row.bought)),
      }))
    },
    async grant(lease, { orderId, playerId, itemId, quantity }) {
      const held = [lease.kind, lease.key, lease.lease]
      try {
        const { rows } = await db.query(GRANT, [orderId, playerId, itemId, quantity, ...held])
        const given = rows[0] ? fromLedger(rows[0]) : await granted(orderId)
        if (!given) throw new LeaseLost(lease)
        return given
      } catch (error) {
        if (isCheckViolation(error, 'items_stock_check')) return null
        throw error
      }
    },
  }
}

export function fromRow(row: Row): ItemRow {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    price: usd(BigInt(row.price)),
    stock: row.stock === null ? null : { left: Number(row.stock), delivered: Number(row.delivered) },
    limitPerPlayer: row.limit_per_player,
    levelMin: row.level_min,
    picture: row.picture,
    opensAt: row.opens_at?.getTime() ?? null,
    closesAt: row.closes_at?.getTime() ?? null,
  }
}

function fromLedger({ effect_key, player_id, item_id, quantity, granted_at }: LedgerRow): GrantRow {
  return {
    orderId: effect_key,
    playerId: player_id,
    itemId: item_id,
    quantity: Number(quantity),
    grantedAt: granted_at.getTime(),
  }
}
