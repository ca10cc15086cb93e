import './problems.ts'
import { createAlarm } from '../../base/alarm.ts'
import { parseUsd } from '../../base/money.ts'
import { PLACEHOLDER_ADDRESS } from '../../base/placeholder.ts'
import type { PriceTag } from '../../domain/good.ts'
import type { RailName } from '../../domain/rail.ts'
import { createHoldReader } from '../../store/orders/holds.ts'
import { type OpenSurface, type Surface, type SurfaceParts, toldGood } from '../surface.ts'
import { accelerateGood } from './accelerate.ts'
import { assertReady, assertRole, type Craft, crafterRight, pausedFinding } from './action.ts'
import { burnGood } from './burn.ts'
import { craftConfig } from './config.ts'
import { createController } from './controller.ts'
import { type CraftCounter, craftRows, craftStatusRow } from './rows.ts'
import { type Accelerate, type Burn, craftSchemas } from './schema.ts'
import { presentAccelerate, presentBurn } from './view.ts'

/** The same for both actions, however large (contract 8.2). */
const PRICE = { kind: 'fixed', amount: parseUsd('0.001') } as const satisfies PriceTag<never>

/** About what an action takes. */
const ACTION_GAS = 300_000n

function open(parts: SurfaceParts): OpenSurface | null {
  const { config, clock, log, database, chainOf, offersOn, payerProblem } = parts
  const { craft: settings, chain } = config.game
  if (!settings) return null
  const { defaultAmount, maxAmount } = settings
  const { rpc, head, sender } = chainOf(chain)
  const controller = createController(rpc, settings.controller)
  const craft: Craft = {
    controller,
    crafter: sender(settings.crafterKey),
    head,
    holds: createHoldReader(database),
    clock,
    delivery: config.limits.delivery,
    alarm: createAlarm(log, clock),
    payerProblem,
  }
  const bounds = { nftsMax: config.limits.nftsMax, defaultAmount, maxAmount }
  const burn = burnGood(craft)
  const accelerate = accelerateGood(craft, defaultAmount)
  const counter: CraftCounter = {
    burn: offersOn({ good: burn, price: PRICE }),
    accelerate: offersOn({ good: accelerate, price: PRICE }),
    schemas: craftSchemas(bounds),
    config: craftConfig(controller, bounds),
    defaultAmount,
    examples: {
      burn: { user: PLACEHOLDER_ADDRESS, nfts: [{ contract: PLACEHOLDER_ADDRESS, tokenId: '7' }] },
      accelerate: { user: PLACEHOLDER_ADDRESS, amount: defaultAmount.toString() },
    },
  }
  return {
    rails: [...counter.burn.keys()],
    rows: (context, rail) => craftRows(context, counter, rail),
    async assertSells() {
      const [isPaused] = await Promise.all([
        controller.contract.read('paused', []),
        assertRole(craft),
        assertReady(craft, { gasMax: ACTION_GAS }),
      ])
      const { problem } = pausedFinding(isPaused)
      if (problem) throw problem
    },
    rights: async () => [await crafterRight(craft)],
  }
}

const place = (rail: RailName) => `/craft/${rail}/actions`

/** Actions on a user's own tokens, carried out by the studio's craft controller. */
export const craft: Surface = {
  name: 'craft',
  words: ['NFT burns', 'crafting boosts'],
  title: 'Burning NFTs and speeding up timers',
  hasShelf: false,
  deliveryMs: ({ delivery }) => delivery.craftMs,
  goods({ game }) {
    const amount = game.craft?.defaultAmount ?? DEFAULT_AMOUNT
    return {
      burn: toldGood<Burn>({ present: presentBurn, publish: (view) => presentBurn(view, 'public') }, place),
      accelerate: toldGood<Accelerate>(
        {
          present: (view) => presentAccelerate(view, amount),
          publish: (view) => presentAccelerate(view, amount, 'public'),
        },
        place,
      ),
    }
  },
  keys: ({ game: { chain, craft } }) => (craft ? [{ role: 'crafter', chain, key: craft.crafterKey }] : []),
  statusRow: craftStatusRow,
  open,
}

/** Of purchases that were never planned, where the shop that sold them is gone. */
const DEFAULT_AMOUNT = 10n ** 18n
