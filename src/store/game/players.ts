import type { Address } from '../../base/address.ts'
import { checksumAddress } from '../../base/address.ts'
import type { Place } from '../../base/cursor.ts'
import type { Database } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

/** What deliveries to a test player do: refused for good, late, or failed at first. */
export type Rehearsal = 'refusal' | 'delay' | 'stumble'

export type PlayerRow = {
  readonly playerId: string
  readonly nickname: string
  readonly level: number
  readonly wallets: readonly Address[]
  readonly rehearses: Rehearsal | null
}

type ListedPlayer = { readonly player: PlayerRow; readonly place: Place }

type Belongings = {
  readonly inventory: readonly { readonly itemId: string; readonly name: string; readonly quantity: number }[]
  readonly discounts: readonly { readonly itemId: string; readonly basisPoints: number }[]
}

type PlayerField = 'nickname' | 'address' | 'playerId'

export type Players = {
  find(field: PlayerField, value: string): Promise<PlayerRow | null>
  /** Oldest first. */
  list(limit: number): Promise<readonly PlayerRow[]>
  /** A page of them, oldest first. */
  page(after: Place | null, limit: number): Promise<readonly ListedPlayer[]>
  /** By wallet or id, or by how the nickname begins, in whatever case. */
  search(text: string, limit: number): Promise<readonly PlayerRow[]>
  /** What a player was given, and what they pay less for. */
  belongings(playerId: string): Promise<Belongings>
  /** Takes a wallet from a player; false when it is not theirs. What they have stays. */
  unlink(playerId: string, address: Address, doer: Doer): Promise<boolean>
  /** Makes the player unless the nickname is known, and links the wallet to that player, whoever had it before. */
  link(player: NewPlayer, doer?: Doer): Promise<PlayerRow>
}

type NewPlayer = { readonly playerId: string; readonly nickname: string; readonly address: Address }

type Row = {
  id: string
  nickname: string
  level: number
  rehearses: Rehearsal | null
  wallets: readonly string[]
}

const SELECT = `
  select p.id, p.nickname, p.level, p.rehearses,
         array(select w.address from player_wallets w where w.player_id = p.id order by w.linked_at, w.address) as wallets
  from players p`

const FIND: Readonly<Record<PlayerField, ReturnType<typeof statement<Row>>>> = {
  playerId: statement<Row>(`${SELECT} where p.id = $1`),
  nickname: statement<Row>(`${SELECT} where p.nickname = $1`),
  address: statement<Row>(`${SELECT} where p.id = (select player_id from player_wallets where address = $1)`),
}

const LIST = statement<Row>(`${SELECT} order by p.created_at, p.id limit $1`)

const PAGE = statement<Row & { micros: string }>(`
  select listed.*, array(select w.address from player_wallets w where w.player_id = listed.id order by w.linked_at, w.address) as wallets
  from (
    select id, nickname, level, rehearses, (extract(epoch from created_at) * 1000000)::bigint::text as micros
    from players
    where (created_at, id) > (timestamptz 'epoch' + $1::bigint * interval '1 microsecond', $2::text)
    order by created_at, id
    limit $3
  ) as listed
  order by listed.micros::bigint, listed.id`)

const SEARCH = statement<Row>(`${SELECT}
  where p.id in (
    (select player_id from player_wallets where address = lower($1))
    union
    (select id from players where id = $1)
    union
    (select id from players where lower(nickname) like lower($2) || '%' order by lower(nickname) limit $3))
  order by lower(p.nickname), p.id
  limit $3`)

const BEGINNING: Place = { micros: '0', id: '' }

const INVENTORY = statement<{ item_id: string; name: string; quantity: string }>(`
  select l.item_id, i.name, sum(l.quantity) as quantity
  from inventory_ledger l
  join items i on i.id = l.item_id
  where l.player_id = $1
  group by l.item_id, i.name
  order by l.item_id
  limit 1000`)

const DISCOUNTS = statement<{ item_id: string; basis_points: number }>(`
  select item_id, basis_points
  from discounts
  where player_id = $1
  order by item_id
  limit 1000`)

const UNLINK = statement(`
  delete from player_wallets
  where address = $1
    and player_id = $2`)

const ADD = statement(`
  insert into players (id, nickname)
  values ($1, $2)
  on conflict (nickname) do nothing`)

const LINK = statement(`
  insert into player_wallets (address, player_id)
  select $1, id
  from players
  where nickname = $2
  on conflict (address) do update
  set player_id = excluded.player_id,
      linked_at = now()`)

export function createPlayers(db: Database): Players {
  return {
    async find(field, value) {
      const { rows } = await db.query(FIND[field], [canonicalFor(field, value)])
      return rows[0] ? fromRow(rows[0]) : null
    },
    async list(limit) {
      const { rows } = await db.query(LIST, [limit])
      return rows.map(fromRow)
    },
    async page(after, limit) {
      const { micros, id } = after ?? BEGINNING
      const { rows } = await db.query(PAGE, [micros, id, limit])
      return rows.map(({ micros, ...row }) => ({ player: fromRow(row), place: { micros, id: row.id } }))
    },
    async search(text, limit) {
      const name = canonicalNickname(text)
      const { rows } = await db.query(SEARCH, [name, name.replaceAll(/[\\%_]/g, '\\$&'), limit])
      return rows.map(fromRow)
    },
    async belongings(playerId) {
      const [inventory, discounts] = await Promise.all([
        db.query(INVENTORY, [playerId]),
        db.query(DISCOUNTS, [playerId]),
      ])
      return {
        inventory: inventory.rows.map((row) => ({
          itemId: row.item_id,
          name: row.name,
          quantity: Number(row.quantity),
        })),
        discounts: discounts.rows.map((row) => ({ itemId: row.item_id, basisPoints: row.basis_points })),
      }
    },
    async unlink(playerId, address, doer) {
      return db.transaction(async (tx) => {
        const { rowCount } = await tx.query(UNLINK, [address.toLowerCase(), playerId])
        if (rowCount !== 1) return false
        const about = { kind: 'wallet', id: address }
        await recordDeeds(tx, doer, [{ deed: 'player.unlinked', about, before: { playerId }, after: null }])
        return true
      })
    },
    async link({ playerId, nickname, address }, doer) {
      const name = canonicalNickname(nickname)
      return db.transaction(async (tx) => {
        const holder = (await tx.query(FIND.address, [address.toLowerCase()])).rows[0]
        await tx.query(ADD, [playerId, name])
        await tx.query(LINK, [address.toLowerCase(), name])
        const player = fromRow((await tx.query(FIND.nickname, [name])).rows[0]!)
        const before = holder ? { playerId: holder.id } : null
        const after = { playerId: player.playerId, nickname: name }
        if (doer)
          await recordDeeds(tx, doer, [
            { deed: 'player.linked', about: { kind: 'wallet', id: address }, before, after },
          ])
        return player
      })
    },
  }
}

/** The same letters may be typed in two ways (a letter with its accent, or both apart); they are one name. Nothing else is folded. */
export function canonicalNickname(nickname: string): string {
  return nickname.normalize('NFC')
}

function canonicalFor(field: PlayerField, value: string): string {
  if (field === 'nickname') return canonicalNickname(value)
  return field === 'address' ? value.toLowerCase() : value
}

function fromRow({ id, nickname, level, rehearses, wallets }: Row): PlayerRow {
  return { playerId: id, nickname, level, rehearses, wallets: wallets.map(checksumAddress) }
}
