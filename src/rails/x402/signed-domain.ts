import { authorizationDigest, domainSeparator } from '../../chain/eip3009.ts'
import { recoverSigner } from '../../chain/secp256k1.ts'
import { x402Networks } from '../../config/networks.ts'
import type { Money } from './terms.ts'
import type { Payload } from './wire.ts'

type Domain = Parameters<typeof domainSeparator>[0]

/** Names and versions that tokens of dollars go by: whoever signs for the wrong one has usually taken one of these. */
const NAMES = ['USDC', 'USD Coin', 'Bridged USDC', 'USDbC']
const VERSIONS = ['1', '2']

/**
 * Why a signature is not the payer's. A wrong EIP-712 domain gives a good signature of a stranger's, and nothing in it tells so; but most
 * mistakes are among few, and trying them is cheaper for everybody than the search.
 */
export function signatureFault(money: Money, { payload: { authorization, signature } }: Payload): string {
  const own = domainOf(money)
  const isSigned = (domain: Domain) =>
    recoverSigner(authorizationDigest(domainSeparator(domain), authorization), signature)?.toLowerCase() ===
    authorization.from.toLowerCase()
  const signed = likely(own).find(isSigned)
  return signed
    ? `The payment is signed for another EIP-712 domain: ${difference(signed, own)}.`
    : `The signature is not by the paying address. Its EIP-712 domain is ${wordsOf(own)}; low s, v of 27 or 28.`
}

function domainOf({ assetName: name, assetVersion: version, chainId, asset: token }: Money): Domain {
  return { name, version, chainId, token }
}

function likely(own: Domain): readonly Domain[] {
  const named = NAMES.flatMap((name) => VERSIONS.map((version) => ({ ...own, name, version })))
  const elsewhere = Object.values(x402Networks).flatMap(({ chainId, asset, assetName, assetVersion }) => [
    { ...own, chainId },
    { ...own, token: asset },
    { name: assetName, version: assetVersion, chainId, token: asset },
  ])
  return [...named, ...VERSIONS.map((version) => ({ ...own, version })), ...elsewhere]
}

const LABELS = { name: 'name', version: 'version', chainId: 'chainId', token: 'verifyingContract' } as const

function difference(signed: Domain, own: Domain): string {
  return (Object.keys(LABELS) as (keyof Domain)[])
    .filter((key) => signed[key] !== own[key])
    .map((key) => `${LABELS[key]} is ${own[key]}, not ${signed[key]}`)
    .join('; ')
}

function wordsOf({ name, version, chainId, token }: Domain): string {
  return `${name}, version ${version}, chain ${chainId}, ${token}`
}
