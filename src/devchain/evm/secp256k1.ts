import * as secp from 'tiny-secp256k1'
import type { Address } from '../../base/address.ts'
import { toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'

// WebAssembly: 0.56 ms for a recovery that takes 3.5 ms in JavaScript. It is the largest single cost of a transaction.

const HALF_ORDER = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

export type Signature = { readonly r: bigint; readonly s: bigint; readonly yParity: number }

/** The address that signed, in lower case, or null. Refuses the malleable half of the curve, as nodes do (EIP-2). */
export function recoverSigner(digest: Uint8Array, { r, s, yParity }: Signature): Address | null {
  if (s > HALF_ORDER || (yParity !== 0 && yParity !== 1)) return null
  try {
    const publicKey = recoverPublicKey(digest, concat32(r, s), yParity)
    return toHex(keccak256(publicKey).subarray(12))
  } catch {
    return null
  }
}

/** The precompile at address 1, in the shape EthereumJS asks for. It takes either half of the curve. */
export function ecrecover(digest: Uint8Array, v: bigint, r: Uint8Array, s: Uint8Array): Uint8Array {
  return recoverPublicKey(digest, Buffer.concat([r, s]), v === 28n ? 1 : 0)
}

/** The 64 bytes of the public key. Throws when the numbers are not a signature. */
function recoverPublicKey(digest: Uint8Array, signature: Uint8Array, yParity: 0 | 1): Uint8Array {
  const publicKey = secp.recover(digest, signature, yParity, false)
  if (publicKey === null) throw new RangeError('not a signature')
  return publicKey.subarray(1)
}

function concat32(r: bigint, s: bigint): Uint8Array {
  return Buffer.from(r.toString(16).padStart(64, '0') + s.toString(16).padStart(64, '0'), 'hex')
}
