import type { Facts } from '../facts/facts.ts'
import { documentsOf, tagline } from '../facts/guidance.ts'

// Where everything is, for search engines and for models.

/** More than these are found by following them. */
const PAGES_MAX = 1_000

/** `/sitemap.xml`: an index, because what is on the shelves may become many pages. */
export function sitemapText({ origin, since }: Facts): string {
  const list = `<sitemap><loc>${escapeXml(origin)}/sitemap-pages.xml</loc><lastmod>${since}</lastmod></sitemap>`
  return `${XML}<sitemapindex ${NAMESPACE}>\n  ${list}\n</sitemapindex>\n`
}

/** `/sitemap-pages.xml`: what a browser is shown, each thing on sale among it. */
export function pageListText(facts: Facts): string {
  const { origin, since } = facts
  const pages = pagesOf(facts).map(
    ({ path }) => `  <url><loc>${escapeXml(origin + path)}</loc><lastmod>${since}</lastmod></url>`,
  )
  return `${XML}<urlset ${NAMESPACE}>\n${pages.join('\n')}\n</urlset>\n`
}

/** `/sitemap.md`: the same, and the documents. Names of goods are not among it: they are data, and this is read as instructions. */
export function sitemapMarkdown(facts: Facts): string {
  const { origin } = facts
  const pages = pagesOf(facts).map(({ path, words }) => `- [${words}](${origin}${path})`)
  const documents = documentsOf(facts).map(({ title, url, words }) => `- [${title}](${url}): ${words}`)
  return `# Where everything is

> ${tagline(facts)}

## Pages

${pages.join('\n')}

## Documents

${documents.join('\n')}
`
}

type ListedPage = { readonly path: string; readonly words: string }

function pagesOf({ items, sandboxUrl }: Facts): readonly ListedPage[] {
  return [
    { path: '/', words: 'The shop' },
    { path: '/catalog', words: 'Catalog' },
    { path: '/docs', words: 'API' },
    { path: '/errors', words: 'Errors' },
    ...(sandboxUrl ? [{ path: '/sandbox', words: 'Sandbox' }] : []),
    ...items.slice(0, PAGES_MAX).map(({ catalogId }) => ({
      path: `/catalog/${encodeURIComponent(catalogId)}`,
      words: catalogId,
    })),
  ]
}

const XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
const NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
