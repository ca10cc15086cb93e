import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join, relative } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** Serves an empty page, and the installed packages as ES modules: what a bundler would do, without one. */
export type ModuleServer = { readonly origin: string; stop(): Promise<void> }

export async function serveModules(): Promise<ModuleServer> {
  const server = createServer((incoming, outgoing) => {
    const path = decodeURIComponent(new URL(incoming.url ?? '/', 'http://x').pathname)
    if (path === '/')
      return outgoing.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>agent</title>')
    const file = path.startsWith('/package/') ? resolvePackage(path.slice('/package/'.length), root) : join(root, path)
    if (!file.startsWith(join(root, 'node_modules')) || !existsSync(file)) return outgoing.writeHead(404).end()
    // A bare name is resolved as seen from the module that was asked for, so that module must be at its real address.
    if (path.startsWith('/package/')) return outgoing.writeHead(302, { location: urlOf(file) }).end()
    outgoing
      .writeHead(200, { 'content-type': 'text/javascript', 'cache-control': 'max-age=3600' })
      .end(withAddresses(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function urlOf(file: string): string {
  return `/${relative(root, file)}`
}

const IMPORT = /(\bfrom\s*|\bimport\s*\(?\s*)(["'])([^"'./][^"']*)\2/g

function withAddresses(file: string): string {
  const text = readFileSync(file, 'utf8')
  if (/\bmodule\.exports\b/.test(text) && !/^\s*(import|export)\b/m.test(text))
    return `const module = { exports: {} }\n${text}\nexport default module.exports`
  return text.replace(IMPORT, (whole, before: string, quote: string, name: string) => {
    try {
      return `${before}${quote}${urlOf(resolvePackage(name, dirname(file)))}${quote}`
    } catch {
      // A module of Node, in a branch that browsers do not take, or a text that only looks like an import.
      return whole
    }
  })
}

type Exports = string | null | { readonly [condition: string]: Exports }
const CONDITIONS = ['browser', 'import', 'module', 'default']

const resolved = new Map<string, string>()

/** Once for each folder that names it: two thousand modules name the same few packages. */
function resolvePackage(name: string, from: string): string {
  const key = `${name} ${from}`
  const known = resolved.get(key) ?? lookFor(name, from)
  resolved.set(key, known)
  return known
}

function lookFor(name: string, from: string): string {
  const [, scope = name, rest = ''] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? []
  for (let folder = from; folder.startsWith(root); folder = dirname(folder)) {
    const home = join(folder, 'node_modules', scope)
    if (!existsSync(join(home, 'package.json'))) continue
    const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
    const target = manifest.exports ? exported(manifest.exports, `.${rest}`) : rest || manifest.module || manifest.main
    if (target) return join(home, target)
  }
  throw new Error(`${name} is not installed for ${from}`)
}

function exported(exports: Exports, path: string): string | null {
  if (typeof exports === 'string') return path === '.' ? exports : null
  if (exports === null) return null
  if (!Object.keys(exports).some((key) => key.startsWith('.'))) return path === '.' ? chosen(exports) : null
  const exact = exports[path]
  if (exact !== undefined) return chosen(exact)
  for (const [pattern, target] of Object.entries(exports)) {
    const [before = '', after = ''] = pattern.split('*')
    if (pattern.includes('*') && path.startsWith(before) && path.endsWith(after))
      return chosen(target)?.replaceAll('*', path.slice(before.length, path.length - after.length)) ?? null
  }
  return null
}

function chosen(target: Exports): string | null {
  if (typeof target === 'string' || target === null) return target
  for (const [condition, inner] of Object.entries(target)) {
    const found = CONDITIONS.includes(condition) ? chosen(inner) : null
    if (found !== null) return found
  }
  return null
}
