import { sameAddress } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import { type Offer, offerKey } from '../domain/offer.ts'
import type { Challenger, Credential, Incoming, Resource, Token } from '../domain/rail.ts'
import type { Checkout } from './checkout.ts'

/** One call of a paid route or tool, as its carrier hands it over. */
export type PurchaseRequest<Input> = {
  readonly resource: Resource
  /** Makes the rail's challenge for it. */
  readonly challenge: Challenger
  readonly incoming: Incoming
  /** Whom allowances are counted for. */
  readonly client: string
  /** The body's bytes as sent; null when there is none, or it is `{}`. */
  readonly body: Uint8Array | null
  readonly bodyIsBound: boolean
  /** True when this request, as it stands, asks for a price rather than for a purchase. */
  readonly isProbe: boolean
  /** Strict JSON and schema; throws 400. Called at most once before anything else is asked. */
  parse(): Input
  readonly flowId: string
  readonly idempotencyKey: string | null
}

/** A call that brought a payment along. */
export type PaidCall<Input extends JsonObject> = {
  readonly checkout: Checkout
  readonly offer: Offer<Input>
  readonly request: PurchaseRequest<Input>
  readonly credential: Credential
}

/**
 * The same call at the offer that takes this token: this offer, or a retired one of the same good. Null: this shop has none any more. Only that
 * offer can find out what became of the payment; only this one sells.
 */
export function callWhere<Input extends JsonObject>(
  call: PaidCall<Input>,
  { network, asset }: Token,
): PaidCall<Input> | null {
  const { good, rail } = call.offer
  if (rail.network === network && sameAddress(rail.asset, asset)) return call
  const key = offerKey({ good: good.name, rail: rail.name, network, asset })
  const offer = call.checkout.offers.get(key) as unknown as Offer<Input> | undefined
  const credential = offer?.rail.read(call.request.incoming)
  return offer && credential ? { ...call, offer, credential } : null
}
