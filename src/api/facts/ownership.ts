import { type Address, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Secret } from '../../base/secret.ts'
import { createWallet, signerOfText } from '../../outbox/wallet.ts'

/**
 * Proofs for crawlers that whoever is paid here also runs this origin: signatures of the origin by the addresses that are paid. Where such
 * a key is ours, it signs; otherwise the operator signed elsewhere, and what does not hold for this origin is left out.
 */
export function ownershipProofs(
  url: string,
  payTo: readonly Address[],
  { given, keys }: { readonly given: readonly Hex[]; readonly keys: readonly Secret[] },
): readonly Hex[] {
  const { origin } = new URL(url)
  const isPaid = (signer: Address | null) => signer !== null && payTo.some((address) => sameAddress(address, signer))
  const wallets = keys.map(createWallet).filter(({ address }) => isPaid(address))
  const own = wallets.map((wallet) => wallet.signText(origin))
  return [...new Set([...own, ...given.filter((signature) => isPaid(signerOfText(origin, signature)))])]
}
