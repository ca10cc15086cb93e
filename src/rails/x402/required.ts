import { stringify } from '../../base/json.ts'
import type { Usd } from '../../base/money.ts'
import type { Resource, Terms } from '../../domain/rail.ts'
import { bodyDigest, extensionsOf, type Money, requirementsOf } from './terms.ts'
import { encode, X402_VERSION } from './wire.ts'

/** The protocol's `PaymentRequired`: the members of the document, and all of it in the header's encoding. */
export type Required = { readonly members: string; readonly header: string }

/** Everything of it but the digest of the body that it is asked for. */
type Fill = (digest: string) => Required
type Form = { readonly price: Usd; readonly reason: string; readonly isBound: boolean; readonly fill: Fill }

/** Stands where a digest will, and is as long as any; no digest has such a letter in it. */
const PLACE = `sha-256=${'#'.repeat(44)}`

/** Prices move and refusals differ, so there may be many of them for one route; beyond this they are begun anew. */
const FORMS_MAX = 64

/**
 * Writes what a route asks for. The document is some kilobytes and the same for each caller, up to the digest of a body, so it is
 * written once for a resource, price and reason; a shop is asked for its prices far more often than it is paid.
 */
export function createRequired({ money, serviceName }: { readonly money: Money; readonly serviceName: string }) {
  // By identity: whoever hands in the same resource twice says that nothing in it has changed.
  const formsOf = new WeakMap<Resource, Form[]>()

  function documentOf(terms: Terms, reason: string, digest: string | null) {
    const { url, description } = terms.resource
    return {
      x402Version: X402_VERSION,
      error: reason,
      resource: { url, description, mimeType: 'application/json', serviceName },
      accepts: [requirementsOf(money, terms)],
      extensions: extensionsOf(terms.resource, digest),
    }
  }

  function write(terms: Terms, reason: string, isBound: boolean): Fill {
    if (isBound) return fillAround(stringify(documentOf(terms, reason, PLACE)))
    const document = documentOf(terms, reason, null)
    const whole = { members: stringify(document).slice(1, -1), header: encode(document) }
    return () => whole
  }

  return (terms: Terms, reason: string): Required => {
    const { price, resource } = terms
    const digest = bodyDigest(terms)
    const isBound = digest !== null
    let forms = formsOf.get(resource)
    if (forms === undefined || forms.length >= FORMS_MAX) {
      forms = []
      formsOf.set(resource, forms)
    }
    let form = forms.find((one) => one.price === price && one.reason === reason && one.isBound === isBound)
    if (form === undefined) {
      form = { price, reason, isBound, fill: write(terms, reason, isBound) }
      forms.push(form)
    }
    return form.fill(digest ?? '')
  }
}

/**
 * Base64 turns three bytes into four letters, so text that is cut at a multiple of three can be encoded in parts. White space behind the
 * first brace moves the place of the digest to such a cut; with the `"}` that follows, the digest itself is 54 bytes.
 */
function fillAround(document: string): Fill {
  const [before = '', after = ''] = document.split(PLACE)
  const odd = Buffer.byteLength(before) % 3
  const head = odd === 0 ? before : `{${' '.repeat(3 - odd)}${before.slice(1)}`
  const [closing, tail] = [after.slice(0, 2), after.slice(2)]
  const [headCode, tailCode] = [base64(head), base64(tail)]
  const [headMembers, tailMembers] = [head.slice(1), after.slice(0, -1)]
  return (digest) => ({
    members: headMembers + digest + tailMembers,
    header: headCode + btoa(digest + closing) + tailCode,
  })
}

function base64(text: string): string {
  return Buffer.from(text, 'utf8').toString('base64')
}
