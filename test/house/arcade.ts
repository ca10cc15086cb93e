import * as z from 'zod'
import { formatUsd, parseUsd, times, type Usd } from '../../src/base/money.ts'
import { declareProblems, Problem } from '../../src/base/problem.ts'
import { FIX_STATE, fixState, type ProblemKind } from '../../src/base/problem-kind.ts'
import type { Good, Price } from '../../src/domain/good.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../src/domain/offer.ts'
import { publicFields, purchaseFields } from '../../src/domain/purchase-fields.ts'
import { quote, quoteSchema } from '../../src/domain/quote.ts'
import { free, paid, referenceParams, STATUS_ANSWERS } from '../../src/domain/route.ts'
import { type Surface, toldGood } from '../../src/surfaces/surface.ts'

// A family of goods that nothing under src/ knows: tickets at a fixed price, and rides that cost as much as their seats.

const own = declareProblems({
  ride_closed: { status: 409, title: 'The ride is closed', ...fixState, advice: FIX_STATE },
} as const)

declare module '../../src/base/problem.ts' {
  interface DeclaredProblems extends Record<keyof typeof own, ProblemKind> {}
}

type Ride = { readonly ride: string; readonly seats: number }

const rides: Readonly<Record<string, { readonly name: string; readonly seat: Usd; readonly isOpen: boolean }>> = {
  comet: { name: 'The Comet', seat: parseUsd('0.40'), isOpen: true },
  ghosts: { name: 'Ghost Train', seat: parseUsd('0.30'), isOpen: false },
}

function rideOf({ ride }: Ride): { readonly name: string; readonly seat: Usd } {
  const found = rides[ride]
  if (!found?.isOpen) throw new Problem('ride_closed', `The ride ${ride} is closed; nothing was taken.`)
  return found
}

const checked = { findings: [], plan: {}, holds: [] }

const rideGood: Good<Ride> = {
  name: 'arcadeRide',
  surface: 'arcade',
  subject: 'order',
  async check(input) {
    rideOf(input)
    return checked
  },
  deliver: async ({ ride, seats }, _plan, { orderId }) => ({
    state: 'delivered',
    result: { seats: Array.from({ length: seats }, (_, seat) => `${ride}/${orderId}/${seat}`) },
  }),
}

const ridePrice: Price<Ride> = {
  kind: 'live',
  of: async (input) => times(rideOf(input).seat, input.seats),
  range: async () => ({ lowest: rides['comet']!.seat, highest: rides['comet']!.seat }),
}

const ticketGood: Good<Record<string, never>> = {
  name: 'arcadeTicket',
  surface: 'arcade',
  subject: 'order',
  check: async () => checked,
  deliver: async (_input, _plan, { orderId }) => ({ state: 'delivered', result: { seats: [`ticket/${orderId}`] } }),
}

const purchase = z
  .object({ ...purchaseFields, seats: z.array(z.string()) })
  .meta({ id: 'ArcadePurchase', description: 'A ride, or a ticket for one' })
const status = purchase.extend(publicFields).meta({ id: 'ArcadeStatus', description: 'How far it is' })
const body = z.strictObject({ ride: z.string().min(1).max(40), seats: z.int().min(1).max(10) })
const example = { ride: 'comet', seats: 1 }

const seatsOf = ({ result }: PurchaseView<unknown>) => ({ seats: (result?.['seats'] ?? []) as string[] })
const told = toldGood<Ride>(
  {
    present: (view) => ({ ...commonMembers(view), ...seatsOf(view) }),
    publish: (view) => ({ ...publicMembers(view), ...seatsOf(view) }),
  },
  (rail) => `/arcade/${rail}/purchases`,
)

export const arcade: Surface = {
  name: 'arcade',
  words: ['rides'],
  title: 'Rides and tickets',
  hasShelf: true,
  deliveryMs: () => 60_000,
  goods: () => ({ arcadeRide: told, arcadeTicket: told }),
  statusRow: (context, rail) =>
    free(`GET /arcade/${rail}/purchases/{paymentTx}`, {
      surface: 'arcade',
      host: context.hostOf(rail),
      summary: 'Status of a ride',
      params: referenceParams,
      statuses: STATUS_ANSWERS,
      result: status,
      handle: ({ params }) => context.purchaseStatus('arcade', rail, params.paymentTx),
    }),
  open({ offersOn }) {
    const rideOffers = offersOn({ good: rideGood, price: ridePrice })
    const ticketOffers = offersOn({ good: ticketGood, price: { kind: 'fixed', amount: parseUsd('0.05') } })
    return {
      rails: [...rideOffers.keys()],
      rows(context, rail) {
        const ride = rideOffers.get(rail)!
        const buyUrl = context.urlOf(rail, `/arcade/${rail}/buy`)
        return [
          paid(`POST /arcade/${rail}/buy`, {
            surface: 'arcade',
            offer: ride,
            body,
            example,
            result: purchase,
            hasPriceProbe: true,
            tools: [
              { name: 'buy_ride', title: 'Buy a ride', description: 'PAID. Buys seats on a ride.', effect: 'spends' },
            ],
            summary: 'Buy seats on a ride',
            description: 'Pays for seats on a ride.',
          }),
          paid(`POST /arcade/${rail}/ticket`, {
            surface: 'arcade',
            offer: ticketOffers.get(rail)!,
            body: null,
            example: {},
            result: purchase,
            tools: [
              { name: 'buy_ticket', title: 'Buy a ticket', description: 'PAID. Buys a ticket.', effect: 'spends' },
            ],
            summary: 'Buy a ticket',
            description: 'Pays for a ticket.',
          }),
          free(`POST /arcade/${rail}/quote`, {
            surface: 'arcade',
            host: context.hostOf(rail),
            summary: 'Check a ride before paying',
            bucket: 'quote',
            body,
            example,
            result: quoteSchema,
            tools: [
              { name: 'quote_ride', title: 'Quote a ride', description: 'Free. Checks a ride.', effect: 'reads' },
            ],
            handle: ({ body }) => quote(ride, body, buyUrl),
          }),
          arcade.statusRow(context, rail)!,
        ]
      },
      shelf: {
        surface: 'arcade',
        listing: { summary: 'Rides', path: (rail) => `/arcade/${rail}/offers` },
        isInEntry: () => true,
        isPersonal: false,
        items: async (currency) =>
          Object.entries(rides).map(([id, { name, seat, isOpen }]) => ({
            id,
            displayName: name,
            description: 'A ride.',
            price: { amount: formatUsd(seat), currency },
            available: isOpen,
          })),
      },
    }
  },
}
