import { HTTPFacilitatorClient } from '@x402/core/server'
import type { PaymentPayload, PaymentRequirements, SettleResponse, VerifyResponse } from '@x402/core/types'
import { SettleError, VerifyError } from '@x402/core/types'
import { type Hash, isHash } from '../../base/address.ts'
import type { Log } from '../../base/log.ts'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import { readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { PaidOrder } from '../../domain/rail.ts'
import type { Facilitator } from './facilitator.ts'
import { keptPayment, type Refusal, type SettlementReader } from './settlement.ts'

/** Reasons after which nothing was sent. Every other refusal leaves the outcome to the chain (CDP: `success: false` is no proof). */
const FINAL_REASONS: Readonly<Record<string, ProblemCode>> = {
  invalid_exact_evm_insufficient_balance: 'insufficient_funds',
  insufficient_funds: 'insufficient_funds',
  invalid_exact_evm_signature: 'payment_verification_failed',
  invalid_exact_evm_payload_signature: 'payment_verification_failed',
  invalid_exact_evm_payload_authorization_valid_before: 'payment_expired',
  invalid_exact_evm_payload_authorization_valid_after: 'payment_expired',
  invalid_exact_evm_payload_recipient_mismatch: 'payment_terms_mismatch',
  invalid_exact_evm_payload_authorization_value_mismatch: 'payment_amount_mismatch',
  invalid_payment_requirements: 'payment_terms_mismatch',
  invalid_payload: 'payment_verification_failed',
  invalid_scheme: 'payment_terms_mismatch',
  invalid_network: 'payment_terms_mismatch',
  unsupported_scheme: 'payment_terms_mismatch',
}

export function remoteFacilitator(options: {
  url: string
  headers: Readonly<Record<string, Secret>>
  timeoutMs: number
  rpc: Rpc
  reader: SettlementReader
  log: Log
}): Facilitator {
  const { url, headers, timeoutMs, rpc, reader, log } = options
  const client = new HTTPFacilitatorClient({
    url,
    timeoutMs,
    createAuthHeaders: async () => ({
      verify: revealed(headers),
      settle: revealed(headers),
      supported: revealed(headers),
    }),
  })

  return {
    kind: 'remote',

    async verify(payload, requirements) {
      const answer = await ask(() =>
        client.verify(payload as unknown as PaymentPayload, requirements as unknown as PaymentRequirements),
      )
      if (answer.isValid === true) return
      const reason = String(answer.invalidReason ?? 'no reason given').slice(0, 100)
      // An authorization that was spent already may have been spent on us: a fresh 402 would charge twice.
      if (/nonce_already_used|already_used/.test(reason)) {
        throw new Problem(
          'payment_conflict',
          'The facilitator says that this payment was used before; read its status, do not pay again.',
        )
      }
      throw new Problem(
        FINAL_REASONS[reason] ?? 'payment_verification_failed',
        `The facilitator refuses this payment: ${reason}.`,
      )
    },

    async settle(order) {
      const { remote } = keptPayment(order)
      const before = await reader.find(order)
      if (before) return before
      const answer = await settle(remote as unknown as { payload: PaymentPayload; requirements: PaymentRequirements })
      const claimed = answer?.transaction
      const transaction = typeof claimed === 'string' && isHash(claimed) ? (claimed.toLowerCase() as Hash) : undefined
      const receipt = transaction ? await readReceipt(rpc, transaction) : null
      const outcome = (receipt && (await reader.judge(order, receipt))) ?? (await reader.find(order))
      if (outcome) return outcome
      if (answer?.success === true)
        log.error('facilitator says it settled, and the chain does not know it', { orderId: order.id, transaction })
      // Only the first answer can be a refusal: after one that was lost, the payment may be under way, and looks unfunded or spent.
      return reader.absent(order, answer && !order.inDoubt ? refusalOf(answer, order) : null, transaction)
    },
  }

  /** The answer, or null when nobody knows what happened: a time-out, a broken answer, a server error. */
  async function settle({
    payload,
    requirements,
  }: {
    payload: PaymentPayload
    requirements: PaymentRequirements
  }): Promise<SettleResponse | null> {
    try {
      return await client.settle(payload, requirements)
    } catch (error) {
      if (error instanceof SettleError) {
        const { statusCode, errorReason, transaction, network } = error
        return {
          success: false,
          // A server that failed is no witness of what it did.
          errorReason: statusCode < 500 && errorReason ? errorReason : 'settlement_pending',
          transaction: transaction ?? '',
          network,
        }
      }
      log.warn('facilitator did not answer a settlement', { error })
      return null
    }
  }
}

function revealed(headers: Readonly<Record<string, Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]))
}

function refusalOf({ success, errorReason }: SettleResponse, order: PaidOrder): Refusal | null {
  const code = success ? undefined : FINAL_REASONS[errorReason ?? '']
  return code ? { code, detail: `The facilitator refused the payment of order ${order.id}; nothing was taken.` } : null
}

async function ask(verify: () => Promise<VerifyResponse>): Promise<VerifyResponse> {
  try {
    return await verify()
  } catch (error) {
    if (error instanceof VerifyError && error.statusCode < 500)
      return { isValid: false, ...(error.invalidReason ? { invalidReason: error.invalidReason } : {}) }
    throw new Problem(
      'facilitator_unavailable',
      'The settlement service does not answer; nothing was taken. Try again with the same payment.',
      { cause: error },
    )
  }
}
