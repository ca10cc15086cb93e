import { sameAddress } from '../../base/address.ts'
import { cachedRead } from '../../base/cached-read.ts'
import type { GameBackend, Item, Player, PlayerKey } from './game.ts'
import { GameSilent } from './game-client.ts'
import { deliverByGame, type HttpGameOptions } from './game-delivery.ts'
import { deliveryAnswer, healthAnswer, itemsAnswer, offersAnswer, playerAnswer } from './game-wire.ts'

/** Listings may be this old; purchases never read them. */
const ITEMS_MS = 2_000

/** A studio's own service, over HTTP. */
export function httpGame(options: HttpGameOptions): GameBackend {
  const { client, clock } = options

  async function readItems(): Promise<readonly Item[]> {
    return (await client.read({ method: 'GET', path: '/items' }, itemsAnswer)).items
  }

  return {
    async assertReady() {
      await client.read({ method: 'GET', path: '/health' }, healthAnswer)
    },

    items: cachedRead(clock, ITEMS_MS, readItems),

    async findPlayer(key) {
      const body = { [key.kind]: key.value }
      const { player } = await client.read({ method: 'POST', path: '/players/find', body }, playerAnswer)
      if (player && !fits(player, key)) throw new GameSilent(new Error('another player than was asked for'))
      return player
    },

    async offersFor(playerId, itemId) {
      const body = itemId === null ? { playerId } : { playerId, itemId }
      const answer = await client.read({ method: 'POST', path: '/offers', body }, offersAnswer)
      if (answer.playerId !== playerId) throw new GameSilent(new Error('another player than was asked for'))
      return itemId === null ? answer.offers : answer.offers.filter(({ item }) => item.id === itemId)
    },

    async recall(orderId) {
      const path = `/deliveries/${encodeURIComponent(orderId)}`
      const answer = await client.read({ method: 'GET', path }, deliveryAnswer)
      return answer.state === 'delivered' && answer.orderId === orderId ? { playerId: answer.playerId } : null
    },

    deliver: (delivery) => deliverByGame(options, delivery),
  }
}

/** A wallet's player must have that wallet. How a nickname is spelt is the game's own affair. */
function fits(player: Player, { kind, value }: PlayerKey): boolean {
  if (kind === 'address') return player.wallets.some((wallet) => sameAddress(wallet, value))
  return kind === 'nickname' || player.playerId === value
}
