import type { Address } from '../../base/address.ts'
import { stringify } from '../../base/json.ts'
import { parseUsd } from '../../base/money.ts'
import type { Database } from '../db.ts'
import { statement } from '../statement.ts'
import type { Rehearsal } from './players.ts'

export type SeedItem = {
  readonly id: string
  readonly name: string
  readonly description: string
  /** Dollars. */
  readonly price: string
  readonly stock: number | null
  readonly limitPerPlayer: number | null
  readonly levelMin: number
}

export type SeedPlayer = {
  readonly nickname: string
  readonly level: number
  readonly rehearses?: Rehearsal
  readonly discounts?: readonly { readonly itemId: string; readonly basisPoints: number }[]
}

export type SeededPlayer = SeedPlayer & { readonly playerId: string; readonly address: Address }

// Existing rows are left alone, so that a restart neither fills a shelf again nor takes a wallet back.
const SEED_ITEMS = statement(`
  insert into items (id, name, description, price, stock, limit_per_player, level_min, position)
  select id, name, description, price, stock, "limitPerPlayer", "levelMin", position
  from jsonb_to_recordset($1::jsonb) as s (
    id text, name text, description text, price numeric, stock bigint, "limitPerPlayer" integer, "levelMin" integer, position integer)
  on conflict (id) do nothing`)

const SEED_PLAYERS = statement(`
  insert into players (id, nickname, level, rehearses)
  select "playerId", nickname, level, rehearses
  from jsonb_to_recordset($1::jsonb) as s ("playerId" text, nickname text, level integer, rehearses text)
  on conflict do nothing`)

const SEED_WALLETS = statement(`
  insert into player_wallets (address, player_id)
  select lower(address), "playerId"
  from jsonb_to_recordset($1::jsonb) as s (address text, "playerId" text)
  join players p on p.id = s."playerId"
  on conflict (address) do nothing`)

const SEED_DISCOUNTS = statement(`
  insert into discounts (player_id, item_id, basis_points)
  select "playerId", "itemId", "basisPoints"
  from jsonb_to_recordset($1::jsonb) as s ("playerId" text, "itemId" text, "basisPoints" integer)
  join players p on p.id = s."playerId"
  on conflict (player_id, item_id) do nothing`)

/** Fills the embedded game, all or nothing. May run at every start, and in several processes at once. */
export async function seedGame(
  db: Database,
  seed: { readonly items: readonly SeedItem[]; readonly players: readonly SeededPlayer[] },
): Promise<void> {
  const items = seed.items.map((item, position) => ({ ...item, price: parseUsd(item.price), position }))
  const discounts = seed.players.flatMap(({ playerId, discounts = [] }) =>
    discounts.map((discount) => ({ playerId, ...discount })),
  )
  await db.transaction(async (tx) => {
    await tx.query(SEED_ITEMS, [stringify(items)])
    await tx.query(SEED_PLAYERS, [stringify(seed.players)])
    await tx.query(SEED_WALLETS, [stringify(seed.players)])
    await tx.query(SEED_DISCOUNTS, [stringify(discounts)])
  })
}
