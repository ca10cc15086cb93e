import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { cursorOf, placeOf } from '../../base/cursor.ts'
import { newId, type Random } from '../../base/id.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { addressField, nicknameField } from '../../domain/fields.ts'
import type { PlayerRow, Players } from '../../store/game/players.ts'
import type { OrderListing } from './order-query.ts'
import { listedOrder } from './order-view.ts'
import { type OperatorRoute, operator } from './route.ts'
import { formatField, isTableAsked, TABLE_PAGE, TABLE_TYPE, tableOf } from './table.ts'

const LIMIT = 50
export const PLAYERS_PAGE_MAX = 500
const PURCHASES_MAX = 20

type PlayerContext = {
  readonly players: Players
  readonly random: Random
  readonly nicknameLengthMax: number
  readonly listing: Pick<OrderListing, 'list' | 'naming' | 'now'>
}

const playerQuery = z.strictObject({
  q: z.string().trim().min(1).max(128).optional().describe('A wallet, an id, or how the nickname begins'),
  cursor: z.string().min(1).max(200).optional().describe('`next` of the page before; not with q'),
  limit: z.coerce.number().int().min(1).max(PLAYERS_PAGE_MAX).default(LIMIT),
  format: formatField,
})

/** Oldest first; what is looked for comes by name, and only the first so many of it. */
async function playerPage(players: Players, { q, cursor, limit }: z.output<typeof playerQuery>) {
  if (q !== undefined) return { players: (await players.search(q, limit)).map(presentPlayer), next: null }
  const found = await players.page(cursor === undefined ? null : placeOf(cursor), limit + 1)
  const shown = found.slice(0, limit)
  const last = shown.at(-1)
  return {
    players: shown.map(({ player }) => presentPlayer(player)),
    next: found.length > limit && last ? cursorOf(last.place) : null,
  }
}

const COLUMNS = ['playerId', 'nickname', 'level', 'wallets']

function playerTable(players: Players, query: z.output<typeof playerQuery>): Promise<AsyncGenerator<string>> {
  return tableOf(
    COLUMNS,
    async (cursor) => {
      const page = await playerPage(players, { ...query, cursor, limit: TABLE_PAGE })
      const rows = page.players.map((player) => ({ ...player, wallets: (player['wallets'] as string[]).join(' ') }))
      return { rows, next: page.next }
    },
    query.cursor,
  )
}

/** Players of the embedded game. A studio's own backend keeps its own. */
export function playerRows(context: PlayerContext): readonly OperatorRoute[] {
  const { players, random, nicknameLengthMax, listing } = context
  const one = z.strictObject({ id: z.string().min(1).max(64) })
  return [
    operator('GET /operator/players', {
      role: 'viewer',
      summary:
        'Players of the embedded game, oldest first, or those whose name begins so; as a page, or all of them with Accept: text/csv',
      query: playerQuery,
      handle: async ({ query, header }) => {
        if (isTableAsked({ query, header })) return { body: await playerTable(players, query), contentType: TABLE_TYPE }
        const asOf = isoTime(listing.now())
        return { body: { ...(await playerPage(players, query)), asOf } }
      },
    }),
    operator('GET /operator/players/{id}', {
      role: 'viewer',
      summary: 'One player: wallets, level, what they have, what they pay less for, and what was bought for them last',
      params: one,
      handle: async ({ params }) => ({ body: await presentWhole(context, await known(players, params.id)) }),
    }),
    operator('POST /operator/players', {
      role: 'admin',
      summary: 'Create a player, or link one more wallet to a player',
      body: z.strictObject({ nickname: nicknameField(nicknameLengthMax), address: addressField }),
      handle: async ({ body, doer }) => {
        const player = await players.link({ playerId: newId('ply', random), ...body }, doer)
        return { status: 201, body: presentPlayer(player) }
      },
    }),
    operator('DELETE /operator/players/{id}/wallets/{address}', {
      role: 'admin',
      summary: 'Take a wallet from a player; what they have stays theirs',
      params: one.extend({ address: addressField }),
      handle: async ({ params, doer }) => {
        const player = await known(players, params.id)
        const did = (await players.unlink(player.playerId, params.address, doer)) ? 'unlinked' : 'nothing'
        return { body: { did, ...presentPlayer(await known(players, player.playerId)) } }
      },
    }),
  ]
}

async function known(players: Players, id: string): Promise<PlayerRow> {
  const player = (await players.find('playerId', id)) ?? (await players.find('nickname', id))
  if (!player) throw new Problem('recipient_not_found', `There is no player ${id.slice(0, 64)}.`)
  return player
}

async function presentWhole({ players, listing }: PlayerContext, player: PlayerRow): Promise<JsonObject> {
  const { playerId, nickname, wallets } = player
  const names = [nickname, ...wallets]
  const [{ inventory, discounts }, ...lists] = await Promise.all([
    players.belongings(playerId),
    ...names.map((name) => listing.list({ player: name, limit: PURCHASES_MAX })),
  ])
  const orders = [...new Map(lists.flat().map(({ order }) => [order.id, order])).values()]
    .toSorted((a, b) => b.createdAt - a.createdAt)
    .slice(0, PURCHASES_MAX)
  const naming = await listing.naming(orders)
  return {
    ...presentPlayer(player),
    inventory: inventory.map((one) => ({ ...one })),
    discounts: discounts.map(({ itemId, basisPoints }) => ({ itemId, percent: basisPoints / 100 })),
    purchases: orders.map((order) => listedOrder(order, naming)),
    asOf: isoTime(listing.now()),
  }
}

/** The same addresses where the game keeps its own players: whoever asks is told where they are, and not that the address is wrong. */
export function playersElsewhere(): readonly OperatorRoute[] {
  const handle = async (): Promise<never> => {
    throw new Problem('route_not_found', 'Players are kept by the game backend (SUTLER_GAME_BACKEND); ask it for them.')
  }
  const summary = 'Players are kept by the game backend'
  return [
    operator('GET /operator/players', { role: 'viewer', summary, handle }),
    operator('GET /operator/players/{id}', { role: 'viewer', summary, handle }),
    operator('POST /operator/players', { role: 'admin', summary, handle }),
  ]
}

export function presentPlayer({ playerId, nickname, level, wallets }: PlayerRow): JsonObject {
  return { playerId, nickname, level, wallets: [...wallets] }
}
