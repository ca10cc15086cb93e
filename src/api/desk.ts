import type { Checkout } from '../checkout/checkout.ts'
import type { HttpConfig } from '../config/config.ts'
import type { RailName } from '../domain/rail.ts'

/** What the rows of the route table are built with. */
export type Desk = {
  readonly checkout: Checkout
  readonly http: HttpConfig
  /** The rails that are switched on. */
  readonly rails: readonly RailName[]
  /** Public address of a path on the host of a rail. */
  urlOf(rail: RailName, path: string): string
}

export function createDesk(checkout: Checkout, http: HttpConfig, rails: readonly RailName[]): Desk {
  return { checkout, http, rails, urlOf: (rail, path) => (rail === 'mpp' ? http.baseUrl : http.x402BaseUrl) + path }
}
