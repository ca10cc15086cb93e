import { type Address, checksumAddress, type Hash } from '../../base/address.ts'
import type { Problem } from '../../base/problem.ts'
import type { Credential, Payment } from '../../domain/rail.ts'
import { challengeTag, transferIdentity } from './memo.ts'
import type { StoredPayment } from './settlement.ts'
import type { MppCredential } from './wire.ts'

/** What was found out about a credential that pays. */
export type Seen = {
  readonly payer: Address
  readonly amount: bigint
  readonly expiresAt: number
  readonly stored: Omit<StoredPayment, 'challengeId' | 'realm'>
  readonly objection?: Problem | undefined
}

export function paymentOf(
  credential: Credential,
  { stored, ...seen }: Seen,
  { network, asset }: { readonly network: string; readonly asset: Address },
): Payment {
  const { challenge, binding, request } = credential.content as MppCredential
  return {
    ...seen,
    identities: [...new Set([...credential.identities, nameOf(network, challenge.id, stored.hash)])],
    proofDigest: credential.proofDigest,
    asset,
    network,
    payTo: checksumAddress(request.recipient),
    funds: credential.funds,
    authorization: { ...stored, challengeId: challenge.id, realm: challenge.realm },
    flowId: binding.flow,
  }
}

export function nameOf(network: string, challengeId: string, hash: Hash): string {
  return transferIdentity(network, challengeTag(challengeId), hash)
}
