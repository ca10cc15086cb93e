import type { JsonObject } from '../../base/json.ts'
import type { CatalogItem } from '../../domain/catalog.ts'
import { type Html, html } from './html.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'

type Listed = CatalogItem & { readonly catalogId?: string; readonly surface?: string }

const NAME_CHARS_MAX = 80
const TEXT_CHARS_MAX = 300
const ITEMS_MAX = 500

/** What is on the shelves, with pictures, texts and prices. */
export function cataloguePage({ body, rows, request, facts }: PageContent): Shown {
  const items = body['items'] as unknown as readonly Listed[]
  const title = rows[0]?.summary ?? 'On sale'
  const surface = typeof body['surface'] === 'string' ? body['surface'] : null
  return {
    title: `${title}: ${facts.config.service.name}`,
    description: `${items.length} things on sale at ${facts.config.service.name}, at live prices.`,
    path: request.path,
    hasPictures: items.some(({ picture }) => picture !== undefined),
    main: html`<h1>${title}</h1>
${recipientNote(body)}
${items.length === 0 ? html`<p class="lead">Nothing is on sale here now.</p>` : html`<ul class="cards">${items.slice(0, ITEMS_MAX).map((item) => card(item, surface))}</ul>`}`,
  }
}

function recipientNote({ recipient }: JsonObject): Html {
  if (typeof recipient !== 'object' || recipient === null) return html``
  const { kind, value } = recipient as { kind: string; value: string }
  return html`<p class="note">Prices for the ${kind} ${value}.</p>`
}

function card(item: Listed, surface: string | null): Html {
  const { id, displayName, description, price, available, picture } = item
  const href = `/catalog/${encodeURIComponent(item.catalogId ?? `${surface}:${id}`)}`
  return html`<li class="card">${picture ? html`<img src="${picture}" alt="" loading="lazy" referrerpolicy="no-referrer">` : []}
<h2><a href="${href}">${displayName.slice(0, NAME_CHARS_MAX)}</a></h2>
<p>${description.slice(0, TEXT_CHARS_MAX)}</p>
<p class="price">${price.amount} ${price.currency}${available === false ? html` <span class="soft">(not now)</span>` : ''}</p></li>
`
}
