import * as z from 'zod'
import { parseUsd, type Usd } from '../../base/money.ts'
import { addressField } from '../../domain/fields.ts'
import { pictureField } from '../../domain/shelf-fields.ts'
import type { Item, PersonalOffer } from './game.ts'
import { SHOWN_BEFORE_IDS } from './schema.ts'

// What a studio's backend answers (docs/game-backend.md). Unknown members are let pass: a backend may say more than we ask.

const id = z.string().min(1).max(128)
const count = z.int().min(0)
const text = z.string().max(1000)

const price = z.string().transform((value, context): Usd => {
  try {
    return parseUsd(value)
  } catch {
    context.addIssue({ code: 'custom', message: 'is not an amount of dollars', input: value })
    return z.NEVER
  }
})

const item = z
  .object({
    id: id.refine((value) => !value.startsWith(SHOWN_BEFORE_IDS), {
      message: `begins with ${SHOWN_BEFORE_IDS}, which catalogs put in front of ids`,
    }),
    name: text,
    description: text,
    price,
    stock: z.object({ left: count, delivered: count }).nullable(),
    limitPerPlayer: z.int().min(1).nullable(),
    picture: pictureField.nullable().default(null),
  })
  .transform(({ price: listPrice, ...rest }): Item => ({ ...rest, listPrice, notNow: null }))

const ITEMS_MAX = 2_000

export const healthAnswer = z.object({ ok: z.literal(true) })

export const itemsAnswer = z.object({ items: z.array(item).max(ITEMS_MAX) })

export const playerAnswer = z.object({
  player: z
    .object({
      playerId: id,
      nickname: z.string().min(1).max(256),
      level: count,
      wallets: z.array(addressField).max(100),
    })
    .nullable(),
})

export const offersAnswer = z.object({
  playerId: id,
  offers: z
    .array(z.object({ item, price, limitLeft: count.nullable(), refusal: text.nullable() }))
    .max(ITEMS_MAX)
    .transform((offers): readonly PersonalOffer[] => offers),
})

const order = { orderId: id }

/** The word of a backend on one delivery; to `POST /deliveries` only the first three are answers. */
export const deliveryAnswer = z.discriminatedUnion('state', [
  z.object({
    state: z.literal('delivered'),
    ...order,
    playerId: id,
    itemId: id,
    quantity: z.int().min(1),
    reference: id,
    deliveredAt: z.iso.datetime().transform((value) => Date.parse(value)),
  }),
  z.object({ state: z.literal('pending'), ...order }),
  z.object({ state: z.literal('refused'), ...order, reason: text }),
  z.object({ state: z.literal('not_received'), ...order }),
  z.object({ state: z.literal('unknown'), ...order }),
])

export type DeliveryAnswer = z.output<typeof deliveryAnswer>
