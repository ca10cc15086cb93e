import type { CraftCounter } from '../api/rows/craft.ts'
import { parseUsd } from '../base/money.ts'
import type { Price } from '../domain/good.ts'
import { createHoldBook } from '../store/holds.ts'
import { accelerateGood } from '../surfaces/craft/accelerate.ts'
import type { Craft } from '../surfaces/craft/action.ts'
import { burnGood } from '../surfaces/craft/burn.ts'
import { craftConfig } from '../surfaces/craft/config.ts'
import { createController } from '../surfaces/craft/controller.ts'
import { craftSchemas } from '../surfaces/craft/schema.ts'
import type { CounterParts } from './counter.ts'

/** The same for both actions, however large (contract 8.2). */
const PRICE = { kind: 'fixed', amount: parseUsd('0.001') } as const satisfies Price<never>

const NOBODY = '0x000000000000000000000000000000000000dEaD'

export function createCraft(parts: CounterParts): CraftCounter | null {
  const { config, clock, database, chainOf, offersOn, payerProblem } = parts
  const { craft: settings, chain } = config.game
  if (!settings) return null
  const { defaultAmount, maxAmount } = settings
  const { rpc, head, sender } = chainOf(chain)
  const controller = createController(rpc, settings.controller)
  const craft: Craft = {
    controller,
    crafter: sender(settings.crafterKey),
    head,
    holds: createHoldBook(database),
    clock,
    delivery: config.limits.delivery,
    payerProblem,
  }
  const bounds = { nftsMax: config.limits.nftsMax, defaultAmount, maxAmount }
  const burn = burnGood(craft)
  const accelerate = accelerateGood(craft, defaultAmount)
  return {
    burn: offersOn({ good: burn, price: PRICE }),
    accelerate: offersOn({ good: accelerate, price: PRICE }),
    schemas: craftSchemas(bounds),
    config: craftConfig(controller, bounds),
    defaultAmount,
    examples: {
      burn: { user: NOBODY, nfts: [{ contract: NOBODY, tokenId: '7' }] },
      accelerate: { user: NOBODY, amount: defaultAmount.toString() },
    },
  }
}
