import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { sha256Hex } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { corsHeaders } from '../http/cors.ts'
import type { Handler, Headers, Reply } from '../http/reply.ts'

const { resolve } = createRequire(import.meta.url)
const { version } = createRequire(import.meta.url)('swagger-ui-dist/package.json') as { version: string }

/** Where the pieces of the API viewer are. Another version has another address, so these may be kept for ever. */
export const viewer = {
  script: `/docs/${version}/swagger-ui-bundle.js`,
  style: `/docs/${version}/swagger-ui.css`,
} as const

type Asset = { readonly file: string; readonly contentType: string; readonly maxAgeSeconds: number }

const DAY = 86_400
const web = (name: string) => new URL(`../../../web/${name}`, import.meta.url).pathname

const assets: Readonly<Record<string, Asset>> = {
  [viewer.script]: {
    file: resolve('swagger-ui-dist/swagger-ui-bundle.js'),
    contentType: 'text/javascript; charset=utf-8',
    maxAgeSeconds: 365 * DAY,
  },
  [viewer.style]: {
    file: resolve('swagger-ui-dist/swagger-ui.css'),
    contentType: 'text/css; charset=utf-8',
    maxAgeSeconds: 365 * DAY,
  },
  '/favicon.svg': { file: web('favicon.svg'), contentType: 'image/svg+xml', maxAgeSeconds: DAY },
  '/favicon.png': { file: web('favicon.png'), contentType: 'image/png', maxAgeSeconds: DAY },
  '/favicon.ico': { file: web('favicon.ico'), contentType: 'image/x-icon', maxAgeSeconds: DAY },
}

/** Files that never change while we run: read and packed when the first visitor asks, then kept. */
export function assetHandlers(limiter: RateLimiter): ReadonlyMap<string, Handler> {
  return new Map(Object.entries(assets).map(([path, asset]) => [path, handlerOf(asset, limiter)]))
}

type Loaded = { readonly plain: Buffer; readonly packed: Buffer; readonly etag: string }

function handlerOf(asset: Asset, limiter: RateLimiter): Handler {
  const cors = corsHeaders()
  let loading: Promise<Loaded> | null = null
  return async (request): Promise<Reply> => {
    const counted = limiter.take('read', request)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new Problem('method_not_allowed', 'Use GET or HEAD here.', { headers: { Allow: 'GET, HEAD' } })
    loading ??= load(asset.file)
    const { plain, packed, etag } = await loading
    const isPacked = /\bgzip\b/.test(request.header('accept-encoding') ?? '') && packed.length < plain.length
    const headers: Headers = {
      ...cors,
      'Content-Type': asset.contentType,
      'Cache-Control': `public, max-age=${asset.maxAgeSeconds}`,
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
      ETag: etag,
      ...counted,
    }
    if (request.header('if-none-match')?.includes(etag)) return { status: 304, headers, body: null }
    return isPacked
      ? { status: 200, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: packed }
      : { status: 200, headers, body: plain }
  }
}

async function load(file: string): Promise<Loaded> {
  const plain = await readFile(file)
  const packed = await promisify(gzip)(plain, { level: 9 })
  // Weak: the packed and the plain form are the same thing in two wrappings.
  return { plain, packed, etag: `W/"${sha256Hex(plain).slice(0, 32)}"` }
}
