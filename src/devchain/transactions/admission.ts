import { RpcError } from '../errors.ts'
import { greater } from '../quantity.ts'
import type { Rules } from '../rules.ts'
import type { SentTransaction } from './envelope.ts'
import { EXPIRING_NONCE_KEY, floorGas } from './gas.ts'

/** Tempo, before its fork T11: an expiring transaction may live this long (TIP-1009). */
const EXPIRY_SECONDS_MAX = 30

type Facts = {
  readonly rules: Rules
  readonly now: number
  readonly expectedNonce: bigint
  readonly senderHasCode: boolean
}

/**
 * The checks that need no money and no execution, in the order and words of the chain's own nodes. A nonce ahead of its turn
 * passes: the transaction waits in the pool.
 */
export function checkAdmission(
  transaction: SentTransaction,
  { rules, now, expectedNonce, senderHasCode }: Facts,
): void {
  const refuse = (message: string) => new RpcError(rules.refusalCode, message)
  const { nonce, nonceKey, validAfter, validBefore, gas } = transaction

  if (validAfter !== undefined && now < validAfter) {
    throw refuse(`transaction not valid yet: current block timestamp ${now} < validAfter ${validAfter}`)
  }
  if (validBefore !== undefined && now >= validBefore) {
    throw refuse(`transaction expired: current block timestamp ${now} >= validBefore ${validBefore}`)
  }
  if (nonceKey === EXPIRING_NONCE_KEY) {
    if (nonce !== 0n) throw refuse('expiring nonce transaction must have nonce == 0')
    if (validBefore === undefined) throw refuse('expiring nonce transaction requires valid_before to be set')
    const latest = now + EXPIRY_SECONDS_MAX
    if (validBefore > latest) throw refuse(`nonce manager error: expiry ${validBefore} outside (${now}, ${latest}]`)
  } else if (nonce < expectedNonce) {
    throw refuse(`nonce too low: next nonce ${expectedNonce}, tx nonce ${nonce}`)
  }
  if (senderHasCode) throw refuse('sender not an eoa')
  if (rules.name === 'tempo' && transaction.calls.some(({ value }) => value > 0n))
    throw refuse('value transfer not allowed')
  if (transaction.maxFeePerGas < rules.baseFeePerGas) {
    const prices = `maxFeePerGas: ${transaction.maxFeePerGas}, baseFee: ${rules.baseFeePerGas}`
    throw refuse(`max fee per gas less than block base fee: ${prices}`)
  }
  if (gas > rules.blockGasLimit) throw refuse(`exceeds block gas limit: ${gas} > ${rules.blockGasLimit}`)
  const least = leastGas(transaction, rules)
  if (gas < least) throw refuse(`intrinsic gas too low: have ${gas}, want ${least}`)
}

/** What a transaction uses at the very least, whatever its calls do. */
export function leastGas(terms: Pick<SentTransaction, 'calls' | 'intrinsicGas'>, rules: Rules): bigint {
  const floor = rules.name === 'native' ? floorGas(terms) : 0n
  return greater(terms.intrinsicGas, floor)
}
