import type { Clock } from '../base/clock.ts'
import type { RailName } from '../domain/rail.ts'
import type { AskedPrice } from '../rails/client.ts'
import { clients } from '../rails/clients.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { CommandRefusal } from './command.ts'

/** What a payment goes through, as it happens. */
export type WatchedStep =
  | { readonly kind: 'challenge'; readonly price: WatchedPrice }
  /** `reference` is what the shop knows the payment by, even if its answer never comes: `/payments/{reference}`. */
  | { readonly kind: 'payment'; readonly rail: RailName; readonly reference: string }
  /** The answer was lost; the same payment is presented again, which is safe: it cannot be taken twice. */
  | { readonly kind: 'resend' }
  | { readonly kind: 'settlement'; readonly transaction: string }

export type WatchedPrice = AskedPrice & { readonly currency: string }

const RESENDS_MAX = 3
const RESEND_MS = 1_000

/**
 * A `fetch` to put under a stock client: it tells what passes by. It changes nothing, but for one thing that clients leave to their users:
 * a request that carries a payment and gets no answer is sent again as it was, instead of being paid for once more.
 */
export function watchedFetch(onStep: (step: WatchedStep) => void, clock: Clock): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const { method, url, headers } = request
    const body = method === 'GET' ? {} : { body: await request.text() }
    const payment = paymentOf(headers)
    if (payment) onStep({ kind: 'payment', ...payment })
    for (let sent = 1; ; sent++) {
      try {
        const response = await boundedFetch(url, { method, headers, ...body })
        report(response, onStep)
        return response
      } catch (error) {
        if (!payment || error instanceof CommandRefusal || sent > RESENDS_MAX) throw error
        onStep({ kind: 'resend' })
        await clock.sleep(RESEND_MS * sent)
      }
    }
  }
}

function paymentOf(headers: Headers): { readonly rail: RailName; readonly reference: string } | null {
  const [payment = null] = clients.flatMap(({ name: rail, referenceIn }) => {
    const reference = referenceIn(headers)
    return reference === null ? [] : [{ rail, reference }]
  })
  return payment
}

function report(response: Response, onStep: (step: WatchedStep) => void): void {
  const [price] = response.status === 402 ? pricesOf(response) : []
  if (price) onStep({ kind: 'challenge', price })
  const transaction = clients.map(({ settlementIn }) => settlementIn(response)).find((found) => found !== null)
  if (transaction !== undefined) onStep({ kind: 'settlement', transaction })
}

/** What a 402 asks for, one for each rail that it may be paid on. An amount is worth something only in a money that we know. */
export function pricesOf(response: Response): readonly WatchedPrice[] {
  return clients.flatMap(({ priceIn }) => {
    const price = priceIn(response)
    if (price === null) return []
    const { asset, network, currency } = price
    if (currency !== null) return [{ ...price, currency }]
    const detail = `it asks for ${asset} on ${network}, which Sutler does not know; nothing was paid`
    throw new CommandRefusal('unknown_money', detail)
  })
}
