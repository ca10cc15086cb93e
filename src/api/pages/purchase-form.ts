import { type JsonObject, stringify } from '../../base/json.ts'
import { once } from '../../base/once.ts'
import { sandboxKey } from '../../config/published.ts'
import type { PaidRoute } from '../../domain/route.ts'
import { createWallet } from '../../outbox/wallet.ts'
import type { Facts } from '../facts/facts.ts'
import { inlineSchema } from '../facts/json-schema.ts'
import { type Html, html } from './html.ts'

/** Whose key is published with the sandbox. */
const demoAddress = once(() => createWallet(sandboxKey('demo')).address)
const ADDRESS = '^0x[0-9a-fA-F]{40}$'

type Field = {
  readonly name: string
  readonly kind: 'text' | 'number' | 'address' | 'json'
  readonly isRequired: boolean
  readonly words: string
  readonly value: string
}

/** What a person fills in, from the very schema that a program is held to. `given` stands in the fields, such as what a link named. */
export function purchaseForm(facts: Facts, route: PaidRoute, given: Readonly<Record<string, string>>): Html {
  const fields = fieldsOf(facts, route, given)
  const { rail } = route.offer
  const plan = { ...planOf(facts, route), isShort: false }
  const hasWallets = rail.documents.walletScript !== undefined
  return html`<form class="pay" data-plan="${stringify(plan)}" aria-label="${route.summary}">
${fields.map(printField)}
<p class="buttons"></p>
${hasWallets ? html`<p class="none soft">No wallet was found in this browser. One that announces itself (EIP-6963) shows up here by itself.</p>` : []}
<noscript><p>Paying from this page needs JavaScript.</p></noscript>
<ol class="steps" aria-live="polite"></ol>
<div class="end" role="status"></div>
</form>`
}

/** A purchase that is all settled but for the press of a button. */
export function readyForm(
  facts: Facts,
  route: PaidRoute,
  what: { readonly words: string; readonly fixed: JsonObject },
): Html {
  const plan = planOf(facts, route, what.words)
  return html`<form class="pay" data-plan="${stringify({ ...plan, fixed: what.fixed, isShort: true })}" aria-label="${what.words}">
<p class="buttons"></p>
<ol class="steps" aria-live="polite"></ol>
<div class="end" role="status"></div>
</form>
`
}

function planOf(
  { sandboxUrl }: Facts,
  { method, path, body, offer }: PaidRoute,
  words = 'Pay with the demo wallet',
): JsonObject {
  const { name, label } = offer.rail
  const demo = { address: demoAddress(), signUrl: '/sandbox/wallet', words }
  return { method, url: path, rail: name, label, hasBody: body !== null, ...(sandboxUrl ? { demo } : {}) }
}

function fieldsOf(
  { sandboxUrl }: Facts,
  { body, example }: PaidRoute,
  given: Readonly<Record<string, string>>,
): readonly Field[] {
  if (body === null) return []
  const { properties = {}, required = [] } = inlineSchema(body, 'input') as {
    properties?: Record<string, JsonObject>
    required?: readonly string[]
  }
  const isGiven = Object.keys(given).length > 0
  return Object.entries(properties).map(([name, schema]) => {
    const kind = kindOf(schema)
    const isRequired = required.includes(name)
    // In the sandbox everything that the reader left open is filled in, so that one press buys.
    const usual = sandboxUrl && (!isGiven || !(name in given)) ? usualOf(example[name], kind) : ''
    return { name, kind, isRequired, words: String(schema['description'] ?? ''), value: given[name] ?? usual }
  })
}

function kindOf({ type, pattern }: JsonObject): Field['kind'] {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array' || type === 'object') return 'json'
  return pattern === ADDRESS ? 'address' : 'text'
}

function usualOf(example: unknown, kind: Field['kind']): string {
  if (example === undefined) return ''
  if (kind === 'address') return demoAddress()
  return typeof example === 'object' ? stringify(example) : String(example)
}

function printField({ name, kind, isRequired, words, value }: Field): Html {
  // An empty address becomes the payer's own, so the browser must not insist on it.
  const required = !isRequired ? html`` : kind === 'address' ? html` data-own="true"` : html` required`
  const hint = kind === 'address' && isRequired ? `${words}. Left empty: the account that pays` : words
  const input =
    kind === 'json'
      ? html`<textarea id="field-${name}" name="${name}" data-kind="json" rows="3"${required}>${value}</textarea>`
      : html`<input id="field-${name}" name="${name}" data-kind="${kind}" value="${value}" type="${kind === 'number' ? 'number' : 'text'}" autocomplete="off" spellcheck="false"${required}>`
  return html`<p class="field"><label for="field-${name}">${name}${isRequired ? '' : html` <span class="soft">(optional)</span>`}</label>
${input}
<span class="soft">${hint}</span></p>
`
}
