import type { Address, Hash } from '../../base/address.ts'
import { checksumAddress } from '../../base/address.ts'
import type { Clock } from '../../base/clock.ts'
import { type Random, systemRandom } from '../../base/id.ts'
import { type JsonObject, sha256Hex } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import { codeSuspects, readCode } from '../../chain/code.ts'
import { authorizationBehind, authorizationDigest, domainSeparator } from '../../chain/eip3009.ts'
import { isValidContractSignature } from '../../chain/erc1271.ts'
import type { HeadSource } from '../../chain/head.ts'
import { readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { recoverSigner } from '../../chain/secp256k1.ts'
import type { Sender } from '../../chain/sender.ts'
import { refundTransfer } from '../../chain/transfer.ts'
import type { Credential, Payment, Rail, Wire } from '../../domain/rail.ts'
import { createBalances } from '../balances.ts'
import type { Facilitator } from './facilitator.ts'
import { createRequired } from './required.ts'
import type { KeptPayment, SettlementReader } from './settlement.ts'
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
import { decodeHeader, decodeMeta, encode, HEADER, identityOf, META, type Payload, SIGNATURE_SENT } from './wire.ts'

export type X402Options = {
  readonly money: Money
  readonly currency: string
  /** Shown to payers and crawlers, at most 32 characters of ASCII. */
  readonly serviceName: string
  readonly rpc: Rpc
  readonly head: HeadSource
  readonly facilitator: Facilitator
  readonly reader: SettlementReader
  readonly treasury: Sender
  readonly clock: Clock
  readonly random?: Random
}

/** ERC-6492 wraps a signature with a call that would deploy the wallet; our hot key does not make calls that strangers choose. */
const ERC6492_SUFFIX = '6492'.repeat(16)

/** A node may be a few blocks behind another; begin the search for a payment a little earlier. */
const SEARCH_MARGIN_BLOCKS = 20n

export function x402Rail(options: X402Options): Rail {
  const { money, currency, rpc, head, facilitator, reader, treasury, clock, random = systemRandom } = options
  const domain = domainSeparator({
    name: money.assetName,
    version: money.assetVersion,
    chainId: money.chainId,
    token: money.asset,
  })
  const required = createRequired({ ...options, random })

  function signerOf({ payload }: Payload): Address | null {
    return recoverSigner(authorizationDigest(domain, payload.authorization), payload.signature)
  }

  const isSignedByKey = (payload: Payload): boolean =>
    signerOf(payload)?.toLowerCase() === payload.payload.authorization.from.toLowerCase()

  function credentialOf(payload: Payload): Credential {
    const { authorization, signature } = payload.payload
    return {
      identities: [identityOf(money.network, money.asset, authorization)],
      proofDigest: proofDigest(payload),
      amount: BigInt(authorization.value),
      funds: 'authorized',
      content: payload,
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
    name: 'x402',
    network: money.network,
    currency,
    asset: money.asset,
    payTo: money.payTo,
    ...createBalances({ rpc, asset: money.asset, treasury: treasury.address, clock }),

    challenge(terms, reason) {
      const { header, members } = required(terms, reason.message)
      return {
        headers: { [HEADER.required]: header },
        meta: () => ({ [META.error]: JSON.parse(`{${members}}`) }),
        members,
        problemType: null,
      }
    },

    read(incoming) {
      const header = incoming.header(SIGNATURE_SENT)
      if (header !== undefined) return credentialOf(decodeHeader(header))
      const meta = incoming.meta(META.payment)
      return meta === undefined ? null : credentialOf(decodeMeta(meta))
    },

    async verify(credential, terms) {
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
      const code = signedByKey ? '0x' : await readCode(rpc, authorization.from)
      if (!signedByKey && code === '0x') {
        throw new Problem(
          'payment_verification_failed',
          'The signature is not by the paying address; sign with that key, low s, v of 27 or 28.',
        )
      }
      await facilitator.verify(payload, requirements, signedByKey ? 'signature checked' : 'signature unknown')
      const { number } = await head.latest()
      const kept: KeptPayment = {
        authorization,
        signature,
        fromBlock: (number > SEARCH_MARGIN_BLOCKS ? number - SEARCH_MARGIN_BLOCKS : 0n).toString(),
        ...(facilitator.kind === 'remote' ? { remote: { payload, requirements } as unknown as JsonObject } : {}),
      }
      const payment: Payment = {
        identities: credential.identities,
        proofDigest: credential.proofDigest,
        payer: checksumAddress(authorization.from),
        amount: BigInt(authorization.value),
        asset: money.asset,
        network: money.network,
        payTo: money.payTo,
        funds: 'authorized',
        expiresAt: Number(authorization.validBefore) * 1000,
        authorization: kept as unknown as JsonObject,
        idempotencyKey: paymentIdentifier(payload),
        suspects: codeSuspects(code),
      }
      return { kind: 'pays', payment }
    },

    async identityOf({ transaction, logIndex }) {
      const receipt = await readReceipt(rpc, transaction)
      const authorization = receipt && authorizationBehind(receipt, money.asset, logIndex)
      return authorization && identityOf(money.network, money.asset, authorization)
    },

    landed: ({ content }) => reader.landed((content as Payload).payload.authorization),

    settle: (order, lease) => facilitator.settle(order, lease),

    receipt: ({ transaction, network, payer }) => response({ success: true, transaction, network, payer }),

    // A payment that went well stays so when its delivery fails, even after the money went back.
    pendingReceipt: ({ network, payer, settlement }) =>
      settlement
        ? response({ success: true, transaction: settlement.transaction, network, payer })
        : response({ success: false, errorReason: 'settlement_pending', transaction: '', network, payer }),

    refund: ({ id: orderId, payer, amount, asset, settlement }, lease) =>
      refundTransfer(
        { rpc, sender: treasury, orderId, lease },
        { token: asset, to: payer, amount, since: settlement?.transaction },
      ),

    describe: (price) => ({
      price:
        price === null
          ? { mode: 'dynamic', currency: 'USD' }
          : { mode: 'fixed', currency: 'USD', amount: formatUsd(price) },
      protocols: [{ x402: { network: money.network, asset: money.asset, payTo: money.payTo, scheme: 'exact' } }],
      authMode: 'paid',
      retryHeader: HEADER.signature,
      retryBodyMode: 'reuse_original_json',
      recommendedClient: '@x402/fetch',
      ...(price === null ? {} : { atomic: price.toString() }),
    }),
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
