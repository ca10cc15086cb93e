import type { Facts } from '../documents/facts.ts'
import { viewer } from './assets.ts'
import { html } from './html.ts'
import { pageHeaders, printPage } from './page.ts'
import { VIEWER_STYLE } from './style.ts'

const SCRIPT = `
const dark = matchMedia('(prefers-color-scheme: dark)')
const paint = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', paint)
paint()
const free = location.search === '?free'
document.querySelector(free ? '#free' : '#paid').setAttribute('aria-current', 'page')
SwaggerUIBundle({
  url: free ? '/openapi.full.json' : '/openapi.json',
  dom_id: '#viewer',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
`

/** The viewer draws small icons out of its own stylesheet, and asks this shop only. */
export const docsHeaders = pageHeaders({
  style: VIEWER_STYLE,
  script: SCRIPT,
  more: { 'script-src': "'self'", 'style-src': "'self'", 'img-src': 'data:', 'connect-src': "'self'" },
})

/** `/docs`: both contracts in Swagger UI, served from here. */
export function docsPage(facts: Facts): string {
  const { name } = facts.config.service
  return printPage(facts, {
    title: `${name}: API`,
    description: `The HTTP API of ${name}: what can be bought, and how.`,
    path: '/docs',
    style: VIEWER_STYLE,
    script: SCRIPT,
    head: html`<link rel="stylesheet" href="${viewer.style}">\n`,
    main: html`<h1>API</h1>
<nav class="tabs" aria-label="Contracts"><a id="paid" href="/docs">Paid operations</a><a id="free" href="/docs?free">Free operations and webhooks</a></nav>
<noscript><p>The viewer needs JavaScript. The contracts themselves are at <a href="/openapi.json">/openapi.json</a> and <a href="/openapi.full.json">/openapi.full.json</a>.</p></noscript>
<div id="viewer"></div>
<script src="${viewer.script}"></script>`,
  })
}
