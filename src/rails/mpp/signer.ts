import { SignatureEnvelope, TxEnvelopeTempo } from 'ox/tempo'
import { Abis, Addresses } from 'viem/tempo'
import { type Address, sameAddress } from '../../base/address.ts'
import { fromHex, type Hex } from '../../base/hex.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { contractAt } from '../../chain/contract.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { recoverSigner } from '../../chain/secp256k1.ts'

/** An access key spends an account's money within limits that the account set; it is not the account. */
type Sender = { readonly sender: Address; readonly isAccessKey: boolean }

/**
 * Whose transaction this is, by proof. Tempo's transactions may name their sender in words: as a hint for whoever pays the fee, as the owner
 * of an access key, as a public key beside a signature. Decoders believe those words, and so does the library that checks the calls; only the
 * chain does not. Whoever is believed here is bound by limits, holds stock and reads purchases, so it takes a signature.
 */
export async function provenSender(rpc: Rpc, transaction: TxEnvelopeTempo.TxEnvelopeTempo): Promise<Sender> {
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

function signerOf(payload: Hex, signature: SignatureEnvelope.SignatureEnvelope): Address {
  const address = signature.type === 'secp256k1' ? recovered(payload, signature) : verified(payload, signature)
  if (address === null) throw unproven('its signature is not by its sender')
  return address
}

/** An address that is recovered proves itself. This takes a fifth of the time that the library does. */
function recovered(payload: Hex, { signature }: SignatureEnvelope.Secp256k1): Address | null {
  const { r, s, yParity } = signature
  return recoverSigner(fromHex(payload), `${word(r)}${word(s).slice(2)}${yParity === 0 ? '1b' : '1c'}`)
}

/** The other kinds carry their public key, and prove nothing by it. */
function verified(payload: Hex, signature: SignatureEnvelope.SignatureEnvelope): Address | null {
  try {
    const address = SignatureEnvelope.extractAddress({ payload, signature })
    return SignatureEnvelope.verify(signature, { address, payload }) ? address : null
  } catch {
    // What cannot be read proves nothing either.
    return null
  }
}

function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`
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
