import { isoTime } from '../base/clock.ts'
import { canonical, type JsonObject, sha256Hex } from '../base/json.ts'
import { type Jwks, type SigningKey, verifyJws } from '../base/jws.ts'
import { type Offer, viewOf } from '../domain/offer.ts'
import type { Order } from '../domain/order.ts'

/** Signs what was paid for and delivered, so that the buyer can prove it to others without the shop. */
export type ReceiptSigner = {
  /** Each call makes other bytes: called once per order, and the result is stored. */
  sign(offer: Offer, order: Order): string
  readonly jwks: Jwks
}

export function createReceiptSigner(options: {
  key: SigningKey
  /** Public keys that signed earlier receipts; they stay published. */
  retired: Jwks
  issuer: string
}): ReceiptSigner {
  const { key, retired, issuer } = options
  const older = retired.keys.filter(({ kid }) => kid !== key.jwk.kid)
  return {
    sign: (offer, order) => key.sign(claimsOf(issuer, offer, order)),
    jwks: { keys: [key.jwk, ...older] },
  }
}

/**
 * A reader of the receipt sees no more than the chain shows: the delivery is printed as the public may see it, and the digest covers all of it,
 * for a buyer who wants to prove the rest.
 */
function claimsOf(issuer: string, offer: Offer, order: Order): JsonObject {
  const { settlement, result } = order
  if (settlement === null || result === null) throw new TypeError(`order ${order.id} has nothing to sign for`)
  const { receipt: _, history: __, ...purchase } = offer.publish(viewOf(offer, order))
  return {
    iss: issuer,
    iat: Math.floor(order.updatedAt / 1000),
    sub: order.payer,
    good: order.good,
    request: { digest: `sha-256:${order.requestDigest}` },
    payment: {
      protocol: order.rail,
      network: order.network,
      asset: order.asset,
      amount: order.amount.toString(),
      payer: order.payer,
      payTo: order.payTo,
      transaction: settlement.transaction,
      settledAt: isoTime(settlement.settledAt),
    },
    delivery: {
      at: isoTime(order.updatedAt),
      transaction: order.deliveryTx,
      digest: `sha-256:${sha256Hex(canonical(result))}`,
    },
    purchase,
  }
}

/** The claims of a receipt that one of these keys signed; throws JwsFault otherwise. Works offline. */
export function verifyReceipt(jws: string, jwks: Jwks): JsonObject {
  const claims = verifyJws(jws, jwks)
  for (const member of ['iss', 'request', 'payment', 'delivery', 'purchase'])
    if (claims[member] === undefined) throw new TypeError(`it is signed, but not a receipt: ${member} is missing`)
  return claims
}
