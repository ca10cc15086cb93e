import './problems.ts'
import { parseUsd } from '../../base/money.ts'
import type { RailName } from '../../domain/rail.ts'
import { createGameCalls } from '../../store/game/calls.ts'
import { createItems } from '../../store/game/items.ts'
import { createPlayers } from '../../store/game/players.ts'
import { createHoldReader } from '../../store/orders/holds.ts'
import { type OpenSurface, type Surface, type SurfaceParts, toldGood } from '../surface.ts'
import { embeddedGame } from './embedded-game.ts'
import type { GameBackend } from './game.ts'
import { createGameClient } from './game-client.ts'
import { httpGame } from './http-game.ts'
import { shopItem, shopPrice } from './item.ts'
import { playerLookup, presentLookup, publishLookup } from './lookup.ts'
import { type ShopCounter, shopRows, shopStatusRow } from './rows.ts'
import { shopBuyFields } from './schema.ts'
import { presentItem, publishItem, shopShelf } from './view.ts'

/** Contract 8.4. */
const LOOKUP_PRICE = parseUsd('0.02')

function open(parts: SurfaceParts): OpenSurface {
  const { config, clock, database, offersOn, payerProblem } = parts
  const { gameMs } = config.limits.delivery
  const { examples } = config.game
  const game = createGame(parts)
  const item = shopItem({ game, holds: createHoldReader(database), gameMs, payerProblem })
  const price = shopPrice(game)
  const lookup = playerLookup({ game, clock, gameMs, payerProblem })
  const counter: ShopCounter = {
    offers: offersOn({ good: item, price }),
    lookup: offersOn(
      { good: lookup, price: { kind: 'fixed', amount: LOOKUP_PRICE } },
      (rail) => rail.privileges.servesPayer,
    ),
    fields: (kinds) => shopBuyFields(config.limits, kinds),
    example: { itemId: examples.itemId, quantity: 1, nickname: examples.nickname },
  }
  return {
    rails: [...counter.offers.keys()],
    rows: (context, rail) => shopRows(context, counter, rail),
    shelf: shopShelf(game),
    needsGame: config.game.backend.kind === 'http',
    assertSells: () => game.assertReady(),
  }
}

/** Items of a game, for a player. */
export const shop: Surface = {
  name: 'shop',
  words: ['in-game items'],
  title: 'In-game items',
  hasShelf: true,
  suitsAnybody: true,
  deliveryMs: ({ delivery }) => delivery.gameMs,
  goods: () => ({
    shopItem: toldGood({ present: presentItem, publish: publishItem }, place),
    playerLookup: toldGood({ present: presentLookup, publish: publishLookup }, place),
  }),
  statusRow: (context, rail) => shopStatusRow(context, rail, true),
  open,
}

const place = (rail: RailName) => `/shop/${rail}/purchases`

/** Room after the last moment at which a request could still wait for a test player's late delivery. */
const REHEARSED_DELAY_MS = 2_000

function createGame({ config, clock, log, database, waypoint, exchange }: SurfaceParts): GameBackend {
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
    client: createGameClient({ url, secret, timeoutMs: limits.gameTimeoutMs, clock, exchange }),
    calls: createGameCalls(database),
    clock,
    log,
    waypoint,
    requestLifeMs: limits.gameRequestLifeMs,
    retryMs: limits.delivery.retryMs,
  })
}
