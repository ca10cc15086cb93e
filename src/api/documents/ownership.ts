import { type Address, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { Secret } from '../../base/secret.ts'
import { createWallet, signerOfText } from '../../chain/wallet.ts'
import type { Config } from '../../config/config.ts'

/**
 * Proofs for crawlers that whoever is paid here also runs this origin: signatures of the origin by the addresses that are paid. Where such
 * a key is ours, it signs; otherwise the operator signed elsewhere, and what does not hold for this origin is left out.
 */
export function ownershipProofs(url: string, payTo: readonly Address[], config: Config): readonly Hex[] {
  const { origin } = new URL(url)
  const isPaid = (signer: Address | null) => signer !== null && payTo.some((address) => sameAddress(address, signer))
  const keys = [config.x402, config.mpp].flatMap((rail) =>
    rail?.treasuryKey instanceof Secret ? [createWallet(rail.treasuryKey)] : [],
  )
  const own = keys.filter(({ address }) => isPaid(address)).map((wallet) => wallet.signText(origin))
  const given = config.service.ownershipProofs.filter((signature) => isPaid(signerOfText(origin, signature)))
  return [...new Set([...own, ...given])]
}
