import { type JsonObject, stringify } from '../../base/json.ts'
import type { Recipe } from '../../domain/rail-documents.ts'
import { recipes } from '../facts/clients.ts'
import type { Facts, ListedItem, PricedRoute } from '../facts/facts.ts'
import { priceWords, soldHere, tagline } from '../facts/guidance.ts'
import { servesHere } from '../shop/hosts.ts'
import { type Html, html } from './html.ts'
import { inWords, linkedData, markdownLink, type PageInWords, pageHeaders, printPage } from './page.ts'
import { type TableRow, table } from './table.ts'

/** Gives every recipe a button. Without it, or without a clipboard, the text can be copied by hand. */
const SCRIPT = `
for (const recipe of navigator.clipboard ? document.querySelectorAll('.recipe') : []) {
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = 'Copy'
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(recipe.querySelector('code').textContent)
    button.textContent = 'Copied'
  })
  recipe.append(button)
}
`

/** Pictures of goods are wherever the studio has them. */
export const homeHeaders = pageHeaders({ script: SCRIPT, hasPictures: true })

export const homeInWords: PageInWords = {
  path: '/',
  title: ({ config }) => `${config.service.name}, a shop for software agents`,
  description: tagline,
}

/** `/`: what this shop sells, to whom, and how to buy. */
export function homePage(facts: Facts): string {
  const { name } = facts.config.service
  return printPage(facts, {
    ...inWords(homeInWords, facts),
    script: SCRIPT,
    head: html`${markdownLink('/index.md')}${linkedData(storeData(facts))}`,
    main: html`<h1>${name} sells to software agents</h1>
<p class="lead">${sentence(soldHere(facts))} Every purchase is one paid HTTP request: ask, see the price, pay, and have it.</p>
${sandboxNote(facts)}
${itemsSection(facts)}
${servicesSection(facts)}
<h2>Buy with what you have</h2>
${recipes(facts).map(recipeArticle)}
${mcpSection(facts)}
<h2>What you can count on</h2>
<ul>
<li>A 402 means that nothing was taken. Money moves only with the payment that you sign, for the price that the 402 names.</li>
<li>The same payment never buys twice. Send it again after a lost answer, and you get the same answer.</li>
<li>What cannot be delivered is refunded in full, by itself, to whoever paid.</li>
<li>Every delivery has a signed receipt, and <code>/payments/{reference}</code> knows what became of any payment.</li>
</ul>
<h2>For machines</h2>
${documentsList(facts)}`,
  })
}

/** The shop and what is on its shelves, in the words of schema.org. */
function storeData({ origin, config, items }: Facts): JsonObject {
  return {
    '@context': 'https://schema.org',
    '@type': 'Store',
    name: config.service.name,
    url: `${origin}/`,
    image: `${origin}/favicon.png`,
    makesOffer: items.slice(0, ITEMS_MAX).map(({ catalogId, displayName, description, price, available, picture }) => ({
      '@type': 'Offer',
      url: `${origin}/catalog/${encodeURIComponent(catalogId)}`,
      price: price.amount,
      priceCurrency: 'USD',
      availability: `https://schema.org/${available === false ? 'OutOfStock' : 'InStock'}`,
      itemOffered: {
        '@type': 'Product',
        sku: catalogId,
        name: displayName,
        description,
        ...(picture ? { image: picture } : {}),
      },
    })),
  }
}

function sandboxNote({ sandboxUrl }: Facts): Html {
  if (!sandboxUrl) return html``
  return html`<p class="note">This is a sandbox with play money. <a href="/sandbox">/sandbox</a> has a funded key, a faucet, and values that make things fail on purpose.</p>`
}

const ITEMS_MAX = 50
const NAME_CHARS_MAX = 80
const TEXT_CHARS_MAX = 160

function itemsSection({ items, rails }: Facts): Html {
  if (items.length === 0) return html``
  const rest = items.length > ITEMS_MAX ? html`<p><a href="/catalog">All ${items.length} of them</a></p>` : html``
  const rows = items.slice(0, ITEMS_MAX).map((item) => itemRow(item, rails))
  return html`<h2>On sale now</h2>
${table('On sale now', ['What', 'Id', 'Price', 'Pay with'], rows)}${rest}`
}

function itemRow(item: ListedItem, rails: Facts['rails']): TableRow {
  const { displayName, catalogId, description, picture, price, available, checkout } = item
  const labels = checkout.protocols.map((protocol) => rails.find(({ name }) => name === protocol)?.label ?? protocol)
  const stock = available === false ? html` <span class="soft">(not now)</span>` : html``
  return {
    cells: [
      html`${picture ? html`<img class="thumb" src="${picture}" alt="" loading="lazy" referrerpolicy="no-referrer">` : []}<a href="/catalog/${encodeURIComponent(catalogId)}">${displayName.slice(0, NAME_CHARS_MAX)}</a>${stock}<br><span class="soft">${description.slice(0, TEXT_CHARS_MAX)}</span>`,
      html`<code>${catalogId}</code>`,
      html`<span class="price">${price.amount} ${price.currency}</span>`,
      labels.join(', '),
    ],
  }
}

function servicesSection({ paid }: Facts): Html {
  const services = paid.filter(({ amount }) => amount !== null)
  if (services.length === 0) return html``
  return html`<h2>At a fixed price</h2>
${table('At a fixed price', ['What', 'Route', 'Price', 'Pay with'], services.map(serviceRow))}`
}

function serviceRow(priced: PricedRoute): TableRow {
  const { summary, method, path, offer } = priced.route
  return {
    cells: [
      summary,
      html`<code>${method} ${path}</code>`,
      html`<span class="price">${priceWords(priced)}</span>`,
      offer.rail.label,
    ],
  }
}

/** How the usual hosts are told of the server, to copy. */
function mcpSection({ mcpUrl }: Facts): Html {
  const name = 'sutler'
  const lines = [
    ['Claude Code', `claude mcp add --transport http ${name} ${mcpUrl}`],
    ['Codex', `codex mcp add ${name} --url ${mcpUrl}`],
    ['Gemini CLI', `gemini mcp add --transport http ${name} ${mcpUrl}`],
    ['VS Code', `code --add-mcp '${stringify({ name, type: 'http', url: mcpUrl })}'`],
  ] as const
  return html`<h3>MCP hosts</h3>
${lines.map(([host, line]) => html`<div class="recipe"><pre tabindex="0" role="region" aria-label="${host}"><code>${line}</code></pre></div>\n`)}`
}

export function recipeArticle({ title, client, words, code }: Recipe): Html {
  return html`<h3>${title}: <code>${client}</code></h3>
<p class="soft">${words}</p>
<div class="recipe"><pre tabindex="0" role="region" aria-label="${title}"><code>${code}</code></pre></div>
`
}

function documentsList({ host, hasMcp, rails, sandboxUrl }: Facts): Html {
  const own = rails
    .filter(({ baseUrl }) => servesHere(host, { host: baseUrl }))
    .flatMap(({ documents }) => documents.own)
  const all: readonly (readonly [string, string, boolean])[] = [
    ['/openapi.json', 'the paid operations (OpenAPI 3.1)', true],
    ['/openapi.full.json', 'the free operations and webhooks', true],
    ['/openapi.events.json', 'webhooks and the log of events', true],
    ['/openapi.sandbox.json', 'the tools of the sandbox', sandboxUrl !== null],
    ['/catalog', 'what is on sale, live', true],
    ['/skill.md', 'this shop as an Agent Skill', true],
    ['/llms-full.txt', 'everything as one text', true],
    ...own.flatMap(({ path, title }) => (title === null ? [] : [[path, title, true] as const])),
    ['/mcp/server-card', 'the MCP server', hasMcp],
  ]
  return html`<dl>${all
    .filter(([, , isHere]) => isHere)
    .map(([path, words]) => html`<dt><a href="${path}">${path}</a></dt><dd>${words}</dd>`)}</dl>`
}

function sentence(words: string): string {
  return words === '' ? '' : `${words[0]!.toUpperCase()}${words.slice(1)}.`
}
