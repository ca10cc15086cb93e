import { PLAYERS_PAGE_MAX, presentPlayer } from '../api/operator/player-rows.ts'
import type { JsonObject } from '../base/json.ts'
import { createPlayers } from '../store/game/players.ts'
import { type Command, operatorOptions } from './command.ts'
import { operatorClient, type ShopClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'

type PlayerView = JsonObject & {
  readonly playerId: string
  readonly nickname: string
  readonly level: number
  readonly wallets: readonly string[]
}

const LISTED_MAX = 1_000

export const listPlayers: Command = {
  args: '',
  about:
    "Lists the players of the embedded game and their wallets. With a studio's own backend the players are the studio's business, and\nthe shop keeps none.",
  options: operatorOptions,
  examples: [['sutler players', 'who can receive goods?']],
  async run(call) {
    const players = await readShopOrStore(
      call,
      allOf,
      async (database) => (await createPlayers(database).list(LISTED_MAX)).map(presentPlayer) as PlayerView[],
    )
    const { table, style } = call.terminal
    const rows = players.map(({ nickname, level, wallets }) => [nickname, `level ${level}`, wallets.join(', ')])
    return { json: { players }, text: rows.length === 0 ? style.dim('there are no players') : table(rows) }
  },
}

async function allOf(client: ShopClient): Promise<readonly PlayerView[]> {
  const players: PlayerView[] = []
  for (let next: string | null = ''; next !== null && players.length < LISTED_MAX; ) {
    const cursor: string = next === '' ? '' : `&cursor=${next}`
    const page: { players: PlayerView[]; next: string | null } = await client.get(
      `/operator/players?limit=${PLAYERS_PAGE_MAX}${cursor}`,
    )
    players.push(...page.players)
    next = page.next
  }
  return players
}

export const addPlayer: Command = {
  args: '<nickname> <address>',
  about:
    'Creates a player of the embedded game whose wallet this is; a nickname that exists gets one more wallet. A wallet belongs to one\nplayer at a time.',
  options: operatorOptions,
  examples: [['sutler players add Nell 0x52c7…', 'goods for Nell, or for whoever pays from that wallet']],
  async run(call) {
    const [nickname = '', address = ''] = call.args
    const player = await operatorClient(call).post<PlayerView>('/operator/players', { nickname, address })
    return { json: player, text: `${player.nickname} (${player.playerId}) has ${player.wallets.join(', ')}` }
  },
}
