import type { Random } from '../../base/id.ts'
import { sha256Hex } from '../../base/json.ts'
import { authorizationDigest, domainSeparator } from '../../chain/eip3009.ts'
import { isValidContractSignature } from '../../chain/erc1271.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { recoverSigner } from '../../chain/secp256k1.ts'
import type { Credential, Incoming } from '../../domain/rail.ts'
import type { Claims } from './claim.ts'
import { claimIn, type Money } from './terms.ts'
import { decodeHeader, decodeMeta, identityOf, META, type Payload, SIGNATURE_SENT } from './wire.ts'

export type CredentialReader = {
  read(incoming: Incoming): Credential | null
  /** By the payer's own key, which needs no call to see. */
  isSignedByKey(payload: Payload): boolean
}

export function createCredentialReader(options: {
  readonly money: Money
  readonly rpc: Rpc
  readonly random: Random
  readonly claims: Pick<Claims, 'ofOurs'>
}): CredentialReader {
  const { money, rpc, random, claims } = options
  const { assetName: name, assetVersion: version, chainId, asset: token } = money
  const domain = domainSeparator({ name, version, chainId, token })

  const isSignedByKey = ({ payload: { authorization, signature } }: Payload): boolean =>
    recoverSigner(authorizationDigest(domain, authorization), signature)?.toLowerCase() ===
    authorization.from.toLowerCase()

  function credentialOf(payload: Payload): Credential {
    const { authorization, signature } = payload.payload
    return {
      identities: [identityOf(money.network, money.asset, authorization)],
      proofDigest: proofDigest(payload),
      amount: BigInt(authorization.value),
      // Its client has cut off what was left of a second, so this is the earliest moment.
      askedAt: (Number(authorization.validBefore) - money.maxTimeoutSeconds) * 1000,
      funds: 'authorized',
      content: payload,
      signedDigest: sha256Hex(signature.toLowerCase()),
      challengeOfOurs: () => claims.ofOurs(payload)?.claim ?? null,
      // Authorization and signature are calldata of the settlement: whoever reads the chain has them too.
      async shownBy() {
        const digest = authorizationDigest(domain, authorization)
        const isGood =
          isSignedByKey(payload) || (await isValidContractSignature(rpc, authorization.from, digest, signature))
        return isGood ? 'anybody' : 'nobody'
      },
    }
  }

  /** Without a claim there is nothing in it that only the payer knows, so nothing is equal to it. */
  function proofDigest(payload: Payload): string {
    const claim = claimIn(payload)
    return sha256Hex(claim === null ? random.bytes(32) : `${claim} ${payload.payload.signature.toLowerCase()}`)
  }

  return {
    isSignedByKey,
    read(incoming) {
      const header = incoming.header(SIGNATURE_SENT)
      if (header !== undefined) return credentialOf(decodeHeader(header))
      const meta = incoming.meta(META.payment)
      return meta === undefined ? null : credentialOf(decodeMeta(meta))
    },
  }
}
