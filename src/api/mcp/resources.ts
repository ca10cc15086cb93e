import { stringify } from '../../base/json.ts'
import type { FreeRoute, Route } from '../../domain/route.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { handled } from './free-tool.ts'
import type { McpResource, McpTemplate } from './server.ts'

type Document = {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly path: RegExp
}

/** Documents that hosts may put before a model without a call. Tools come first: few hosts read these by themselves. */
const documents: readonly Document[] = [
  {
    uri: 'catalog://sale',
    name: 'sale-catalog',
    title: 'NFT lots on sale',
    description: 'Every open sale lot with its id and price.',
    path: /^\/agentic\/\w+\/offers$/,
  },
  {
    uri: 'catalog://shop',
    name: 'shop-catalog',
    title: 'In-game items in the shop',
    description: 'Every in-game item with its id and price.',
    path: /^\/shop\/\w+\/offers$/,
  },
  {
    uri: 'contract://openapi',
    name: 'openapi',
    title: 'OpenAPI contract',
    description: 'The payable HTTP routes of this shop as OpenAPI 3.1.',
    path: /^\/openapi\.json$/,
  },
]

/** The free routes that hold these documents, read through their own handlers; what the table does not have is not there. */
export function resourcesOf(routes: readonly Route[], limiter: RateLimiter): readonly McpResource[] {
  return documents.flatMap(({ path, ...listing }) => {
    const row = routes.find(
      (row): row is FreeRoute => row.kind === 'free' && row.method === 'GET' && path.test(row.path),
    )
    if (!row) return []
    const mimeType = 'application/json'
    return [
      {
        listing: { ...listing, mimeType },
        async read(http) {
          if (row.bucket) limiter.take(row.bucket, http)
          const body = await handled(row, {})
          return { text: typeof body === 'string' ? body : stringify(body) }
        },
      },
    ]
  })
}

type Family = {
  readonly prefix: string
  readonly variable: string
  readonly name: string
  readonly title: string
  readonly path: string
}

/** Routes that tell of one thing by its name. */
const families: readonly Family[] = [
  {
    prefix: 'catalog://item/',
    variable: 'catalogId',
    name: 'item',
    title: 'One thing on sale',
    path: '/catalog/{catalogId}',
  },
  {
    prefix: 'payment://',
    variable: 'reference',
    name: 'payment',
    title: 'What became of a payment',
    path: '/payments/{reference}',
  },
]

export function templatesOf(routes: readonly Route[], limiter: RateLimiter): readonly McpTemplate[] {
  return families.flatMap(({ prefix, variable, name, title, path }) => {
    const row = routes.find((row): row is FreeRoute => row.kind === 'free' && row.path === path)
    if (!row) return []
    return [
      {
        listing: {
          uriTemplate: `${prefix}{${variable}}`,
          name,
          title,
          description: row.description,
          mimeType: 'application/json',
        },
        prefix,
        async read(value, http) {
          if (row.bucket) limiter.take(row.bucket, http)
          const body = await handled(row, { [variable]: value })
          return { text: typeof body === 'string' ? body : stringify(body) }
        },
      },
    ]
  })
}
