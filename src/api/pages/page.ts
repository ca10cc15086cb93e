import { createHash } from 'node:crypto'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Facts } from '../facts/facts.ts'
import { type Html, html } from './html.ts'
import { PROSE_STYLE } from './style.ts'

/** What is shown: everything of a page but what all of them have around it. */
export type Shown = {
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
  /** Does it show pictures of the goods, which are wherever the studio has them? */
  readonly hasPictures?: boolean
  /** Does its script ask this shop? */
  readonly connects?: boolean
  /** False for what is about one moment, or one person: no search engine should keep it. */
  readonly isIndexed?: boolean
}

/** What a page is called and what it is about, where that is told without the page too. */
export type PageInWords = {
  readonly path: string
  readonly title: (facts: Facts) => string
  readonly description: (facts: Facts) => string
}

/** What a page has to know of the shop that it is of. */
export type Site = {
  readonly origin: string
  readonly config: { readonly service: { readonly name: string } }
  readonly sandboxUrl: string | null
}

const LINKS = [
  ['/docs', 'API'],
  ['/catalog', 'Catalog'],
  ['/errors', 'Errors'],
  ['/llms.txt', 'llms.txt'],
] as const

/** A whole page for people: the same head, bar and foot around each. */
export function printPage({ origin, config, sandboxUrl }: Site, page: Shown): string {
  const { title, description, path, main, style = PROSE_STYLE, head, script, isIndexed = true } = page
  const all = sandboxUrl ? [...LINKS, ['/sandbox', 'Sandbox'] as const] : LINKS
  const links = all.map(([to, words]) =>
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
<meta property="og:image" content="${origin}/favicon.png">
${isIndexed ? html`<link rel="canonical" href="${origin}${path}">` : html`<meta name="robots" content="noindex">`}
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="icon" href="/favicon.png" type="image/png" sizes="256x256">
${head ?? []}<style>${raw(style)}</style>
</head>
<body>
<header class="top"><div class="page"><a class="home" href="/"><img src="/favicon.svg" alt="" width="28" height="28">${config.service.name}</a><nav aria-label="Documents">${links}</nav></div></header>
<main class="page">
${main}
</main>
<footer><div class="page">Served by Sutler, the shop counter for software agents.</div></footer>
${script === undefined ? [] : html`<script>${raw(script)}</script>\n`}</body>
</html>
`
  return markup
}

type Allowed = Pick<Shown, 'style' | 'script' | 'hasPictures' | 'connects'> & {
  /** Opens the policy further, by directive. */
  readonly more?: Readonly<Record<string, string>>
}

/** Nothing may run, load or be sent but what we wrote and what comes from here. */
export function pageHeaders(allowed: Allowed = {}): Record<string, string> {
  const { style = PROSE_STYLE, script, hasPictures = false, connects = false, more = {} } = allowed
  const policy = {
    'default-src': "'none'",
    'style-src': sourceOf(style),
    'img-src': hasPictures ? "'self' https:" : "'self'",
    ...(script === undefined ? {} : { 'script-src': sourceOf(script) }),
    ...(connects ? { 'connect-src': "'self'" } : {}),
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

/** Facts for search engines, as data that no browser runs. A name in it must not end the script that it stands in. */
export function linkedData(value: JsonObject): Html {
  return raw(`<script type="application/ld+json">${stringify(value).replaceAll('<', '\\u003c')}</script>\n`)
}

export function inWords(page: PageInWords, facts: Facts): Pick<Shown, 'path' | 'title' | 'description'> {
  return { path: page.path, title: page.title(facts), description: page.description(facts) }
}

/** For pages that are about the shop and sell nothing themselves. */
export function articleData(
  origin: string,
  { path, title, description }: Pick<Shown, 'path' | 'title' | 'description'>,
): Html {
  const article = { '@context': 'https://schema.org', '@type': 'TechArticle', headline: title, description }
  return linkedData({ ...article, url: origin + path })
}

/** The same page as Markdown. */
export function markdownLink(path: string): Html {
  return html`<link rel="alternate" type="text/markdown" href="${path}">\n`
}

/** Text of our own that stands in a page as it is: styles and scripts are not escaped. */
function raw(markup: string): Html {
  return { markup }
}
