import type { Facts } from '../facts/facts.ts'
import { viewer } from './assets.ts'
import { type Html, html } from './html.ts'
import { articleData, inWords, markdownLink, type PageInWords, pageHeaders, printPage } from './page.ts'
import { VIEWER_STYLE } from './style.ts'

/** The contracts that anybody may read, by how `/docs?…` names them; the first is shown when nothing is named. */
const contracts = [
  { name: 'paid', file: '/openapi.json', title: 'Paid operations', isSandbox: false },
  { name: 'free', file: '/openapi.full.json', title: 'Free operations and webhooks', isSandbox: false },
  { name: 'events', file: '/openapi.events.json', title: 'Events', isSandbox: false },
  { name: 'sandbox', file: '/openapi.sandbox.json', title: 'Sandbox', isSandbox: true },
] as const

const SCRIPT = `
const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()
const tab = document.getElementById(location.search.slice(1)) ?? document.getElementById('paid')
tab.setAttribute('aria-current', 'page')
SwaggerUIBundle({
  url: tab.dataset.file,
  dom_id: '#viewer',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  // It brings a main part of its own, and stands inside ours.
  onComplete: () => document.querySelectorAll('#viewer main').forEach((inner) => inner.setAttribute('role', 'presentation')),
})
`

/** The viewer draws small icons out of its own stylesheet, and asks this shop only. */
export const docsHeaders = pageHeaders({
  style: VIEWER_STYLE,
  script: SCRIPT,
  more: { 'script-src': "'self'", 'style-src': "'self'", 'img-src': 'data:', 'connect-src': "'self'" },
})

export const docsInWords: PageInWords = {
  path: '/docs',
  title: ({ config }) => `${config.service.name}: API`,
  description: ({ config }) =>
    `The HTTP API of ${config.service.name}: what can be bought, what it costs, how it is paid, and what is answered.`,
}

/** `/docs`: the contracts in Swagger UI, served from here. */
export function docsPage(facts: Facts): string {
  const shown = inWords(docsInWords, facts)
  const open = contracts.filter(({ isSandbox }) => facts.sandboxUrl !== null || !isSandbox)
  return printPage(facts, {
    ...shown,
    style: VIEWER_STYLE,
    script: SCRIPT,
    head: html`${markdownLink('/docs.md')}${articleData(facts.origin, shown)}<link rel="stylesheet" href="${viewer.style}">\n`,
    main: html`<h1>API</h1>
<p>Call a paid route without a payment: the 402 names the price, and nothing is taken. Pay it, and send the very same request with the payment. Stock clients do both; <a href="/signing.md">signing.md</a> tells how it is done without one.</p>
<h2>Contracts</h2>
<nav class="tabs" aria-label="Contracts">${open.map(tab)}</nav>
<noscript><p>The viewer needs JavaScript. The contracts themselves are files: ${open.map(({ file }) => html`<a href="${file}">${file}</a> `)}</p></noscript>
<h2>Operations</h2>
<p>Every operation shows an answer that a sandbox gave.</p>
<div id="viewer"></div>
<h2>Not shown here</h2>
<p>${forOperators(facts)}Every error, and what to do about it: <a href="/errors">/errors</a>.</p>
<script src="${viewer.script}"></script>`,
  })
}

/** Where there are no operator routes, nobody is sent to look for them. */
function forOperators({ config }: Facts): Html {
  if (config.operatorToken === null) return html``
  return html`What operators may do is at <a href="/openapi.operator.json">/openapi.operator.json</a>, for whoever shows their credentials. `
}

function tab({ name, file, title }: (typeof contracts)[number]): Html {
  const address = name === contracts[0].name ? '/docs' : `/docs?${name}`
  return html`<a id="${name}" href="${address}" data-file="${file}">${title}</a>`
}
