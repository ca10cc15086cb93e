import { canonical, sha256Hex } from '../../base/json.ts'
import type { Secret } from '../../base/secret.ts'
import type { Credential, Incoming } from '../../domain/rail.ts'
import { isId, isOurs } from './challenge.ts'
import { nameOf } from './payment.ts'
import { CREDENTIAL_SENT, decodeHeader, decodeMeta, META, type MppCredential } from './wire.ts'

export function readCredential(network: string, secrets: readonly Secret[], incoming: Incoming): Credential | null {
  const header = incoming.header(CREDENTIAL_SENT)
  const fromHeader = header === undefined ? null : decodeHeader(header)
  if (fromHeader) return credentialOf(network, secrets, fromHeader)
  const meta = incoming.meta(META.credential)
  return meta === undefined ? null : credentialOf(network, secrets, decodeMeta(meta))
}

function credentialOf(network: string, secrets: readonly Secret[], content: MppCredential): Credential {
  const { challenge, request, proof } = content
  return {
    identities: [
      `mpp:${network}/challenge/${challenge.id}`,
      ...(proof.mode === 'push' ? [nameOf(network, challenge.id, proof.hash)] : []),
    ],
    proofDigest: sha256Hex(canonical({ challenge: challenge.id, proof })),
    amount: BigInt(request.amount),
    funds: proof.mode === 'push' ? 'captured' : 'authorized',
    content,
    promiseDigest: isId(challenge.id) ? sha256Hex(canonical({ challenge, proof })) : null,
    // The id is a secret between the payer and us: the chain shows no more than a part of its digest.
    shownBy: async () => (isOurs(challenge, secrets) ? 'buyer' : 'nobody'),
  }
}
