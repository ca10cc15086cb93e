import * as Envelope1559 from 'ox/TxEnvelopeEip1559'
import * as Envelope2930 from 'ox/TxEnvelopeEip2930'
import * as EnvelopeLegacy from 'ox/TxEnvelopeLegacy'
import type { Address } from '../../base/address.ts'
import { fromHex, type Hex, toHex } from '../../base/hex.ts'
import type { Json } from '../../base/json.ts'
import { keccak256 } from '../../base/keccak.ts'
import { invalidParams, RpcError } from '../errors.ts'
import { recoverSigner } from '../evm/secp256k1.ts'
import { quantity } from '../quantity.ts'
import { type Rules, SYSTEM_ADDRESS } from '../rules.ts'
import type { Envelope, SentTransaction } from './envelope.ts'
import { intrinsicGas } from './gas.ts'
import { decodeTempoEnvelope } from './tempo-transaction.ts'

/** Reads and proves a signed transaction. Throws the refusal a node would give. */
export function readTransaction(raw: Hex, rules: Rules): SentTransaction {
  const envelope = decodeEnvelope(raw, rules)
  if (envelope.chainId !== undefined && envelope.chainId !== rules.chainId) {
    throw new RpcError(rules.refusalCode, `invalid chain ID: expected ${rules.chainId}, got ${envelope.chainId}`)
  }
  return { ...envelope, ...envelope.signers() }
}

export function decodeEnvelope(raw: Hex, rules: Rules): Envelope {
  const type = raw.slice(0, 4)
  try {
    if (type === '0x76' && rules.name === 'tempo') return decodeTempoEnvelope(raw)
    if (type === '0x01') return ordinary(raw, '0x1', Envelope2930.deserialize(raw as Envelope2930.Serialized))
    if (type === '0x02') return ordinary(raw, '0x2', Envelope1559.deserialize(raw as Envelope1559.Serialized))
    if (Number(type) >= 0xc0) return ordinary(raw, '0x0', EnvelopeLegacy.deserialize(raw))
  } catch (error) {
    if (error instanceof RpcError) throw error
    throw invalidParams(`failed to decode signed transaction: ${(error as Error).message.split('\n')[0]}`)
  }
  throw new RpcError(rules.refusalCode, `transaction type not supported: ${type}`)
}

type OrdinaryEnvelope =
  | EnvelopeLegacy.TxEnvelopeLegacy
  | Envelope2930.TxEnvelopeEip2930
  | Envelope1559.TxEnvelopeEip1559

function ordinary(raw: Hex, type: Hex, envelope: OrdinaryEnvelope): Envelope {
  const { to = null, value = 0n, data = '0x', nonce = 0n, gas = 0n, r, s, yParity } = envelope
  const calls = [{ to: lower(to), value, data }]
  const accessList = ('accessList' in envelope && envelope.accessList) || []
  const signed = r !== undefined && s !== undefined && yParity !== undefined
  return {
    hash: toHex(keccak256(fromHex(raw))),
    raw,
    type,
    chainId: envelope.chainId,
    nonce: BigInt(nonce),
    nonceKey: 0n,
    calls,
    gas,
    intrinsicGas: intrinsicGas({ calls, accessList }),
    ...feesOf(envelope),
    accessList,
    fields: {
      to: lower(to),
      value: quantity(value),
      input: data,
      ...(type === '0x0' ? {} : { accessList: accessList as unknown as Json, yParity: quantity(yParity ?? 0) }),
      v: quantity(envelope.v ?? yParity ?? 0),
      r: quantity(r ?? 0n),
      s: quantity(s ?? 0n),
    },
    signers() {
      if (!signed) throw invalidParams('transaction is not signed')
      const from = recoverSigner(signPayload(envelope), { r, s, yParity })
      if (from === null) throw invalidParams('invalid sender: the signature does not recover')
      return { from, feePayer: from }
    },
  }
}

function feesOf(envelope: OrdinaryEnvelope): Pick<Envelope, 'maxFeePerGas' | 'maxPriorityFeePerGas'> {
  if (envelope.type !== 'eip1559') {
    const { gasPrice = 0n } = envelope
    return { maxFeePerGas: gasPrice, maxPriorityFeePerGas: gasPrice }
  }
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = envelope
  return { maxFeePerGas, maxPriorityFeePerGas }
}

function signPayload(envelope: OrdinaryEnvelope): Uint8Array {
  switch (envelope.type) {
    case 'eip1559':
      return fromHex(Envelope1559.getSignPayload(envelope))
    case 'eip2930':
      return fromHex(Envelope2930.getSignPayload(envelope))
    default:
      return fromHex(EnvelopeLegacy.getSignPayload(envelope as EnvelopeLegacy.TxEnvelopeLegacy<false>))
  }
}

/**
 * A transaction of the chain itself, such as the faucet's. It is an unsigned legacy transaction: `readTransaction` refuses
 * it, so nobody can send one, while it is stored, shown and re-mined as any other. The nonce makes its hash unique.
 */
export function systemTransaction(call: { to: Address; data: Hex; nonce: bigint; chainId: number }): SentTransaction {
  const { to, data, nonce, chainId } = call
  const raw = EnvelopeLegacy.serialize({ type: 'legacy', chainId, nonce, to, data, gas: SYSTEM_GAS })
  const { signers: _, ...envelope } = ordinary(raw, '0x0', EnvelopeLegacy.deserialize(raw))
  return { ...envelope, from: SYSTEM_ADDRESS, feePayer: SYSTEM_ADDRESS }
}

const SYSTEM_GAS = 10_000_000n

function lower(address: Hex | null): Address | null {
  return address === null ? null : (address.toLowerCase() as Address)
}
