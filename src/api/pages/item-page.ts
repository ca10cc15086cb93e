import type { CatalogItem } from '../../domain/catalog.ts'
import { type Html, html } from './html.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'

type Way = {
  readonly protocol: string
  readonly method: string
  readonly purchaseUrl: string
  readonly body: Readonly<Record<string, string | number>>
}

/** One thing on a shelf, and every way to buy it. */
export function itemPage({ body, request, facts }: PageContent): Shown {
  const { catalogId, displayName, description, price, available, picture, limitPerPlayer, ways } =
    body as unknown as CatalogItem & {
      readonly catalogId: string
      readonly ways: readonly Way[]
    }
  return {
    title: `${displayName}: ${facts.config.service.name}`,
    description: description.slice(0, 200) || displayName,
    path: request.path,
    hasPictures: picture !== undefined,
    main: html`<h1>${displayName}</h1>
${picture ? html`<img class="picture" src="${picture}" alt="" referrerpolicy="no-referrer">` : []}
<p class="lead">${description}</p>
<dl><dt>Price</dt><dd class="price">${price.amount} ${price.currency}</dd>
<dt>Id</dt><dd><code>${catalogId}</code></dd>
${limitPerPlayer === undefined ? [] : html`<dt>Limit</dt><dd>${limitPerPlayer} for each player</dd>`}
<dt>Available</dt><dd>${available === false ? 'not now' : 'yes'}</dd></dl>
${available === false ? html`<p class="note">It cannot be bought now, and nobody is asked for money.</p>` : waysSection(ways, facts.rails)}`,
  }
}

function waysSection(ways: readonly Way[], rails: PageContent['facts']['rails']): Html {
  const links = ways.map(({ protocol, purchaseUrl, body }) => {
    const label = rails.find(({ name }) => name === protocol)?.label ?? protocol
    const query = new URLSearchParams(Object.entries(body).map(([key, value]) => [key, String(value)]))
    return html`<li><a class="button" href="${purchaseUrl}?${query.toString()}">Buy with ${label}</a></li>`
  })
  return html`<h2>Buy it</h2>
<ul class="buttons">${links}</ul>
<p class="soft">A program sends <code>${ways[0]?.method ?? 'POST'}</code> to the same address, with <code>${JSON.stringify(ways[0]?.body ?? {})}</code> and whom it is for.</p>`
}
