import type { Lease } from '../../domain/lease.ts'
import type { PaidOrder, SettleOutcome } from '../../domain/rail.ts'
import type { Payload, Requirements } from './wire.ts'

/** Who brings a payment to the chain: our own hot wallet, or a service over HTTP. Neither is believed without a look at the chain. */
export type Facilitator = {
  readonly kind: 'inproc' | 'remote'
  /** Asked before an order exists. Moves nothing. Throws a Problem when the payment would not go through. */
  verify(payload: Payload, requirements: Requirements): Promise<void>
  /** Moves the money or finds out whether it moved; the same payment again and again is fine. */
  settle(order: PaidOrder, lease: Lease): Promise<SettleOutcome>
}
