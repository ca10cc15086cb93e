import type { Database, Queryable, Transaction } from '../db.ts'
import { type Deed, type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'
import { canonicalNickname } from './players.ts'

/** What one player pays less for one item. */
export type Discount = { readonly itemId: string; readonly nickname: string; readonly basisPoints: number }

const LIST = statement<{ item_id: string; nickname: string; basis_points: number }>(`
  select d.item_id, p.nickname, d.basis_points
  from discounts d
  join players p on p.id = d.player_id
  order by d.item_id, p.nickname
  limit $1`)

type Standing = { readonly player_id: string; readonly basis_points: number | null }

const LOCK = statement<Standing>(`
  select p.id as player_id,
         (select d.basis_points from discounts d where d.player_id = p.id and d.item_id = i.id) as basis_points
  from players p
  join items i on i.id = $2
  where p.nickname = $1
  for update of p`)

const SET = statement(`
  insert into discounts (player_id, item_id, basis_points)
  values ($1, $2, $3)
  on conflict (player_id, item_id) do update
  set basis_points = excluded.basis_points`)

const REMOVE = statement(`
  delete from discounts
  where player_id = $1
    and item_id = $2`)

export async function listDiscounts(queryable: Queryable, limit: number): Promise<readonly Discount[]> {
  const { rows } = await queryable.query(LIST, [limit])
  return rows.map(({ item_id, nickname, basis_points }) => ({ itemId: item_id, nickname, basisPoints: basis_points }))
}

export type DiscountsChange =
  | { readonly kind: 'done'; readonly did: readonly ('changed' | 'nothing')[] }
  /** Of these, by their place, there is no such item or no such player. Nothing was changed. */
  | { readonly kind: 'unknown'; readonly indexes: readonly number[] }

/** All of them or none. Zero takes one back. What was quoted under the one before holds until the quote ends. */
export async function setDiscounts(
  db: Database,
  doer: Doer,
  discounts: readonly Discount[],
  { isTrial = false }: { readonly isTrial?: boolean } = {},
): Promise<DiscountsChange> {
  return db.transaction(async (tx) => {
    const standing: (Standing | undefined)[] = []
    for (const { itemId, nickname } of discounts)
      standing.push((await tx.query(LOCK, [canonicalNickname(nickname), itemId])).rows[0])
    const indexes = standing.flatMap((row, index) => (row ? [] : [index]))
    if (indexes.length > 0) return { kind: 'unknown', indexes }
    const changes = discounts.map(({ itemId, basisPoints }, index) => {
      const { player_id: playerId, basis_points: before } = standing[index]!
      return { itemId, playerId, before: before ?? 0, after: basisPoints }
    })
    const open = changes.filter(({ before, after }) => before !== after)
    if (!isTrial) for (const change of open) await write(tx, change)
    if (!isTrial) await recordDeeds(tx, doer, open.map(deedOf))
    return { kind: 'done', did: changes.map(({ before, after }) => (before === after ? 'nothing' : 'changed')) }
  })
}

type DiscountStep = {
  readonly itemId: string
  readonly playerId: string
  readonly before: number
  readonly after: number
}

async function write(tx: Transaction, { itemId, playerId, after }: DiscountStep): Promise<void> {
  if (after === 0) await tx.query(REMOVE, [playerId, itemId])
  else await tx.query(SET, [playerId, itemId, after])
}

function deedOf({ itemId, playerId, before, after }: DiscountStep): Deed {
  return {
    deed: 'discount.changed',
    about: { kind: 'discount', id: `${itemId}/${playerId}` },
    before: { percent: before / 100 },
    after: { percent: after / 100 },
  }
}
