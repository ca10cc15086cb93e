import { stringify } from '../../base/json.ts'
import type { Usd } from '../../base/money.ts'
import type { Resource, Terms } from '../../domain/rail.ts'
import { CLAIM_LETTERS, type Claims } from './claim.ts'
import { bodyDigest, extensionsOf, type Money, requirementsOf, withClaim } from './terms.ts'
import { X402_VERSION } from './wire.ts'

/** The protocol's `PaymentRequired`: the members of the document, and all of it in the header's encoding. */
type Required = { readonly members: string; readonly header: string }

/** What differs between two callers: the digest of the body, where there is one, and the claim that only this caller is told. */
type Fill = (claim: string, digest: string) => Required
type Form = { readonly price: Usd; readonly reason: string; readonly isBound: boolean; readonly fill: Fill }

/** These stand where a claim and a digest will, and are as long; neither ever has such a letter in it. */
const CLAIM_PLACE = '~'.repeat(CLAIM_LETTERS)
const DIGEST_PLACE = `sha-256=${'#'.repeat(44)}`

/** Prices move and refusals differ, so there may be many of them for one route; beyond this they are begun anew. */
const FORMS_MAX = 64

/**
 * Writes what a route asks for. The document is some kilobytes and the same for each caller, up to a claim and the digest of a body, so it
 * is written once for a resource, price and reason; a shop is asked for its prices far more often than it is paid.
 */
export function createRequired(options: {
  readonly money: Money
  readonly serviceName: string
  readonly claims: Pick<Claims, 'issue'>
}) {
  const { money, serviceName, claims } = options
  function documentOf(resource: Resource, terms: Terms, reason: string, isBound: boolean) {
    const { url, description, tags, iconUrl } = resource
    return {
      x402Version: X402_VERSION,
      error: reason,
      resource: { url, description, mimeType: 'application/json', serviceName, tags, iconUrl },
      accepts: [withClaim(requirementsOf(money, terms), CLAIM_PLACE)],
      extensions: extensionsOf(resource, isBound ? DIGEST_PLACE : null),
    }
  }

  return (resource: Resource) => {
    let forms: Form[] = []
    return (terms: Terms, reason: string): Required => {
      const { price } = terms
      const digest = bodyDigest(terms)
      const isBound = digest !== null
      let form = forms.find((one) => one.price === price && one.reason === reason && one.isBound === isBound)
      if (form === undefined) {
        if (forms.length >= FORMS_MAX) forms = []
        form = { price, reason, isBound, fill: fillIn(stringify(documentOf(resource, terms, reason, isBound))) }
        forms.push(form)
      }
      return form.fill(claims.issue(terms), digest ?? '')
    }
  }
}

/** With the two letters that follow it, each of the two values is a multiple of three long. */
const FOLLOWING = 2

/**
 * Base64 turns three bytes into four letters, so text that is cut at multiples of three can be encoded in parts. White space before the
 * quotation mark of a value moves it to such a cut.
 */
function fillIn(document: string): Fill {
  const [beforeClaim = '', afterClaim = ''] = document.split(CLAIM_PLACE)
  const [beforeDigest, afterDigest = ''] = afterClaim.split(DIGEST_PLACE)
  const head = padded(beforeClaim)
  const claimEnd = afterClaim.slice(0, FOLLOWING)
  const isBound = afterDigest !== ''
  const middle = isBound ? padded(beforeDigest!.slice(FOLLOWING)) : ''
  const digestEnd = afterDigest.slice(0, FOLLOWING)
  const tail = isBound ? afterDigest.slice(FOLLOWING) : afterClaim.slice(FOLLOWING)
  const [headCode, middleCode, tailCode] = [base64(head), base64(middle), base64(tail)]
  const [headMembers, tailMembers] = [head.slice(1), tail.slice(0, -1)]
  return (claim, digest) => ({
    members: headMembers + claim + claimEnd + middle + digest + digestEnd + tailMembers,
    header: headCode + btoa(claim + claimEnd) + middleCode + (isBound ? btoa(digest + digestEnd) : '') + tailCode,
  })
}

/** A text that ends with the quotation mark of a value, made as long as a multiple of three. */
function padded(text: string): string {
  const odd = Buffer.byteLength(text) % 3
  return odd === 0 ? text : `${text.slice(0, -1)}${' '.repeat(3 - odd)}"`
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
