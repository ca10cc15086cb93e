import { canonical, sha256Hex } from '../../base/json.ts'
import type { Secret } from '../../base/secret.ts'
import type { Credential, Incoming } from '../../domain/rail.ts'
import { isId, isOurs } from './challenge.ts'
import { nameOf } from './payment.ts'
import { CREDENTIAL_SENT, decodeHeader, decodeMeta, META, type MppCredential } from './wire.ts'

/** Where a rail is paid, and what its challenges are known by. */
type Place = {
  readonly network: string
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
    identities: [
      `mpp:${place.network}/challenge/${challenge.id}`,
      ...(proof.mode === 'push' ? [nameOf(place.network, challenge.id, proof.hash)] : []),
    ],
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
