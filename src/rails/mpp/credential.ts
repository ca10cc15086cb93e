import { isAddress } from '../../base/address.ts'
import { canonical, sha256Hex } from '../../base/json.ts'
import type { Secret } from '../../base/secret.ts'
import type { Credential, Incoming, Token } from '../../domain/rail.ts'
import { isId, isOurs, METHOD } from './challenge.ts'
import { nameOf } from './payment.ts'
import { CREDENTIAL_SENT, decodeHeader, decodeMeta, META, type MppCredential } from './wire.ts'

/** Where a rail is paid, and what its challenges are known by. */
type Place = {
  readonly network: string
  readonly chainId: number
  readonly secrets: readonly Secret[]
  readonly challengeTtlMs: number
}

export function readCredential(place: Place, incoming: Incoming): Credential | null {
  const header = incoming.header(CREDENTIAL_SENT)
  const fromHeader = header === undefined ? null : decodeHeader(header)
  if (fromHeader) return credentialOf(place, fromHeader)
  const meta = incoming.meta(META.credential)
  return meta === undefined ? null : credentialOf(place, decodeMeta(meta))
}

function credentialOf(place: Place, content: MppCredential): Credential {
  const { challenge, request, proof } = content
  return {
    identities: networksOf(place, content).flatMap((network) => [
      `mpp:${network}/challenge/${challenge.id}`,
      ...(proof.mode === 'push' ? [nameOf(network, challenge.id, proof.hash)] : []),
    ]),
    paysIn: tokenIn(place, content),
    proofDigest: sha256Hex(canonical({ challenge: challenge.id, proof })),
    amount: BigInt(request.amount),
    askedAt: Date.parse(challenge.expires) - place.challengeTtlMs,
    funds: proof.mode === 'push' ? 'captured' : 'authorized',
    content,
    challengeOfOurs: () => (isOurs(challenge, place.secrets) ? challenge.id : null),
    signedDigest: isId(challenge.id) ? sha256Hex(canonical({ challenge, proof })) : null,
    // The id is a secret between the payer and us: the chain shows no more than a part of its digest.
    shownBy: async () => (isOurs(challenge, place.secrets) ? 'buyer' : 'nobody'),
  }
}

/** The networks that a payment may have a name on: ours, and the one that its challenge asks for it on. */
export function networksOf(place: Pick<Place, 'network' | 'chainId'>, content: MppCredential): readonly string[] {
  const asked = tokenIn(place, content)?.network ?? place.network
  return [...new Set([place.network, asked])]
}

/** What its challenge asks for, or says so: who wrote that is not known here. */
function tokenIn(
  { network, chainId }: Pick<Place, 'network' | 'chainId'>,
  { request: { methodDetails, currency: asset } }: MppCredential,
): Token | null {
  const asked: unknown = methodDetails?.chainId
  if (!Number.isSafeInteger(asked) || typeof asset !== 'string' || !isAddress(asset)) return null
  return { network: asked === chainId ? network : `${METHOD}:${asked}`, asset }
}
