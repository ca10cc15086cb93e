import { checksumAddress } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { readCode } from '../../chain/code.ts'
import { GAS_OF_CONTRACT } from '../../chain/erc1271.ts'
import type { HeadSource } from '../../chain/head.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { Credential, Payment, Terms } from '../../domain/rail.ts'
import { newPaymentStart } from '../confirmations.ts'
import type { CredentialReader } from './credential.ts'
import type { Facilitator } from './facilitator.ts'
import type { StoredPayment } from './settlement.ts'
import {
  assertNonceCommitment,
  assertTerms,
  assertWindow,
  claimIn,
  type Money,
  paymentIdentifier,
  requirementsOf,
  withClaim,
} from './terms.ts'
import type { Payload } from './wire.ts'

type VerifyOptions = {
  readonly money: Money
  readonly rpc: Rpc
  readonly head: HeadSource
  readonly facilitator: Facilitator
  readonly clock: Clock
  readonly isSignedByKey: CredentialReader['isSignedByKey']
}

/** ERC-6492 wraps a signature with a call that would deploy the wallet; our hot key does not make calls that strangers choose. */
const ERC6492_SUFFIX = '6492'.repeat(16)

export async function verifyPayment(options: VerifyOptions, credential: Credential, terms: Terms): Promise<Payment> {
  const { money, rpc, head, facilitator, clock, isSignedByKey } = options
  const payload = credential.content as Payload
  const { authorization, signature } = payload.payload
  const claim = claimIn(payload)
  const asked = requirementsOf(money, terms)
  const requirements = claim === null ? asked : withClaim(asked, claim)
  assertTerms(payload, requirements, terms)
  assertWindow(payload, money, clock.now())
  assertNonceCommitment(payload, terms)
  if (signature.toLowerCase().endsWith(ERC6492_SUFFIX)) {
    throw new Problem(
      'payment_verification_failed',
      'Signatures of wallets that are not deployed yet (ERC-6492) are not accepted; deploy the wallet first.',
    )
  }
  // A key's signature is checked here, without a call; anything else is a contract wallet's, which only the chain can judge.
  const signedByKey = isSignedByKey(payload)
  if (!signedByKey && (await readCode(rpc, authorization.from)) === '0x') {
    throw new Problem('payment_verification_failed', signatureFault(money))
  }
  await facilitator.verify(payload, requirements)
  const { number } = await head.latest()
  const stored: StoredPayment = {
    authorization,
    signature,
    fromBlock: newPaymentStart(number).toString(),
    ...(facilitator.kind === 'remote' ? { remote: { payload, requirements } as unknown as JsonObject } : {}),
  }
  return {
    ...paymentOf(credential, money),
    authorization: stored as unknown as JsonObject,
    idempotencyKey: paymentIdentifier(payload),
    gasAtRisk: !signedByKey && facilitator.kind === 'inproc' ? GAS_OF_CONTRACT : undefined,
  }
}

function paymentOf({ identities, proofDigest, content }: Credential, { asset, network, payTo }: Money) {
  const { authorization } = (content as Payload).payload
  return {
    identities,
    proofDigest,
    payer: checksumAddress(authorization.from),
    amount: BigInt(authorization.value),
    asset,
    network,
    payTo,
    funds: 'authorized' as const,
    expiresAt: Number(authorization.validBefore) * 1000,
  }
}

/** A wrong EIP-712 domain gives a good signature of a stranger's, and nothing in it tells so: most mistakes are found by comparing. */
function signatureFault({ assetName, assetVersion, chainId, asset }: Money): string {
  return `The signature is not by the paying address. Its EIP-712 domain is name ${assetName}, version ${assetVersion}, chain ${chainId}, contract ${asset}; low s, v of 27 or 28.`
}
