import { type Address, checksumAddress, type Hash, ZERO_ADDRESS } from '../../base/address.ts'
import { type Clock, isoTime } from '../../base/clock.ts'
import { type Random, systemRandom } from '../../base/id.ts'
import { canonical, sha256Hex } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import type { HeadSource } from '../../chain/head.ts'
import { readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { Sender } from '../../chain/sender.ts'
import { refundTransfer } from '../../chain/transfer.ts'
import type { Credential, Payment, Rail, Terms } from '../../domain/rail.ts'
import {
  bodyDigest,
  type Challenge,
  type ChargeRequest,
  INTENT,
  isOurs,
  issueChallenge,
  METHOD,
  nativeChallenge,
  serializeChallenge,
} from './challenge.ts'
import { challengeTag, transferIdentity } from './memo.ts'
import { type ChargeSettler, type KeptPayment, paidFor } from './settlement.ts'
import type { TransactionVerifier } from './verifier.ts'
import {
  CREDENTIAL_SENT,
  decodeHeader,
  decodeMeta,
  encodeReceipt,
  HEADER,
  META,
  type MppCredential,
  problemUri,
} from './wire.ts'

export type MppOptions = {
  readonly network: string
  readonly chainId: number
  readonly currency: { readonly address: Address; readonly code: string }
  readonly recipient: Address
  /** Pinned by configuration: it is part of every challenge and of every memo. */
  readonly realm: string
  /** The first issues challenges; all of them are accepted (rotation). */
  readonly secrets: readonly [Secret, ...Secret[]]
  readonly challengeTtlMs: number
  /** Push moves the money before we hear of it; it may be switched off. */
  readonly modes: readonly ('pull' | 'push')[]
  readonly rpc: Rpc
  readonly head: HeadSource
  readonly settler: ChargeSettler
  /** Resolves once mppx is loaded. */
  readonly verifier: () => Promise<TransactionVerifier>
  readonly treasury: Sender
  readonly clock: Clock
  readonly random?: Random
}

const BOTH_MODES = 2
const NONCE_BYTES = 9
const SEARCH_MARGIN_BLOCKS = 20n
/** Too late to reach the chain: sending it would only leave everybody in doubt. */
const MS_TO_LAND = 2_000
/** A client may round up, and its clock may be ahead of ours. */
const LATE_MS_MAX = 60_000

export function mppRail(options: MppOptions): Rail {
  const {
    network,
    chainId,
    currency,
    recipient,
    realm,
    secrets,
    challengeTtlMs,
    modes,
    rpc,
    head,
    settler,
    verifier,
    treasury,
    clock,
    random = systemRandom,
  } = options
  const methodDetails = { chainId, ...(modes.length === BOTH_MODES ? {} : { supportedModes: modes }) }

  function requestOf(terms: Terms, flowId: string): ChargeRequest {
    return { amount: terms.price.toString(), currency: currency.address, recipient, externalId: flowId, methodDetails }
  }

  function issue(terms: Terms): Challenge {
    return issueChallenge(
      {
        realm,
        request: requestOf(terms, terms.flowId),
        binding: {
          flow: terms.flowId,
          nonce: Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url'),
          scope: terms.resource.scope,
        },
        description: terms.resource.description,
        digest: terms.body === null || !terms.bodyIsBound ? null : bodyDigest(terms.body),
        expiresAt: clock.now() + challengeTtlMs,
      },
      secrets[0],
    )
  }

  function credentialOf(content: MppCredential): Credential {
    const { challenge, proof } = content
    return {
      identities: [
        `mpp:${network}/challenge/${challenge.id}`,
        ...(proof.mode === 'push' ? [transferIdentity(network, challengeTag(challenge.id), proof.hash)] : []),
      ],
      proofDigest: sha256Hex(canonical({ challenge: challenge.id, proof })),
      funds: proof.mode === 'push' ? 'captured' : 'authorized',
      content,
      // The id is a secret between the payer and us until it is spent; knowing it with its keyed digest intact proves the payer.
      proves: async () => isOurs(challenge, secrets),
    }
  }

  function assertOurs({ challenge, request, proof }: MppCredential): void {
    if (!isOurs(challenge, secrets))
      throw new Problem(
        'invalid_challenge',
        'The challenge was not issued here, or was changed; pay the one in this answer.',
      )
    // Whoever has paid already did so under the name that the shop had then.
    const right =
      (challenge.realm === realm || proof.mode === 'push') &&
      challenge.method === METHOD &&
      challenge.intent === INTENT &&
      request.methodDetails.chainId === chainId
    if (!right)
      throw new Problem('invalid_challenge', 'The challenge is of another shop or chain; pay the one in this answer.')
  }

  const isOtherScope = ({ binding }: MppCredential, terms: Terms): boolean => binding.scope !== terms.resource.scope
  const isOtherBody = ({ challenge }: MppCredential, terms: Terms): boolean =>
    terms.bodyIsBound &&
    challenge.digest !== undefined &&
    challenge.digest !== (terms.body === null ? null : bodyDigest(terms.body))

  function amountProblem({ request }: MppCredential, terms: Terms): Problem | null {
    const paid = BigInt(request.amount)
    if (paid === terms.price) return null
    const code = paid < terms.price ? 'payment_insufficient' : 'payment_amount_mismatch'
    return new Problem(code, `This request costs ${terms.price} atomic units; the challenge was for ${paid}.`)
  }

  function paymentOf(
    credential: Credential,
    payment: Pick<Payment, 'payer' | 'amount' | 'expiresAt'> & { kept: Omit<KeptPayment, 'challengeId' | 'realm'> },
  ): Payment {
    const { challenge, binding, request } = credential.content as MppCredential
    const { kept, ...rest } = payment
    return {
      ...rest,
      identities: [
        ...new Set([...credential.identities, transferIdentity(network, challengeTag(challenge.id), kept.hash)]),
      ],
      proofDigest: credential.proofDigest,
      asset: currency.address,
      network,
      payTo: checksumAddress(request.recipient),
      funds: credential.funds,
      authorization: { ...kept, challengeId: challenge.id, realm: challenge.realm },
      flowId: binding.flow,
    }
  }

  /** The payer signed and we send: until then every refusal is free. */
  async function verifyPull(credential: Credential, terms: Terms): Promise<Payment> {
    const content = credential.content as MppCredential
    if (!modes.includes('pull'))
      throw new Problem('payment_verification_failed', 'This shop takes only payments that the payer sends (push).')
    if (isOtherScope(content, terms))
      throw new Problem('invalid_challenge', 'The challenge is for another route; pay the one in this answer.')
    const wrongAmount = amountProblem(content, terms)
    if (wrongAmount) throw wrongAmount
    if (Date.parse(content.challenge.expires) <= clock.now())
      throw new Problem('payment_expired', 'The challenge has expired; pay the one in this answer.')
    if (isOtherBody(content, terms))
      throw new Problem(
        'request_body_mismatch',
        'The body is not the one this challenge was issued for; pay the one in this answer.',
      )
    const { sender, raw, hash, memo, validBefore } = await (await verifier())(content)
    // Without an end of its own it could land long after we gave up on it, and be paid twice.
    if (validBefore === null || validBefore > Date.parse(content.challenge.expires) + LATE_MS_MAX)
      throw new Problem(
        'payment_verification_failed',
        'The signed transaction must end with its challenge; set validBefore to `expires`.',
      )
    if (validBefore <= clock.now() + MS_TO_LAND)
      throw new Problem(
        'payment_expired',
        'The signed transaction has run out, or is about to; pay the challenge in this answer.',
      )
    const { number } = await head.latest()
    const fromBlock = (number > SEARCH_MARGIN_BLOCKS ? number - SEARCH_MARGIN_BLOCKS : 0n).toString()
    return paymentOf(credential, {
      payer: sender,
      amount: terms.price,
      expiresAt: validBefore,
      kept: { raw, hash: hash.toLowerCase() as Hash, memo, fromBlock },
    })
  }

  /**
   * The money has moved already, if the payer speaks the truth. A 402 would make them pay again, so from here on it is claimed: late or
   * not, and whatever speaks against the purchase is carried along as an objection that sends the money back.
   */
  async function verifyPush(credential: Credential, terms: Terms): Promise<Payment> {
    const content = credential.content as MppCredential
    const { challenge, request, proof } = content
    if (proof.mode !== 'push') throw new TypeError('not a push credential')
    if (isOtherScope(content, terms))
      throw moved('payment_conflict', `This payment is for ${content.binding.scope}; send it there.`)
    if (isOtherBody(content, terms))
      throw moved(
        'request_body_mismatch',
        'The body is not the one this payment was made for; send the original body with the same credential.',
      )
    const asked = BigInt(request.amount)
    // A chain that does not answer has not seen it either; the money is taken down, and looked for later.
    const receipt = await readReceipt(rpc, proof.hash).catch(() => null)
    const charge = { challengeId: challenge.id, realm: challenge.realm, currency: currency.address }
    const paid = receipt && paidFor(receipt, { ...charge, recipient: request.recipient, amount: asked })
    if (receipt && !paid)
      throw new Problem(
        'payment_verification_failed',
        'That transaction does not pay this challenge; pay the one in this answer.',
      )
    const payment = paymentOf(credential, {
      // Until the chain shows the sender there is none: whoever claims to be somebody must not stand in that one's way.
      payer: paid?.from ?? ZERO_ADDRESS,
      amount: paid?.amount ?? asked,
      expiresAt: Math.max(Date.parse(challenge.expires), clock.now() + challengeTtlMs),
      kept: { raw: null, hash: proof.hash, memo: null, fromBlock: '0' },
    })
    const objection = pushObjection(content, terms, payment.amount)
    return { ...payment, ...(objection ? { objection } : {}) }
  }

  function pushObjection(content: MppCredential, terms: Terms, paid: bigint): Problem | null {
    if (!modes.includes('push'))
      return new Problem('payment_verification_failed', 'This shop takes only payments that it sends itself (pull).')
    if (paid !== BigInt(content.request.amount))
      return new Problem(
        'payment_amount_mismatch',
        `The challenge asked for ${content.request.amount} atomic units; ${paid} came.`,
      )
    // The price may have moved since; a body-bound challenge is our own signed quote, and is honoured for as long as it said.
    const isQuoted = content.challenge.digest !== undefined && Date.parse(content.challenge.expires) > clock.now()
    return isQuoted ? null : amountProblem(content, terms)
  }

  return {
    name: 'mpp',
    network,
    currency: currency.code,
    asset: currency.address,
    payTo: recipient,

    challenge(terms, reason) {
      const challenge = issue(terms)
      const type = problemUri(reason.code)
      return {
        headers: { [HEADER.challenge]: serializeChallenge(challenge) },
        meta() {
          const { kind, message: detail } = reason
          const problem = { type, title: kind.title, status: 402, detail, challengeId: challenge.id }
          return { [META.required]: { httpStatus: 402, challenges: [nativeChallenge(challenge)], problem } }
        },
        members: `"challengeId":"${challenge.id}"`,
        problemType: type,
      }
    },

    read(incoming) {
      const header = incoming.header(CREDENTIAL_SENT)
      const fromHeader = header === undefined ? null : decodeHeader(header)
      if (fromHeader) return credentialOf(fromHeader)
      const meta = incoming.meta(META.credential)
      return meta === undefined ? null : credentialOf(decodeMeta(meta))
    },

    async verify(credential, terms) {
      const content = credential.content as MppCredential
      assertOurs(content)
      return content.proof.mode === 'pull' ? verifyPull(credential, terms) : verifyPush(credential, terms)
    },

    settle: (order) => settler.settle(order),

    receipt({ transaction, settledAt }, orderId) {
      const receipt = {
        method: METHOD,
        reference: transaction,
        status: 'success',
        timestamp: isoTime(settledAt),
        orderId,
      }
      return { headers: { [HEADER.receipt]: encodeReceipt(receipt) }, meta: { [META.receipt]: receipt } }
    },

    // The protocol forbids a receipt on anything but a paid success, and has no word for "not yet".
    pendingReceipt: () => ({ headers: {}, meta: {} }),

    refund: ({ id: orderId, payer, amount, asset, settlement }, lease) =>
      refundTransfer(
        { rpc, sender: treasury, orderId, lease },
        { token: asset, to: payer, amount, since: settlement?.transaction },
      ),

    describe: (price) => ({
      offers: [
        {
          intent: INTENT,
          method: METHOD,
          amount: price === null ? null : price.toString(),
          currency: currency.address,
        },
      ],
      price:
        price === null
          ? { mode: 'dynamic', currency: 'USD' }
          : { mode: 'fixed', currency: 'USD', amount: formatUsd(price) },
      protocols: [
        { mpp: { method: `${METHOD}/${INTENT}`, intent: 'purchase', network, currency: currency.address, recipient } },
      ],
      authMode: 'paid',
      retryHeader: 'Authorization: Payment',
      retryBodyMode: 'reuse_original_json',
      recommendedClient: 'mppx',
      ...(price === null ? {} : { atomic: price.toString() }),
    }),
  }
}

function moved(code: 'payment_conflict' | 'request_body_mismatch', detail: string): Problem {
  return new Problem(code, detail, { status: 409, taken: true, action: 'fix_request' })
}
