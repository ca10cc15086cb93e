import { type Address, sameAddress } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import type { Terms } from '../../domain/rail.ts'
import { bodyDigest, INTENT, isOurs, METHOD } from './challenge.ts'
import type { MppCredential } from './wire.ts'

/** Tempo takes its fee in the money itself, 61 to 78 units for a payment and by its rules less than a thousand. */
export const REFUND_AT_LEAST = 1_000n

/**
 * What a challenge of this shop may say. The keyed digest of a challenge proves that somebody with the secret wrote it; who is paid, in
 * what, and under which name, is compared with what the shop itself is, or was when it issued the challenge.
 */
export type ChargeTerms = {
  readonly chainId: number
  readonly currency: Address
  /** Where money is asked for now. */
  readonly recipient: Address
  readonly realm: string
  /** Where and under which names this shop has asked for money before. A payer may have paid there already. */
  readonly past: readonly { readonly payTo: Address; readonly realm: string | null }[]
  readonly secrets: readonly Secret[]
}

export function tillsOf({ recipient, past }: ChargeTerms): readonly Address[] {
  return [recipient, ...past.map(({ payTo }) => payTo)]
}

/** Issued here, for money to us. `then`: an earlier name or till of ours will do as well. */
export function isGenuine(terms: ChargeTerms, credential: MppCredential, when: 'now' | 'then'): boolean {
  const { challenge, request } = credential
  const realms = [terms.realm, ...(when === 'then' ? terms.past.map(({ realm }) => realm) : [])]
  const tills = when === 'then' ? tillsOf(terms) : [terms.recipient]
  return (
    isOurs(challenge, terms.secrets) &&
    challenge.method === METHOD &&
    challenge.intent === INTENT &&
    request.methodDetails?.chainId === terms.chainId &&
    isSame(request.currency, terms.currency) &&
    realms.includes(challenge.realm) &&
    tills.some((till) => isSame(request.recipient, till))
  )
}

/** What a stranger wrote may be anything. */
function isSame(said: unknown, ours: Address): boolean {
  return typeof said === 'string' && sameAddress(said, ours)
}

export function isOtherScope({ binding }: MppCredential, { resource }: Pick<Terms, 'resource'>): boolean {
  return binding.scope !== resource.scope
}

export function isOtherBody({ challenge }: MppCredential, { body, bodyIsBound }: Terms): boolean {
  return bodyIsBound && challenge.digest !== undefined && challenge.digest !== (body === null ? null : bodyDigest(body))
}

export function amountProblem(paid: bigint, { price }: Terms): Problem | null {
  if (paid === price) return null
  const code = paid < price ? 'payment_insufficient' : 'payment_amount_mismatch'
  return new Problem(code, `This request costs ${price} atomic units; the challenge was for ${paid}.`)
}

export function hasExpired({ challenge }: MppCredential, now: number): boolean {
  return Date.parse(challenge.expires) <= now
}
