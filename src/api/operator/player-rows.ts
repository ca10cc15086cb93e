import * as z from 'zod'
import { newId, type Random } from '../../base/id.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { addressField, nicknameField } from '../../domain/fields.ts'
import type { PlayerRow, Players } from '../../store/game/players.ts'
import { type OperatorRoute, operator } from './route.ts'

const LISTED_MAX = 1_000

type PlayerContext = { readonly players: Players; readonly random: Random; readonly nicknameLengthMax: number }

/** Players of the embedded game. A studio's own backend keeps its own. */
export function playerRows({ players, random, nicknameLengthMax }: PlayerContext): readonly OperatorRoute[] {
  return [
    operator('GET /operator/players', {
      role: 'viewer',
      summary: 'Players of the embedded game, oldest first',
      handle: async () => ({ body: { players: (await players.list(LISTED_MAX)).map(presentPlayer) } }),
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
  ]
}

/** The same addresses where the game keeps its own players: whoever asks is told where they are, and not that the address is wrong. */
export function playersElsewhere(): readonly OperatorRoute[] {
  const handle = async (): Promise<never> => {
    throw new Problem('route_not_found', 'Players are kept by the game backend (SUTLER_GAME_BACKEND); ask it for them.')
  }
  return [
    operator('GET /operator/players', { role: 'viewer', summary: 'Players are kept by the game backend', handle }),
    operator('POST /operator/players', { role: 'admin', summary: 'Players are kept by the game backend', handle }),
  ]
}

export function presentPlayer({ playerId, nickname, level, wallets }: PlayerRow): JsonObject {
  return { playerId, nickname, level, wallets: [...wallets] }
}
