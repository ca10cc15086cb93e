import { fromHex } from '../../base/hex.ts'
import type { AccessList, EvmCall } from '../evm/machine.ts'

type SignatureType = 'secp256k1' | 'p256' | 'webAuthn'
export const EXPIRING_NONCE_KEY = 2n ** 256n - 1n

type GasTerms = {
  readonly calls: readonly EvmCall[]
  readonly accessList?: AccessList
  readonly signatureType?: SignatureType
  readonly nonceKey?: bigint
}

/**
 * What a transaction costs before it runs. Exact for ordinary transactions; for Tempo's the extra prices of TIP-0001 on top of
 * Ethereum's schedule, which is near Tempo's and not equal to it.
 */
export function intrinsicGas({ calls, accessList = [], signatureType = 'secp256k1', nonceKey = 0n }: GasTerms): bigint {
  let gas = 21_000n + BigInt(calls.length - 1) * 2_600n
  for (const { to, data } of calls) {
    const { zeros, others } = countBytes(fromHex(data))
    gas += BigInt(4 * zeros + 16 * others)
    if (to === null) gas += 32_000n + 2n * BigInt(Math.ceil((zeros + others) / 32))
  }
  for (const { storageKeys } of accessList) gas += 2_400n + 1_900n * BigInt(storageKeys.length)
  if (signatureType === 'p256') gas += 5_000n
  if (signatureType === 'webAuthn') gas += 7_000n
  if (nonceKey === EXPIRING_NONCE_KEY) gas += 13_000n
  else if (nonceKey > 0n) gas += 22_100n
  return gas
}

/** EIP-7623: a transaction that is mostly data pays at least this. */
export function floorGas({ calls }: GasTerms): bigint {
  let tokens = 0
  for (const { data } of calls) {
    const { zeros, others } = countBytes(fromHex(data))
    tokens += zeros + 4 * others
  }
  return 21_000n + 10n * BigInt(tokens)
}

function countBytes(bytes: Uint8Array): { zeros: number; others: number } {
  let zeros = 0
  for (const byte of bytes) if (byte === 0) zeros++
  return { zeros, others: bytes.length - zeros }
}
