import { type Address, checksumAddress, isAddress, ZERO_ADDRESS } from '../../base/address.ts'
import { type Clock, isoTime } from '../../base/clock.ts'
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
import type { ChargeSettler, KeptPayment } from './settlement.ts'
import type { TransactionVerifier } from './verifier.ts'
import { decodeHeader, decodeMeta, encodeReceipt, HEADER, META, type MppCredential, problemUri } from './wire.ts'

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
  readonly verifier: Promise<TransactionVerifier>
  readonly treasury: Sender
  readonly clock: Clock
}

const BOTH_MODES = 2
const SEARCH_MARGIN_BLOCKS = 20n

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
        binding: { flow: terms.flowId, scope: terms.resource.scope },
        description: terms.resource.description,
        digest: terms.body === null || !terms.bodyIsBound ? null : bodyDigest(terms.body),
        expiresAt: clock.now() + challengeTtlMs,
      },
      secrets[0],
    )
  }

  function credentialOf(content: MppCredential): Credential {
    const { challenge, proof } = content
    const scope = `mpp:${network}`
    return {
      identities: [
        `${scope}/challenge/${challenge.id}`,
        ...(proof.mode === 'push' ? [`${scope}/tx/${proof.hash}`] : []),
      ],
      proofDigest: sha256Hex(canonical({ challenge: challenge.id, proof })),
      content,
      // The id is a secret between the payer and us until it is spent; knowing it with its keyed digest intact proves the payer.
      proves: async () => isOurs(challenge, secrets),
    }
  }

  function assertOurs({ challenge, request }: MppCredential): void {
    if (!isOurs(challenge, secrets))
      throw new Problem(
        'invalid_challenge',
        'The challenge was not issued here, or was changed; pay the one in this answer.',
      )
    const right =
      challenge.realm === realm &&
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

  async function paymentOf(
    credential: Credential,
    payment: Pick<Payment, 'payer' | 'amount' | 'funds' | 'expiresAt'> & {
      kept: Omit<KeptPayment, 'fromBlock' | 'challengeId'>
    },
  ): Promise<Payment> {
    const { challenge, binding } = credential.content as MppCredential
    const { kept, ...rest } = payment
    const { number } = await head.latest()
    const fromBlock = (number > SEARCH_MARGIN_BLOCKS ? number - SEARCH_MARGIN_BLOCKS : 0n).toString()
    return {
      ...rest,
      identities: [...new Set([...credential.identities, `mpp:${network}/tx/${kept.hash}`])],
      proofDigest: credential.proofDigest,
      asset: currency.address,
      network,
      payTo: recipient,
      authorization: { ...kept, challengeId: challenge.id, fromBlock },
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
    const { sender, raw, hash, memo, validBefore } = await (await verifier)(content)
    const expiresAt = validBefore ?? Date.parse(content.challenge.expires)
    return paymentOf(credential, {
      payer: sender,
      amount: terms.price,
      funds: 'authorized',
      expiresAt,
      kept: { raw, hash: hash.toLowerCase() as `0x${string}`, memo },
    })
  }

  /**
   * The money has moved already, if the payer speaks the truth. A 402 would make them pay again, so from here on it is claimed: late or
   * not, and whatever speaks against the purchase is carried along as an objection that sends the money back.
   */
  async function verifyPush(credential: Credential, terms: Terms): Promise<Payment> {
    const content = credential.content as MppCredential
    const { challenge, request, proof, source } = content
    if (proof.mode !== 'push') throw new TypeError('not a push credential')
    if (isOtherScope(content, terms))
      throw moved('payment_conflict', `This payment is for ${content.binding.scope}; send it there.`)
    if (isOtherBody(content, terms))
      throw moved(
        'request_body_mismatch',
        'The body is not the one this payment was made for; send the original body with the same credential.',
      )
    const receipt = await readReceipt(rpc, proof.hash)
    const paid = receipt && settler.paidFor(receipt, challenge.id)
    if (receipt && !paid)
      throw new Problem(
        'payment_verification_failed',
        'That transaction does not pay this challenge; pay the one in this answer.',
      )
    const payment = await paymentOf(credential, {
      payer: paid?.from ?? claimedPayer(source),
      amount: paid?.amount ?? BigInt(request.amount),
      funds: 'captured',
      expiresAt: Math.max(Date.parse(challenge.expires), clock.now() + challengeTtlMs),
      kept: { raw: null, hash: proof.hash, memo: null },
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
    // The price may have moved since; a body-bound challenge is our own signed quote and is honoured.
    return content.challenge.digest === undefined ? amountProblem(content, terms) : null
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
      const problem = { type, title: reason.kind.title, status: 402, detail: reason.message, challengeId: challenge.id }
      return {
        headers: { [HEADER.challenge]: serializeChallenge(challenge) },
        meta: { [META.required]: { httpStatus: 402, challenges: [nativeChallenge(challenge)], problem } },
        body: { type, challengeId: challenge.id },
      }
    },

    read(incoming) {
      const header = incoming.header(HEADER.credential)
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
      return { headers: { [HEADER.receipt]: encodeReceipt(receipt) }, meta: { [META.receipt]: receipt }, body: {} }
    },

    // The protocol forbids a receipt on anything but a paid success, and has no word for "not yet".
    pendingReceipt: () => ({ headers: {}, meta: {}, body: {} }),

    refund: ({ id, payer, amount, asset }) => refundTransfer(treasury, id, { token: asset, to: payer, amount }),

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

/** `did:pkh:eip155:<chain>:<address>`, unproved: it stands in until the chain shows the sender. */
function claimedPayer(source: string | undefined): Address {
  const address = source?.split(':').at(-1) ?? ''
  return isAddress(address) ? checksumAddress(address) : ZERO_ADDRESS
}

function moved(code: 'payment_conflict' | 'request_body_mismatch', detail: string): Problem {
  return new Problem(code, detail, { status: 409, taken: true, action: 'fix_request' })
}
