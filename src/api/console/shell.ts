import { createHash } from 'node:crypto'
import type { Html } from '../pages/html.ts'
import { html } from '../pages/html.ts'
import type { ConsoleFiles } from './files.ts'
import { type ConsolePlace, headingOf, PRACTICE, places } from './places.ts'

/** What the frame says of the shop. It is public: the shell has no data, and anybody may have it. */
export type ConsoleShop = {
  readonly name: string
  readonly isSandbox: boolean
  /** How its protocols are called and written, in the order of their colours. */
  readonly rails: readonly { readonly name: string; readonly label: string }[]
}

type Shell = {
  print(path: string, search?: string): string
  readonly policy: string
}

/** Runs before anything is painted, so that a dark console does not flash white. */
const THEME = `document.documentElement.dataset.theme=localStorage.getItem('theme')||'auto'`

/** Asked for with the page itself. The screens come when somebody goes there, but for the one that is opened. */
const screenOf = (path: string) => {
  const [, , place = 'home', id] = path.split('/')
  if (place === 'orders' && id !== undefined) return 'screens/order.js'
  return `screens/${place}.js`
}

/**
 * Data that the page will ask for as soon as it runs. Asked for with the page, they are there when it does: on a slow phone, a second earlier.
 * Each is asked for exactly so by the screen; what a screen asks differently would be fetched twice.
 */
function firstDataOf(path: string, search: string): readonly string[] {
  if (path === '/operator/enter') return []
  const me = '/operator/me'
  if (path === '/operator') return [me, '/operator/attention']
  if (path === '/operator/orders') return search === '' ? [me, '/operator/orders?totals=true'] : [me]
  return path.startsWith('/operator/orders/') ? [me, path] : [me]
}

export function createShell(files: ConsoleFiles, shop: ConsoleShop): Shell {
  const { folder, importMap } = files
  const bar = shop.isSandbox ? [...places, PRACTICE] : places
  const rails = JSON.stringify(shop.rails)
  const src = (name: string) => `${folder}/${name}`

  return {
    policy: [
      "default-src 'none'",
      `script-src 'self' ${hashOf(importMap)} ${hashOf(THEME)}`,
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "manifest-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ].join('; '),

    print(path, search = '') {
      const preloads = files.withImports(['app.js', screenOf(path)])
      return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover">
<title>${headingOf(path)} · ${shop.name}</title>
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<script>${raw(THEME)}</script>
<link rel="stylesheet" href="${src('style.css')}">
<link rel="icon" href="${src('favicon.svg')}" type="image/svg+xml">
<script type="importmap">${raw(importMap)}</script>
${preloads.map((name) => html`<link rel="modulepreload" href="${src(name)}">`)}
${firstDataOf(path, search).map((address) => html`<link rel="preload" as="fetch" crossorigin href="${address}">`)}
<script type="module" src="${src('app.js')}"></script>
</head>
<body data-place="${path === '/operator/enter' ? 'enter' : 'console'}" data-mode="${shop.isSandbox ? 'sandbox' : 'production'}" data-shop="${shop.name}" data-rails="${rails}">
<a class="skip" href="#main">Skip to content</a>
<aside class="side" aria-label="Side bar">
<a class="brand" href="/operator"><img src="${src('favicon.svg')}" width="28" height="28" alt=""><span><b>${shop.name}</b><small id="mode">${shop.isSandbox ? 'sandbox' : 'live'}</small></span></a>
<nav id="places" aria-label="Console">${groupsOf(bar, path)}</nav>
<div id="me" class="me"></div>
</aside>
<div class="stage">
<header id="bar" class="bar"></header>
<div id="banner"></div>
<main id="main" tabindex="-1"><h1 tabindex="-1">${headingOf(path)}</h1><div class="skeleton"></div></main>
</div>
<nav id="tabs" class="tabs" aria-label="Console, short">${bar.filter(({ isTab }) => isTab).map((place) => linkTo(place, path))}<a href="#more" data-icon="more"><span>More</span></a></nav>
<div id="over"></div>
<noscript><p class="notice">The console needs JavaScript. In a terminal, <code>sutler orders</code> shows the same.</p></noscript>
</body>
</html>
`.markup
    },
  }
}

function groupsOf(bar: readonly ConsolePlace[], path: string): readonly Html[] {
  return [...Map.groupBy(bar, ({ group }) => group)].map(
    ([group, inIt]) =>
      html`<div class="group" role="group" aria-label="${group}">${inIt.map((place) => linkTo(place, path))}</div>`,
  )
}

function linkTo({ path: to, name, key, icon }: ConsolePlace, path: string): Html {
  const isHere = to === '/operator' ? path === to : path === to || path.startsWith(`${to}/`)
  const words = html`<span>${name}</span>`
  return isHere
    ? html`<a href="${to}" data-key="${key}" data-icon="${icon}" aria-current="page">${words}</a>`
    : html`<a href="${to}" data-key="${key}" data-icon="${icon}">${words}</a>`
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

/** Our own script and JSON, which stand in the page as they are: their digests are in the policy. */
function raw(markup: string): Html {
  return { markup }
}
