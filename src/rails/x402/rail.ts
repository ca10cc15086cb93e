import type { Address, Hash } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/id.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, type Usd, usd } from '../../base/money.ts'
import { authorizationBehind } from '../../chain/eip3009.ts'
import type { HeadSource } from '../../chain/head.ts'
import { receiptAround } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { isPaymentShown, type SecondOpinion } from '../../chain/second-opinion.ts'
import type { Rail, Wire } from '../../domain/rail.ts'
import { refundTransferOf } from '../../outbox/refund.ts'
import { refundByAuthorization } from '../../outbox/refund-authorization.ts'
import type { Sender } from '../../outbox/sender.ts'
import type { Wallet } from '../../outbox/wallet.ts'
import { createBalances } from '../balances.ts'
import { type ClaimOptions, createClaims } from './claim.ts'
import { createCredentialReader } from './credential.ts'
import { documentsOf } from './documents.ts'
import type { Facilitator } from './facilitator.ts'
import { createRequired } from './required.ts'
import type { SettlementReader } from './settlement.ts'
import type { Money } from './terms.ts'
import { traits } from './traits.ts'
import { verifyPayment } from './verify.ts'
import { encode, HEADER, identityOf, META, type Payload } from './wire.ts'

type X402Options = {
  readonly money: Money
  readonly baseUrl: string
  readonly currency: string
  /** Shown to payers and crawlers, at most 32 characters of ASCII. */
  readonly serviceName: string
  readonly rpc: Rpc
  readonly secondOpinion: SecondOpinion
  readonly head: HeadSource
  readonly facilitator: Facilitator
  readonly reader: SettlementReader
  readonly treasury: Wallet
  /** Sends what goes back, and pays for its gas. */
  readonly sender: Sender
  readonly clock: Clock
  readonly random: Random
  readonly secrets: ClaimOptions['secrets']
}

/** Gas is paid in the chain's coin, at a price that moves. Strangers could make the shop spend more than they do. */
const REFUND_AT_LEAST = 100_000n

export function x402Rail(options: X402Options): Rail {
  const { money, baseUrl, currency, rpc, facilitator, reader, treasury, sender, clock } = options
  const { network, asset, payTo, assetName, assetVersion, chainId } = money
  const refunds = { rpc, treasury, sender, domain: { name: assetName, version: assetVersion, chainId, token: asset } }
  const claims = createClaims({ ...options, ttlMs: money.maxTimeoutSeconds * 1000, now: clock.now })
  const { read, isSignedByKey } = createCredentialReader({ ...options, claims })
  const requiring = createRequired({ ...options, claims })
  return {
    ...traits,
    baseUrl,
    network,
    currency,
    asset,
    payTo,
    refundAtLeast: REFUND_AT_LEAST,
    ...createBalances({ rpc, asset, treasury: treasury.address, clock }),
    read,

    challenger(resource) {
      const require = requiring(resource)
      return (terms, reason) => {
        const { header, members } = require(terms, reason.message)
        return {
          headers: { [HEADER.required]: header },
          meta: (error) => ({ [META.error]: { ...JSON.parse(`{${members}}`), error } }),
          members,
          problemType: null,
        }
      }
    },

    quoted({ content }, asked) {
      const claim = claims.ofOurs(content as Payload)
      return claim && claim.endsAt > clock.now() && claim.isFor(asked) ? usd(claim.price) : null
    },

    async verify(credential, terms) {
      return { kind: 'pays', payment: await verifyPayment({ ...options, isSignedByKey }, credential, terms) }
    },

    async identityOf(transfer) {
      const authorization = authorizationBehind(await receiptAround(rpc, transfer), asset, transfer.logIndex)
      return authorization && identityOf(network, asset, authorization)
    },

    landed: ({ content }) => reader.landed((content as Payload).payload.authorization),
    isOver: ({ content }) =>
      reader.isOver({ expiresAt: Number((content as Payload).payload.authorization.validBefore) * 1000 }),
    isPaymentShown: (order) => isPaymentShown(options, order),
    settle: (order, lease) => facilitator.settle(order, lease),
    receipt: ({ transaction, network, payer }) => response({ success: true, transaction, network, payer }),

    // A payment that went well stays so when its delivery fails, even after the money went back.
    pendingReceipt: ({ network, payer, settlement }) =>
      settlement
        ? response({ success: true, transaction: settlement.transaction, network, payer })
        : response({ success: false, errorReason: 'settlement_pending', transaction: '', network, payer }),

    refund: (order, errand) => refundByAuthorization(refunds, refundTransferOf(order, errand.name), errand),

    describe: (price) => describe(money, price),
    documents: documentsOf({ network, currency }),
  }
}

function describe({ network, asset, payTo }: Money, price: Usd | null): JsonObject {
  return {
    price:
      price === null
        ? { mode: 'dynamic', currency: 'USD' }
        : { mode: 'fixed', currency: 'USD', amount: formatUsd(price) },
    protocols: [{ x402: { network, asset, payTo, scheme: 'exact' } }],
    authMode: 'paid',
    retryHeader: HEADER.signature,
    retryBodyMode: 'reuse_original_json',
    recommendedClient: '@x402/fetch',
    ...(price === null ? {} : { atomic: price.toString() }),
  }
}

type SettleResponse = {
  success: boolean
  errorReason?: string
  transaction: Hash | ''
  network: string
  payer: Address
}

function response(settle: SettleResponse): Wire {
  return { headers: { [HEADER.response]: encode(settle) }, meta: { [META.response]: settle } }
}
