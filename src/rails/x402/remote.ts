import * as z from 'zod'
import { type Hash, isHash } from '../../base/address.ts'
import { stringify } from '../../base/json.ts'
import type { Log } from '../../base/log.ts'
import type { Exchange } from '../../base/outgoing.ts'
import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import { readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { PaidOrder } from '../../domain/rail.ts'
import type { Facilitator } from './facilitator.ts'
import { type SettlementReader, type SettlementRefusal, storedPayment } from './settlement.ts'
import type { Payload, Requirements } from './wire.ts'

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

const ANSWER_BYTES_MAX = 64 * 1024

const text = z.string().nullish().catch(null)
const verifiedSchema = z.object({ isValid: z.boolean(), invalidReason: z.string().nullish() })
const settledSchema = z.object({
  success: z.boolean(),
  transaction: z.string(),
  network: z.string(),
  errorReason: z.string().nullish(),
})
/** What an answer with another status may say all the same; whoever does not even say this much is no facilitator. */
const said = z.unknown().refine((value) => value !== undefined)
const unverifiedSchema = z.object({ isValid: said, invalidReason: text })
const unsettledSchema = z.object({ success: said, transaction: text, errorReason: text })

type Settled = { readonly success: boolean; readonly transaction: string; readonly errorReason: string | null }

type RemoteOptions = {
  readonly url: string
  readonly headers: Readonly<Record<string, Secret>>
  readonly timeoutMs: number
  readonly rpc: Rpc
  readonly reader: SettlementReader
  readonly log: Log
  readonly exchange: Exchange
}

export function remoteFacilitator(options: RemoteOptions): Facilitator {
  const { rpc, reader, log } = options
  return {
    kind: 'remote',

    async verify(payload, requirements) {
      const reason = await objectionTo(options, payload, requirements).catch((cause: unknown) => {
        throw new Problem(
          'facilitator_unavailable',
          'The settlement service does not answer; nothing was taken. Try again with the same payment.',
          { cause },
        )
      })
      if (reason !== null) throw refused(reason)
    },

    async settle(order) {
      const { remote } = storedPayment(order)
      const before = await reader.find(order)
      if (before) return before
      const answer = await settle(options, remote as unknown as Asked)
      const claimed = answer?.transaction
      const transaction = claimed !== undefined && isHash(claimed) ? (claimed.toLowerCase() as Hash) : undefined
      const receipt = transaction ? await readReceipt(rpc, transaction) : null
      const outcome = (receipt && (await reader.judge(order, receipt))) ?? (await reader.find(order))
      if (outcome) return outcome
      if (answer?.success === true)
        log.error('facilitator reported a settlement that the chain does not show', { orderId: order.id, transaction })
      // Only the first answer can be a refusal: after one that was lost, the payment may be under way, and looks unfunded or spent. And
      // whoever names a transaction has sent it, whatever they say became of it.
      const isFinal = answer !== null && !transaction && !order.inDoubt
      const absent = await reader.absent(order, isFinal ? refusalOf(answer, order) : null, transaction)
      const hasFailed = receipt !== null && !receipt.succeeded
      return absent.kind === 'unknown' ? { ...absent, hasFailed } : absent
    },
  }
}

type Asked = { readonly payload: Payload; readonly requirements: Requirements }

async function ask(
  { url, headers, timeoutMs, exchange }: RemoteOptions,
  step: 'verify' | 'settle',
  { payload: paymentPayload, requirements: paymentRequirements }: Asked,
): Promise<{ readonly status: number; readonly answer: unknown }> {
  const { status, text } = await exchange({
    url: `${url}/${step}`,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...revealed(headers) },
    body: stringify({ x402Version: paymentPayload.x402Version, paymentPayload, paymentRequirements }),
    timeoutMs,
    bytesMax: ANSWER_BYTES_MAX,
    // A settlement that was sent may be under way, and what is said of a second one would be said of a payment that is spent.
    mayRepeat: step === 'verify',
  })
  return { status, answer: JSON.parse(text) }
}

/** Null: it is good. Otherwise why it is not; throws when nobody could say. */
async function objectionTo(
  options: RemoteOptions,
  payload: Payload,
  requirements: Requirements,
): Promise<string | null> {
  const { status, answer } = await ask(options, 'verify', { payload, requirements })
  if (status >= 500) throw new Error(`status ${status}`)
  const isAnswered = status >= 200 && status < 300
  const { isValid, invalidReason } = isAnswered ? verifiedSchema.parse(answer) : unverifiedSchema.parse(answer)
  return isAnswered && isValid === true ? null : (invalidReason ?? 'no reason given').slice(0, 100)
}

function refused(reason: string): Problem {
  // An authorization that was spent already may have been spent on us: a fresh 402 would charge twice.
  if (/nonce_already_used|already_used/.test(reason))
    return new Problem(
      'payment_conflict',
      'The facilitator says that this payment was used before; read its status, do not pay again.',
    )
  const code = FINAL_REASONS[reason] ?? 'payment_verification_failed'
  return new Problem(code, `The facilitator refuses this payment: ${reason}.`)
}

/** The answer, or null when nobody knows what happened: a time-out, a broken answer, a server error. */
async function settle(options: RemoteOptions, asked: Asked): Promise<Settled | null> {
  try {
    const { status, answer } = await ask(options, 'settle', asked)
    if (status >= 200 && status < 300) {
      const { success, transaction, errorReason = null } = settledSchema.parse(answer)
      return { success, transaction, errorReason }
    }
    const { transaction, errorReason } = unsettledSchema.parse(answer)
    // A server that failed cannot say what it did.
    return { success: false, transaction: transaction ?? '', errorReason: (status < 500 && errorReason) || null }
  } catch (error) {
    options.log.warn('facilitator did not answer a settlement', { error })
    return null
  }
}

const SUPPORTED_BYTES_MAX = 1 << 20

/** Whether a facilitator is there, and what it settles. */
export async function supportedBy(
  { url, headers }: Pick<RemoteOptions, 'url' | 'headers'>,
  exchange: Exchange,
  timeoutMs: number,
): Promise<{ readonly status: number; kinds(): readonly { readonly scheme: string; readonly network: string }[] }> {
  const { status, text } = await exchange({
    url: `${url}/supported`,
    method: 'GET',
    headers: revealed(headers),
    timeoutMs,
    bytesMax: SUPPORTED_BYTES_MAX,
    mayRepeat: true,
  })
  return { status, kinds: () => (JSON.parse(text) as { kinds: { scheme: string; network: string }[] }).kinds }
}

function revealed(headers: Readonly<Record<string, Secret>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value.reveal()]))
}

function refusalOf({ success, errorReason }: Settled, order: PaidOrder): SettlementRefusal | null {
  const code = success ? undefined : FINAL_REASONS[errorReason ?? '']
  return code ? { code, detail: `The facilitator refused the payment of order ${order.id}; nothing was taken.` } : null
}
