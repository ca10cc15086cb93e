import * as z from 'zod'
import type { Facts } from '../facts/facts.ts'

// What crawlers of the plain web look for.

/** RFC 9727, and the profile that says so. */
export const API_CATALOG_TYPE = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'

const link = z.object({ href: z.string(), type: z.string() })

export const apiCatalogSchema = z
  .object({
    linkset: z.array(
      z.object({
        anchor: z.string(),
        'service-desc': z.array(link),
        'service-doc': z.array(link),
        status: z.array(link).exactOptional(),
      }),
    ),
  })
  .meta({ id: 'ApiCatalog', description: 'The APIs of this host, and where each is described' })

/** `/.well-known/api-catalog`. */
export function apiCatalog({ origin, hasMcp, mcpUrl, sandboxUrl }: Facts): z.output<typeof apiCatalogSchema> {
  const json = 'application/json'
  return {
    linkset: [
      {
        anchor: origin,
        'service-desc': [
          { href: `${origin}/openapi.json`, type: json },
          { href: `${origin}/openapi.full.json`, type: json },
          { href: `${origin}/openapi.events.json`, type: json },
          ...(sandboxUrl ? [{ href: `${origin}/openapi.sandbox.json`, type: json }] : []),
        ],
        'service-doc': [
          { href: `${origin}/docs`, type: 'text/html' },
          { href: `${origin}/llms.txt`, type: 'text/plain' },
        ],
        status: [{ href: `${origin}/health/ready`, type: json }],
      },
      ...(hasMcp
        ? [
            {
              anchor: mcpUrl,
              'service-desc': [{ href: `${mcpUrl}/server-card`, type: 'application/mcp-server-card+json' }],
              'service-doc': [{ href: `${origin}/llms.txt`, type: 'text/plain' }],
            },
          ]
        : []),
    ],
  }
}

/** Everything may be read, and answered from: that is what it is written for. Whether models may learn from it is the operator's to say. Status pages of single purchases have no place in a search engine. */
export function robotsText({ origin }: Facts): string {
  return `User-agent: *
Content-Signal: search=yes, ai-input=yes
Allow: /
Disallow: /payments/

Sitemap: ${origin}/sitemap.xml
`
}

/** Where documents are, for whoever got an answer of the home page only (RFC 8288). */
export function linkHeader(): string {
  const links: readonly (readonly [string, string])[] = [
    ['/openapi.json', 'service-desc'],
    ['/docs', 'service-doc'],
    ['/.well-known/api-catalog', 'api-catalog'],
    ['/llms.txt', 'describedby'],
  ]
  return links.map(([path, rel]) => `<${path}>; rel="${rel}"`).join(', ')
}
