import type { Database, Queryable } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
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

const LOCK = statement<{ player_id: string; basis_points: number | null }>(`
  select p.id as player_id,
         (select d.basis_points from discounts d where d.player_id = p.id and d.item_id = i.id) as basis_points
  from players p
  join items i on i.id = $2
  where p.nickname = $1
  for update of p`)

const KEEP = statement(`
  insert into earlier_discounts (player_id, item_id, basis_points)
  values ($1, $2, $3)`)

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

/** Zero takes it back. What was quoted under the one before holds until the quote ends. */
export async function setDiscount(
  db: Database,
  doer: Doer,
  { itemId, nickname, basisPoints }: Discount,
): Promise<'done' | 'nothing' | 'unknown'> {
  return db.transaction(async (tx) => {
    const { rows } = await tx.query(LOCK, [canonicalNickname(nickname), itemId])
    const [row] = rows
    if (!row) return 'unknown'
    const { player_id: playerId, basis_points: standing } = row
    const before = standing ?? 0
    if (before === basisPoints) return 'nothing'
    await tx.query(KEEP, [playerId, itemId, before])
    if (basisPoints === 0) await tx.query(REMOVE, [playerId, itemId])
    else await tx.query(SET, [playerId, itemId, basisPoints])
    await recordDeeds(tx, doer, [
      {
        deed: 'discount.changed',
        about: { kind: 'discount', id: `${itemId}/${playerId}` },
        before: { percent: before / 100 },
        after: { percent: basisPoints / 100 },
      },
    ])
    return 'done'
  })
}
