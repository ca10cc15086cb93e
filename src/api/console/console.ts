import { brotliCompressSync, gzipSync } from 'node:zlib'
import { Problem } from '../../base/problem.ts'
import type { Other } from '../app.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import type { Handler, Headers, Reply } from '../http/reply.ts'
import type { HttpRequest } from '../http/request.ts'
import { type ConsoleFile, consoleFiles } from './files.ts'
import { consolePaths } from './places.ts'
import { type ConsoleShop, createShell } from './shell.ts'

/** Of whatever the console serves: no other site may frame it, read it, or learn from where somebody came. */
const GUARDS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
} as const

/**
 * One address, two forms: a browser that navigates gets the page, everything else the JSON of the operator's route at the same place.
 * The page is the same for everybody; what it shows, it asks for with the reader's own session.
 */
export function withConsole(
  routes: ReadonlyMap<string, Handler>,
  shop: ConsoleShop | null,
  limiter: RateLimiter,
): ReadonlyMap<string, Omit<Other, 'host'>> {
  const others = new Map<string, Omit<Other, 'host'>>([...routes].map(([path, handle]) => [path, { handle }]))
  // Null: it is switched off. Where there are no operators, there is none either.
  if (shop === null || routes.size === 0) return others
  const files = consoleFiles()
  const page = pageHandler(createShell(files, shop), limiter)
  for (const path of consolePaths) {
    const handle = routes.get(path) ?? pageOnly
    others.set(path, { handle, page: (request, params) => (isTable(request) ? handle : page)(request, params) })
  }
  for (const file of files.all) others.set(`${files.folder}/${file.name}`, { handle: fileHandler(file, limiter) })
  return others
}

/** A link to a table is followed like a link to a page; what it names is the file. */
function isTable(request: HttpRequest): boolean {
  return request.query('format') === 'csv'
}

/** A place of the console that has no data of its own. */
const pageOnly: Handler = ({ path }) => {
  throw new Problem('route_not_found', `${path} is a page for people; what it shows has addresses of its own.`)
}

function pageHandler(shell: ReturnType<typeof createShell>, limiter: RateLimiter): Handler {
  return (request): Reply => ({
    status: 200,
    headers: {
      ...GUARDS,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': shell.policy,
      'Cache-Control': 'no-store',
      Vary: 'Accept, Cookie',
      ...limiter.take('read', request),
    },
    body: shell.print(request.path, request.search),
  })
}

/** How a file may travel, the smallest first. */
const PACKERS = [
  [/\bbr\b/, 'br', brotliCompressSync],
  [/\bgzip\b/, 'gzip', (bytes: Buffer) => gzipSync(bytes, { level: 9 })],
] as const

function fileHandler({ contentType, bytes }: ConsoleFile, limiter: RateLimiter): Handler {
  /** Packed when the first visitor asks, then kept: most shops start more often than anybody looks. */
  const packed = new Map<string, Buffer>()
  return (request): Reply => {
    const counted = limiter.take('read', request)
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw new Problem('method_not_allowed', 'Use GET or HEAD here.', { headers: { Allow: 'GET, HEAD' } })
    const headers: Headers = {
      ...GUARDS,
      'Content-Type': contentType,
      'Cache-Control': 'public, max-age=31536000, immutable',
      Vary: 'Accept-Encoding',
      ...counted,
    }
    const accepted = request.header('accept-encoding') ?? ''
    const packer = PACKERS.find(([pattern]) => pattern.test(accepted))
    if (!packer) return { status: 200, headers, body: bytes }
    const [, encoding, pack] = packer
    const body = packed.get(encoding) ?? pack(bytes)
    packed.set(encoding, body)
    return { status: 200, headers: { ...headers, 'Content-Encoding': encoding }, body }
  }
}
