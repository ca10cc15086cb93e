import type { PaidRoute } from '../../domain/route.ts'
import { recipes } from '../facts/clients.ts'
import type { PricedRoute } from '../facts/facts.ts'
import { priceWords } from '../facts/guidance.ts'
import { recipeArticle } from './home.ts'
import { html } from './html.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'
import { purchaseForm } from './purchase-form.ts'
import { payScript } from './scripts.ts'

/** A route that costs money: what it sells, for how much, and how to pay; by the press of a button where there is a wallet. */
export function paidPage({ facts, rows, request, status }: PageContent): Shown {
  const route = rows.find((row): row is PaidRoute => row.kind === 'paid')!
  const { rail } = route.offer
  const priced = facts.paid.find((other) => other.route === route) ?? { route, amount: null, range: null }
  const own = recipes(facts).find(({ client }) => client === String(rail.describe(null)['recommendedClient']))
  const script = payScript(facts.rails)
  return {
    title: `${route.summary}: ${costs(priced)}`,
    description: `${route.description} ${costs(priced)}, paid with ${rail.label}.`,
    path: request.path,
    script,
    connects: true,
    main: html`<h1>${route.summary}</h1>
<p class="lead">${route.description}</p>
<dl><dt>Price</dt><dd class="price">${costs(priced)}</dd>
<dt>Paid with</dt><dd>${rail.label}: ${rail.currency} on ${rail.network}</dd>
<dt>For programs</dt><dd><code>${route.method} ${rail.baseUrl}${route.path}</code></dd></dl>
<p class="note">Nothing was taken by opening this page${status === 402 ? ' (402, payment required)' : ''}. Money moves only with the payment that you sign, for the price that the shop names. What cannot be delivered is refunded in full.</p>
<h2>Pay here</h2>
${purchaseForm(facts, route, givenIn(request.search))}
${own ? html`<h2>Pay with a program</h2>${recipeArticle(own)}` : []}`,
  }
}

function costs(priced: PricedRoute): string {
  return priceWords(priced)
}

const VALUE_CHARS_MAX = 200

/** What a link to this page names stands in the form. It is text in a field, and nothing else. */
function givenIn(search: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...new URLSearchParams(search)].map(([name, value]) => [name, value.slice(0, VALUE_CHARS_MAX)]),
  )
}
