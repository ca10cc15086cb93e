import type { ShopCounter } from '../api/rows/shop.ts'
import { parseUsd } from '../base/money.ts'
import { createGameCalls } from '../store/game-calls.ts'
import { createHoldBook } from '../store/holds.ts'
import { createItems } from '../store/items.ts'
import { createPlayers } from '../store/players.ts'
import { embeddedGame } from '../surfaces/shop/embedded-game.ts'
import type { GameBackend } from '../surfaces/shop/game.ts'
import { createGameClient } from '../surfaces/shop/game-client.ts'
import { httpGame } from '../surfaces/shop/http-game.ts'
import { shopItem, shopPrice } from '../surfaces/shop/item.ts'
import { playerLookup } from '../surfaces/shop/lookup.ts'
import { listingFields, shopBuyFields } from '../surfaces/shop/schema.ts'
import { shopShelf } from '../surfaces/shop/view.ts'
import type { CounterParts } from './counter.ts'

/** Contract 8.4. */
const LOOKUP_PRICE = parseUsd('0.02')

export function createShop(parts: CounterParts): ShopCounter {
  const { config, clock, database, offersOn, payerProblem } = parts
  const { gameMs } = config.limits.delivery
  const game = createGame(parts)
  const item = shopItem({ game, holds: createHoldBook(database), gameMs, payerProblem })
  const price = shopPrice(game)
  const lookup = playerLookup({ game, clock, gameMs, payerProblem })
  return {
    offers: offersOn({ good: item, price }),
    lookup: offersOn({ good: lookup, price: { kind: 'fixed', amount: LOOKUP_PRICE } }, ['mpp']),
    fields: (rail) => shopBuyFields(config.limits, rail),
    listingFields: listingFields(config.limits),
    shelf: shopShelf(game),
    example: { itemId: 'keys:5', quantity: 1, nickname: 'Demo' },
  }
}

/** Room after the last moment at which a request could still wait for a test player's late delivery. */
const REHEARSED_DELAY_MS = 2_000

function createGame({ config, clock, log, database, waypoint }: CounterParts): GameBackend {
  const { limits, game } = config
  if (game.backend.kind === 'embedded')
    return embeddedGame({
      players: createPlayers(database),
      items: createItems(database),
      clock,
      waypoint,
      rehearsedDelayMs: limits.waitMsMax + REHEARSED_DELAY_MS,
    })
  const { url, secret } = game.backend
  return httpGame({
    client: createGameClient({ url, secret, timeoutMs: limits.gameTimeoutMs, clock }),
    calls: createGameCalls(database),
    clock,
    log,
    waypoint,
    requestLifeMs: limits.gameRequestLifeMs,
    retryMs: limits.delivery.retryMs,
  })
}
