import { createHash } from 'node:crypto'
import { type Html, html } from './html.ts'
import { PROSE_STYLE } from './style.ts'

type Page = {
  readonly title: string
  readonly description: string
  /** Which of our pages it is. */
  readonly path: string
  readonly main: Html
  /** Instead of the usual one; the headers must be made for the same. */
  readonly style?: string
  /** Put into the head, such as a stylesheet of its own. */
  readonly head?: Html
  readonly script?: string
}

const LINKS = [
  ['/docs', 'API'],
  ['/catalog', 'Catalog'],
  ['/errors', 'Errors'],
  ['/llms.txt', 'llms.txt'],
] as const

/** A whole page for people: the same head, bar and foot around each. */
export function printPage(service: string, page: Page): string {
  const { title, description, path, main, style = PROSE_STYLE, head, script } = page
  const links = LINKS.map(([to, words]) =>
    to === path ? html`<a href="${to}" aria-current="page">${words}</a>` : html`<a href="${to}">${words}</a>`,
  )
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<meta name="description" content="${description}">
<meta property="og:title" content="${title}">
<meta property="og:description" content="${description}">
<meta property="og:image" content="/favicon.png">
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="icon" href="/favicon.png" type="image/png" sizes="256x256">
${head ?? []}<style>${raw(style)}</style>
</head>
<body>
<header class="top"><div class="page"><a class="home" href="/"><img src="/favicon.svg" alt="" width="28" height="28">${service}</a><nav aria-label="Documents">${links}</nav></div></header>
<main class="page">
${main}
</main>
<footer><div class="page">Served by Sutler, the shop counter for software agents.</div></footer>
${script === undefined ? [] : html`<script>${raw(script)}</script>\n`}</body>
</html>
`
  return markup
}

type Allowed = Pick<Page, 'style' | 'script'> & {
  /** Opens the policy further, by directive. */
  readonly more?: Readonly<Record<string, string>>
}

/** Nothing may run, load or be sent but what we wrote and what comes from here. */
export function pageHeaders({ style = PROSE_STYLE, script, more = {} }: Allowed = {}): Record<string, string> {
  const policy = {
    'default-src': "'none'",
    'style-src': sourceOf(style),
    'img-src': "'self'",
    ...(script === undefined ? {} : { 'script-src': sourceOf(script) }),
    'base-uri': "'none'",
    'form-action': "'none'",
    'frame-ancestors': "'none'",
  }
  const directives = Object.entries(policy).map(
    ([name, value]) => `${name} ${value}${more[name] ? ` ${more[name]}` : ''}`,
  )
  const added = Object.entries(more).filter(([name]) => !(name in policy))
  return {
    'Content-Security-Policy': [...directives, ...added.map(([name, value]) => `${name} ${value}`)].join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  }
}

function sourceOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** Text of our own that stands in a page as it is: styles and scripts are not escaped. */
function raw(markup: string): Html {
  return { markup }
}
