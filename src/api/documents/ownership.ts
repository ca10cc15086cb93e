import { type Address, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { signerOfText } from '../../chain/wallet.ts'

/** Of the signatures we were given, those that prove to a crawler that whoever is paid here also runs this origin. */
export function ownershipProofs(url: string, payTo: readonly Address[], signatures: readonly Hex[]): readonly Hex[] {
  const { origin } = new URL(url)
  return signatures.filter((signature) => {
    const signer = signerOfText(origin, signature)
    return signer !== null && payTo.some((address) => sameAddress(address, signer))
  })
}
