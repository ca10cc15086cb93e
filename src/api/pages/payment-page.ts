import { isHash } from '../../base/address.ts'
import { type Json, type JsonObject, stringify } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { type Html, html } from './html.ts'
import { codeBlock } from './json-page.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'

/** Of what becomes of a purchase, in the order it happens. */
const STATES: Readonly<Record<string, readonly [title: string, next: string]>> = {
  settling: ['Nobody knows yet whether the payment landed', 'Wait, and look again. Do not pay again.'],
  settled: ['Paid; delivery is on its way', 'Wait, and look again. Do not pay again.'],
  submitted: ['Paid; delivery is on its way', 'Wait, and look again. Do not pay again.'],
  confirmed: ['Paid and delivered', 'Nothing is left to do.'],
  failed: ['Delivery failed; the money is on its way back', 'Wait, and look again. Do not pay again.'],
  refunding: ['Delivery failed; the money is on its way back', 'Wait, and look again. Do not pay again.'],
  refunded: ['The money was sent back in full', 'Nothing is left to do. Buying again is a new purchase.'],
  expired: ['The payment did not land', 'What lands after all goes back to its payer.'],
}

const NOT_KNOWN = 'not known yet'

const MOVED: Readonly<Record<string, string>> = {
  expired: 'no',
  settling: NOT_KNOWN,
  refunded: 'yes, and back again',
}

/** A payment by any of its handles: did money move, what was it for, what next. */
export function paymentPage({ body, status, request, facts }: PageContent): Shown {
  const bound = (body['boundTo'] ?? {}) as JsonObject
  const state = String(body['status'] ?? bound['status'] ?? '')
  const [title, next] = STATES[state] ?? ['This payment', '']
  const { statusUrl } = (body['next'] ?? body) as { statusUrl?: string | null }
  return {
    title,
    description: `${title}. ${next}`,
    path: request.path,
    isIndexed: false,
    main: html`<h1>${title}</h1>
<p class="lead">${next}</p>
<dl>${rowsOf(body, state, facts.surfaces).map(([what, value]) => html`<dt>${what}</dt><dd>${value}</dd>`)}</dl>
${status === 202 ? html`<p><a class="button" href="${request.path}">Look again</a></p>` : []}
${statusUrl && new URL(statusUrl).pathname !== request.path ? html`<p><a href="${statusUrl}">The purchase itself</a></p>` : []}
<h2>As a program sees it</h2>
${codeBlock('The answer', stringify(body as Json, 2))}`,
  }
}

type Fact = readonly [what: string, value: string | Html]

function rowsOf(body: JsonObject, state: string, surfaces: PageContent['facts']['surfaces']): readonly Fact[] {
  const payment = (body['payment'] ?? {}) as JsonObject
  const bound = (body['boundTo'] ?? {}) as JsonObject
  const refund = (body['refund'] ?? null) as JsonObject | null
  const transaction = body['paymentTx'] ?? payment['transaction']
  const surface = surfaces.find(({ name }) => name === bound['surface'])?.title
  const optional: readonly (readonly [string, Json | undefined | Html])[] = [
    ['Did money move?', payment['taken'] === 'unknown' ? NOT_KNOWN : (MOVED[state] ?? 'yes')],
    ['Amount', amountIn(body, payment)],
    ['What for', surface === undefined ? undefined : `${surface} (${String(bound['good'])})`],
    ['Payer', body['payer'] ?? payment['payer']],
    ['Protocol', body['protocol'] ?? payment['protocol']],
    ['Network', payment['network']],
    ['Transaction', transaction],
    ['Sent back', refund ? `${String(refund['status'])} ${String(refund['transaction'] ?? '')}` : undefined],
    ['Order', body['orderId']],
  ]
  return optional.flatMap(([what, value]): readonly Fact[] => {
    if (value === undefined || value === null || value === '') return []
    const text = String(value)
    return [[what, isHash(text) || text.startsWith('0x') ? html`<code>${text}</code>` : text]]
  })
}

function amountIn(body: JsonObject, payment: JsonObject): string | undefined {
  const price = body['price'] as { amount: string; currency: string } | undefined
  if (price) return `${price.amount} ${price.currency}`
  return typeof payment['amount'] === 'string' ? `${formatUsd(usd(BigInt(payment['amount'])))} USD` : undefined
}
