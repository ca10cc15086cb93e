import { SignatureEnvelope, TxEnvelopeTempo } from 'ox/tempo'
import { Abis, Addresses } from 'viem/tempo'
import { type Address, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { contractAt } from '../../chain/contract.ts'
import type { Rpc } from '../../chain/rpc.ts'

/** An access key spends an account's money within limits that the account set; it is not the account. */
type Sender = { readonly sender: Address; readonly isAccessKey: boolean }

/**
 * Whose transaction this is, by proof. Tempo's transactions may name their sender in words: as a hint for whoever pays the fee, as the owner
 * of an access key, as a public key beside a signature. Decoders believe those words, and so does the library that checks the calls; only the
 * chain does not. Whoever is believed here is bound by limits, holds stock and reads purchases, so it takes a signature.
 */
export async function provenSender(rpc: Rpc, raw: Hex): Promise<Sender> {
  const transaction = TxEnvelopeTempo.deserialize(raw as TxEnvelopeTempo.Serialized)
  const { signature, feePayerSignature, validBefore } = transaction
  if (!signature || feePayerSignature === null) throw unproven('it is not signed by all who must')
  if (signature.type === 'multisig') throw unproven('accounts of several keys pay by push here')
  if (signature.type !== 'keychain')
    return { sender: signerOf(TxEnvelopeTempo.getSignPayload(transaction), signature), isAccessKey: false }
  const { userAddress: owner, inner, version } = signature
  const account = owner as Address
  const payload = TxEnvelopeTempo.getSignPayload(transaction, version === 'v1' ? {} : { from: account })
  const key = signerOf(payload, inner)
  if (!(await isKeyOf(rpc, account, key, BigInt(validBefore ?? 0))))
    throw unproven(`${key} is no access key of ${account}, or not for long enough; authorize it first`)
  return { sender: account, isAccessKey: true }
}

/** An address that is recovered proves itself; the other kinds carry their public key, and prove nothing by it. */
function signerOf(payload: Hex, signature: SignatureEnvelope.SignatureEnvelope): Address {
  try {
    const address = SignatureEnvelope.extractAddress({ payload, signature })
    if (SignatureEnvelope.verify(signature, { address, payload })) return address
  } catch {
    // Falls through: what cannot be read proves nothing either.
  }
  throw unproven('its signature is not by its sender')
}

async function isKeyOf(rpc: Rpc, account: Address, key: Address, until: bigint): Promise<boolean> {
  const keychain = contractAt(rpc, Addresses.accountKeychain, Abis.accountKeychain)
  try {
    const { keyId, expiry, isRevoked } = await keychain.read('getKey', [account, key])
    return sameAddress(keyId, key) && !isRevoked && expiry > until
  } catch (error) {
    if (isProblem(error)) throw error
    // A chain without access keys, or an account without this one.
    return false
  }
}

function unproven(why: string): Problem {
  return new Problem('payment_verification_failed', `The signed transaction does not prove who pays: ${why}.`)
}
