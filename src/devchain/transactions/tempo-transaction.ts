import * as Rlp from 'ox/Rlp'
import * as SignatureEnvelope from 'ox/tempo/SignatureEnvelope'
import * as TxEnvelopeTempo from 'ox/tempo/TxEnvelopeTempo'
import { type Address, sameAddress } from '../../base/address.ts'
import { fromHex, type Hex, toHex } from '../../base/hex.ts'
import type { Json } from '../../base/json.ts'
import { keccak256 } from '../../base/keccak.ts'
import { invalidParams, RpcError } from '../errors.ts'
import type { EvmCall } from '../evm/machine.ts'
import { recoverSigner } from '../evm/secp256k1.ts'
import { quantity } from '../quantity.ts'
import { ruleSets } from '../rules.ts'
import type { Envelope, Signers } from './envelope.ts'
import { intrinsicGas } from './gas.ts'

type Unsigned = TxEnvelopeTempo.TxEnvelopeTempo
type KeySignature = Extract<SignatureEnvelope.SignatureEnvelope, { type: 'secp256k1' | 'p256' | 'webAuthn' }>

/**
 * Reads Tempo's transaction type 0x76 (TIP-0001): a batch of calls, a fee token, perhaps a second signature by whoever pays
 * the fee. Access keys, key authorizations, multisig and delegations are refused by name.
 */
export function decodeTempoEnvelope(raw: Hex): Envelope {
  const { unsigned, signature } = split(raw)
  if (unsigned.keyAuthorization || unsigned.authorizationList?.length) throw notSupported('key authorizations')
  const calls: EvmCall[] = unsigned.calls.map(({ to, value = 0n, data = '0x' }) => {
    if (value > 0n) throw refusal('value transfer in Tempo Transaction not allowed')
    return { to: to ? (to.toLowerCase() as Address) : null, value, data }
  })
  const { nonceKey = 0n, accessList = [], validAfter, validBefore } = unsigned
  const feeToken = unsigned.feeToken as Address | undefined
  return {
    // Of the canonical bytes, as clients compute it: the signature has more than one encoding.
    hash: toHex(keccak256(fromHex(TxEnvelopeTempo.serialize({ ...unsigned, signature })))),
    raw,
    type: '0x76',
    chainId: unsigned.chainId,
    nonce: unsigned.nonce ?? 0n,
    nonceKey,
    calls,
    gas: unsigned.gas ?? 0n,
    intrinsicGas: intrinsicGas({ calls, accessList, nonceKey, signatureType: signature.type }),
    maxFeePerGas: unsigned.maxFeePerGas ?? 0n,
    maxPriorityFeePerGas: unsigned.maxPriorityFeePerGas ?? 0n,
    accessList,
    ...(validAfter === undefined ? {} : { validAfter }),
    ...(validBefore === undefined ? {} : { validBefore }),
    ...(feeToken === undefined ? {} : { feeToken }),
    fields: {
      calls: calls.map(({ to, value, data }) => ({ to, value: quantity(value), input: data })),
      nonceKey: quantity(nonceKey),
      feeToken: feeToken ?? null,
      validBefore: validBefore === undefined ? null : quantity(validBefore),
      validAfter: validAfter === undefined ? null : quantity(validAfter),
      accessList: accessList as unknown as Json,
      aaAuthorizationList: [],
      signature: SignatureEnvelope.toRpc(signature) as unknown as Json,
    },
    signers: () => signersOf(unsigned, signature),
  }
}

/**
 * Takes the signature off before the rest is decoded: given both, ox recovers the sender in JavaScript, which takes six times
 * as long as ours.
 */
function split(raw: Hex): { unsigned: Unsigned; signature: KeySignature } {
  const fields = Rlp.toHex(`0x${raw.slice(4)}`) as readonly Hex[]
  const serialized = fields.at(-1)
  if (fields.length < 14 || typeof serialized !== 'string') throw invalidParams('transaction is not signed')
  const unsigned = TxEnvelopeTempo.deserialize(`0x76${Rlp.fromHex(fields.slice(0, -1)).slice(2)}`)
  const signature = SignatureEnvelope.deserialize(serialized)
  if (signature.type === 'keychain' || signature.type === 'multisig') throw notSupported(`${signature.type} signatures`)
  return { unsigned, signature }
}

function signersOf(unsigned: Unsigned, signature: KeySignature): Signers {
  // Null is ox's word for "somebody else pays, and has not signed yet".
  if (unsigned.feePayerSignature === null) throw refusal('fee payer signature recovery failed')
  const from = senderOf(unsigned, signature)
  if (!unsigned.feePayerSignature) return { from, feePayer: from }
  const payload = TxEnvelopeTempo.getFeePayerSignPayload(unsigned, { sender: from })
  const feePayer = recoverSigner(fromHex(payload), unsigned.feePayerSignature)
  if (feePayer === null) throw refusal('fee payer signature recovery failed')
  if (sameAddress(feePayer, from)) throw refusal('fee payer cannot resolve to sender')
  return { from, feePayer }
}

function senderOf(unsigned: Unsigned, signature: KeySignature): Address {
  const payload = TxEnvelopeTempo.getSignPayload(unsigned)
  if (signature.type === 'secp256k1') {
    const from = recoverSigner(fromHex(payload), signature.signature)
    if (from === null) throw refusal('invalid signature')
    return from
  }
  // These carry their public key, so the address alone proves nothing.
  const address = SignatureEnvelope.extractAddress({ payload, signature })
  if (!SignatureEnvelope.verify(signature, { address, payload })) throw refusal('invalid signature')
  return address.toLowerCase() as Address
}

function refusal(message: string): RpcError {
  return new RpcError(ruleSets.tempo.refusalCode, message)
}

function notSupported(what: string): RpcError {
  return new RpcError(-32000, `${what} are not supported by the dev chain`)
}
