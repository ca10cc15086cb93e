import type { Address } from '../base/address.ts'
import { fromHex, type Hex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { Secret } from '../base/secret.ts'
import { addressOfKey, signDigest } from '../chain/secp256k1.ts'

export type Signature = { readonly r: Hex; readonly s: Hex; readonly yParity: 0 | 1 }

/** Who holds a key of ours and signs with it, here or elsewhere. What is signed is the hash of the bytes. */
export type Signer = {
  readonly address: Address
  /** Whatever comes back is a signature of this very key. Throws `signer_unavailable` when there is none. */
  sign(bytes: Uint8Array): Promise<Signature>
  /** Refuses before money moves when it could not sign now. */
  assertReady(): Promise<void>
}

/** The key lies in this process. */
export function localSigner(privateKey: Secret): Signer {
  const key = fromHex(privateKey.reveal() as Hex)
  return {
    address: addressOfKey(key),
    sign: async (bytes) => signDigest(keccak256(bytes), key),
    assertReady: async () => {},
  }
}
