import type { JsonObject } from '../base/json.ts'
import type { Offer } from '../domain/offer.ts'
import type { Challenger, Credential, Incoming, Resource } from '../domain/rail.ts'
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
