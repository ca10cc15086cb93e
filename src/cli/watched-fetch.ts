import { decodePaymentRequiredHeader, decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { Challenge, Credential, Receipt } from 'mppx'
import { sameAddress } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { type Usd, usd } from '../base/money.ts'
import { mppNetworks, x402Networks } from '../config/networks.ts'
import type { RailName } from '../domain/rail.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { Refusal } from './command.ts'

/** What a payment goes through, as it happens. */
export type Step =
  | { readonly kind: 'challenge'; readonly price: Price }
  /** `reference` is what the shop knows the payment by, even if its answer never comes: `/payments/{reference}`. */
  | { readonly kind: 'payment'; readonly rail: RailName; readonly reference: string }
  /** The answer was lost; the same payment is presented again, which is safe: it cannot be taken twice. */
  | { readonly kind: 'resend' }
  | { readonly kind: 'settlement'; readonly transaction: string }

export type Price = {
  readonly rail: RailName
  readonly amount: Usd
  readonly currency: string
  readonly network: string
  readonly payTo: string
}

const RESENDS_MAX = 3
const RESEND_MS = 1_000

/**
 * A `fetch` to put under a stock client: it tells what passes by. It changes nothing, but for one thing that clients leave to their users:
 * a request that carries a payment and gets no answer is sent again as it was, instead of being paid for once more.
 */
export function watchedFetch(onStep: (step: Step) => void, clock: Clock): typeof fetch {
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
        if (!payment || error instanceof Refusal || sent > RESENDS_MAX) throw error
        onStep({ kind: 'resend' })
        await clock.sleep(RESEND_MS * sent)
      }
    }
  }
}

function paymentOf(headers: Headers): { readonly rail: RailName; readonly reference: string } | null {
  const signature = headers.get('payment-signature')
  if (signature !== null) {
    const { payload } = decodePaymentSignatureHeader(signature)
    const { nonce } = payload['authorization'] as { readonly nonce: string }
    return { rail: 'x402', reference: nonce }
  }
  const authorization = headers.get('authorization') ?? ''
  if (!/^Payment\s/i.test(authorization)) return null
  return { rail: 'mpp', reference: Credential.deserialize(authorization).challenge.id }
}

function report(response: Response, onStep: (step: Step) => void): void {
  const [price] = response.status === 402 ? pricesOf(response) : []
  if (price) onStep({ kind: 'challenge', price })
  const transaction = settlementOf(response)
  if (transaction !== null) onStep({ kind: 'settlement', transaction })
}

/** What a 402 asks for, one for each rail that it may be paid on. */
export function pricesOf(response: Response): readonly Price[] {
  return [x402Price(response), mppPrice(response)].filter((price) => price !== null)
}

function x402Price({ headers }: Response): Price | null {
  const header = headers.get('payment-required')
  if (header === null) return null
  const [accepted] = decodePaymentRequiredHeader(header).accepts
  if (!accepted) return null
  const { amount, asset, network, payTo } = accepted
  const known = Object.values(x402Networks).find((preset) => `eip155:${preset.chainId}` === network)
  if (!known || !sameAddress(known.asset, asset)) throw unknownMoney(asset, network)
  return { rail: 'x402', amount: usd(BigInt(amount)), currency: known.currency, network, payTo }
}

function mppPrice(response: Response): Price | null {
  if (!/(^|,)\s*Payment\s/i.test(response.headers.get('www-authenticate') ?? '')) return null
  const { request, method } = Challenge.fromResponse(response)
  const { amount, currency, recipient, methodDetails } = request as {
    readonly amount: string
    readonly currency: string
    readonly recipient: string
    readonly methodDetails?: { readonly chainId?: number }
  }
  const network = `${method}:${methodDetails?.chainId}`
  const known = Object.values(mppNetworks).find(({ chainId }) => chainId === methodDetails?.chainId)
  if (!known || !sameAddress(known.currency.address, currency)) throw unknownMoney(currency, network)
  return { rail: 'mpp', amount: usd(BigInt(amount)), currency: known.currency.code, network, payTo: recipient }
}

/** An amount is worth something only in a money that we know the decimals of. */
function unknownMoney(asset: string, network: string): Refusal {
  return new Refusal(
    'unknown_money',
    `it asks for ${asset} on ${network}, which Sutler does not know; nothing was paid`,
  )
}

function settlementOf(response: Response): string | null {
  const header = response.headers.get('payment-response')
  if (header !== null) return decodePaymentResponseHeader(header).transaction
  return response.headers.has('payment-receipt') ? Receipt.fromResponse(response).reference : null
}
