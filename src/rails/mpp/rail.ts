import type { Address } from '../../base/address.ts'
import { isoTime } from '../../base/clock.ts'
import type { Random } from '../../base/id.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import { formatUsd, type Usd, usd } from '../../base/money.ts'
import type { Secret } from '../../base/secret.ts'
import { receiptAround } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { isPaymentShown } from '../../chain/second-opinion.ts'
import { memoBehind } from '../../chain/tip20.ts'
import type { Challenger, Credential, Rail, Resource, Terms, Verified } from '../../domain/rail.ts'
import { refundTransferOf } from '../../outbox/refund.ts'
import { refundByNonceKey } from '../../outbox/refund-nonce-key.ts'
import type { Sender } from '../../outbox/sender.ts'
import { createBalances } from '../balances.ts'
import { type ConfirmationRule, isIrrevocable, isOver } from '../confirmations.ts'
import { wasSignedByAccessKey } from './access-key.ts'
import {
  bodyDigest,
  type Challenge,
  INTENT,
  issueChallenge,
  METHOD,
  nativeChallenge,
  serializeChallenge,
} from './challenge.ts'
import { type ChargeTerms, hasExpired, isGenuine, isOtherScope, REFUND_AT_LEAST } from './charge.ts'
import { readCredential } from './credential.ts'
import { documentsOf } from './documents.ts'
import { tagIn, transferIdentity } from './memo.ts'
import { paymentOf } from './payment.ts'
import { landed } from './payment-search.ts'
import { LATE_MS_MAX, type PullOptions, verifyPull } from './pull.ts'
import { type PushOptions, verifyPush } from './push.ts'
import type { ChargeSettler } from './settlement.ts'
import { traits } from './traits.ts'
import type { TransactionVerifier } from './verifier.ts'
import { encodeReceipt, HEADER, META, type MppCredential, problemUri } from './wire.ts'

type MppOptions = ConfirmationRule & {
  readonly baseUrl: string
  readonly network: string
  readonly chainId: number
  readonly currency: { readonly address: Address; readonly code: string }
  readonly recipient: Address
  /** Pinned by configuration: it is part of every challenge and of every memo. */
  readonly realm: string
  /** Where and under which names this shop was paid before. */
  readonly past: ChargeTerms['past']
  /** The first issues challenges; all of them are accepted (rotation). */
  readonly secrets: readonly [Secret, ...Secret[]]
  readonly challengeTtlMs: number
  /** Push moves the money before we hear of it; it may be switched off. */
  readonly modes: readonly ('pull' | 'push')[]
  readonly rpc: Rpc
  readonly settler: ChargeSettler
  /** Resolves once mppx is loaded. */
  readonly verifier: () => Promise<TransactionVerifier>
  readonly treasury: Sender
  readonly random: Random
}

const BOTH_MODES = 2
const NONCE_BYTES = 9

export function mppRail(options: MppOptions): Rail {
  const { baseUrl, network, currency, recipient, rpc, settler, treasury, clock } = options
  const { deepTime } = treasury
  const asset = currency.address
  const ways = waysToPay(options)
  return {
    ...traits,
    baseUrl,
    network,
    currency: currency.code,
    asset,
    payTo: recipient,
    refundAtLeast: REFUND_AT_LEAST,
    warmUp: async () => void (await options.verifier()),
    ...createBalances({ rpc, asset, treasury: treasury.address, clock }),
    challenger: (resource) => challenger(options, resource),
    read: (incoming) => readCredential(options, incoming),
    quoted: ({ content }, asked) => quoted(ways.push, content as MppCredential, asked),
    verify: (credential, asked) => verify(options, ways, credential, asked),
    landed: (credential) => landed(options, ways.push, credential.content as MppCredential),
    // Nothing is taken that ends later.
    isOver: ({ content }) =>
      isOver(
        { clock, deepTime },
        { expiresAt: Date.parse((content as MppCredential).challenge.expires) + LATE_MS_MAX },
      ),
    isPaymentShown: (order) => isPaymentShown(options, order),

    async identityOf(transfer) {
      const memo = memoBehind(await receiptAround(rpc, transfer), asset, transfer.logIndex)
      const tag = memo && tagIn(memo)
      return tag && transferIdentity(network, tag, transfer.transaction)
    },

    settle: (order) => settler.settle(order),

    receipt({ transaction, settledAt }, orderId) {
      const timestamp = isoTime(settledAt)
      const receipt = { method: METHOD, reference: transaction, status: 'success', timestamp, orderId }
      return { headers: { [HEADER.receipt]: encodeReceipt(receipt) }, meta: { [META.receipt]: receipt } }
    },

    // The protocol forbids a receipt on anything but a paid success, and has no word for "not yet".
    pendingReceipt: () => ({ headers: {}, meta: {} }),

    refund: (order, errand) => refundByNonceKey({ rpc, treasury }, refundTransferOf(order, errand.name), errand),

    describe: (price) => describe(options, price),
    documents: documentsOf(options),
  }
}

/** The payer signs and we send, or the payer has sent. */
type Ways = { readonly pull: PullOptions; readonly push: PushOptions }

function waysToPay(options: MppOptions): Ways {
  const { currency, modes, rpc, treasury } = options
  const terms: ChargeTerms = { ...options, currency: currency.address }
  return {
    pull: { ...options, terms, isOffered: modes.includes('pull') },
    push: {
      ...options,
      terms,
      isOffered: modes.includes('push'),
      isIrrevocable: (receipt, amount) => isIrrevocable({ ...options, isBuried: treasury.isBuried }, receipt, amount),
      isByAccessKey: (transaction) => wasSignedByAccessKey(rpc, transaction),
    },
  }
}

/** Money that is shown late may have been sent in time, so the quote holds a moment longer; nobody waits to see where a price goes. */
function quoted({ terms, clock }: PushOptions, credential: MppCredential, asked: Omit<Terms, 'price'>): Usd | null {
  const { body, bodyIsBound } = asked
  const digest = body === null || !bodyIsBound ? undefined : bodyDigest(body)
  const holds =
    isGenuine(terms, credential, 'then') &&
    !isOtherScope(credential, asked) &&
    credential.challenge.digest === digest &&
    !hasExpired(credential, clock.now() - LATE_MS_MAX)
  return holds ? usd(BigInt(credential.request.amount)) : null
}

async function verify(
  { network, currency }: MppOptions,
  { pull, push }: Ways,
  credential: Credential,
  asked: Terms,
): Promise<Verified> {
  const content = credential.content as MppCredential
  const { proof } = content
  const money = { network, asset: currency.address }
  if (proof.mode === 'pull')
    return { kind: 'pays', payment: paymentOf(credential, await verifyPull(pull, content, asked), money) }
  const verdict = await verifyPush(push, content, asked)
  return verdict.kind === 'pays'
    ? { kind: 'pays', payment: paymentOf(credential, verdict.seen, money) }
    : { ...verdict, transaction: proof.hash }
}

function describe({ network, currency, recipient }: MppOptions, price: Usd | null): JsonObject {
  return {
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
  }
}

function challenger(options: MppOptions, resource: Resource): Challenger {
  const issue = challengeIssuer(options, resource)
  return (asked, reason) => {
    const challenge = issue(asked)
    const type = problemUri(reason.code)
    return {
      headers: { [HEADER.challenge]: serializeChallenge(challenge) },
      meta() {
        const { kind, message: detail } = reason
        const problem = { type, title: kind.title, status: 402, detail, challengeId: challenge.id }
        return { [META.required]: { httpStatus: 402, challenges: [nativeChallenge(challenge)], problem } }
      },
      // Who reads only the body learns the price from it.
      members: `"challengeId":"${challenge.id}","price":${priceText(asked.price, options.currency.code)}`,
      problemType: type,
    }
  }
}

function priceText(price: Usd, currency: string): string {
  return stringify({ amount: formatUsd(price), currency, atomic: price.toString() })
}

function challengeIssuer(options: MppOptions, { scope, description }: Resource): (terms: Terms) => Challenge {
  const { chainId, currency, recipient, realm, secrets, challengeTtlMs, modes, clock, random } = options
  const methodDetails = { chainId, ...(modes.length === BOTH_MODES ? {} : { supportedModes: modes }) }
  return ({ price, body, bodyIsBound, flowId }) =>
    issueChallenge(
      {
        realm,
        request: { amount: price.toString(), currency: currency.address, recipient, externalId: flowId, methodDetails },
        binding: {
          flow: flowId,
          nonce: Buffer.from(random.bytes(NONCE_BYTES)).toString('base64url'),
          scope,
        },
        description,
        digest: body === null || !bodyIsBound ? null : bodyDigest(body),
        expiresAt: clock.now() + challengeTtlMs,
      },
      secrets[0],
    )
}
