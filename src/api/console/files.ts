import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix } from 'node:path'
import { sha256Hex } from '../../base/json.ts'
import { once } from '../../base/once.ts'

/** A file of the console as it goes out. */
export type ConsoleFile = {
  /** As the other files call it: `screens/orders.js`. */
  readonly name: string
  readonly contentType: string
  readonly bytes: Buffer
}

export type ConsoleFiles = {
  /** All of them lie below this address, which holds their digest: another version is elsewhere, so they may be kept for ever. */
  readonly folder: string
  readonly all: readonly ConsoleFile[]
  /** Where the browser finds what our own files import by a bare name. */
  readonly importMap: string
  /** All modules that are loaded with some of our own, themselves included. */
  withImports(names: readonly string[]): readonly string[]
}

const require = createRequire(import.meta.url)
const SIGNALS = require.resolve('@preact/signals')
const beside = (file: string, name: string) => join(dirname(file), name)

/** The form for browsers of each package, as it was published. Nothing is bundled, so nothing has to be built. */
const packages: ReadonlyMap<string, string> = new Map([
  ['preact', require.resolve('preact')],
  ['preact/hooks', require.resolve('preact/hooks')],
  ['@preact/signals-core', beside(createRequire(SIGNALS).resolve('@preact/signals-core'), 'signals-core.module.js')],
  ['@preact/signals', beside(SIGNALS, 'signals.module.js')],
  ['htm', beside(require.resolve('htm'), 'htm.module.js')],
])

const web = new URL('../../../web/', import.meta.url).pathname

/** Read once in a process, however many shops it opens: what lies on the disk belongs to this version. */
export const consoleFiles: () => ConsoleFiles = once(readConsoleFiles)

/** Everything the console is made of: some hundred kilobytes, as they lie on the disk. */
function readConsoleFiles(): ConsoleFiles {
  const home = join(web, 'console')
  const found = (pattern: string) => globSync(pattern, { cwd: home }).sort()
  const all = [
    ...found('**/*.js').map((name) => fileOf(name, withoutRemarks(readFileSync(join(home, name), 'utf8')))),
    // One sheet: the browser waits for it before it paints, and should wait once.
    fileOf(
      'style.css',
      found('*.css')
        .map((name) => withoutAir(readFileSync(join(home, name), 'utf8')))
        .join(''),
    ),
    ...[...packages].map(([name, file]) => fileOf(packageFile(name), withoutSourceMap(readFileSync(file, 'utf8')))),
    fileOf('favicon.svg', readFileSync(join(web, 'favicon.svg'), 'utf8')),
  ]
  const digest = sha256Hex(Buffer.concat(all.flatMap(({ name, bytes }) => [Buffer.from(`${name}\n`), bytes])))
  const folder = `/operator/assets/${digest.slice(0, 16)}`
  const imports = Object.fromEntries([...packages.keys()].map((name) => [name, `${folder}/${packageFile(name)}`]))
  const needs = new Map(all.map((file) => [file.name, importsOf(file)]))
  return {
    folder,
    all,
    importMap: JSON.stringify({ imports }),
    withImports(names) {
      const reached = new Set<string>()
      const follow = (name: string) => {
        if (reached.has(name) || !needs.has(name)) return
        reached.add(name)
        for (const next of needs.get(name)!) follow(next)
      }
      for (const name of names) follow(name)
      return [...reached]
    },
  }
}

/** What a module loads before it runs. What it imports when somebody asks for it, it loads then. */
function importsOf({ name, bytes }: ConsoleFile): readonly string[] {
  if (!name.endsWith('.js')) return []
  return [...bytes.toString('utf8').matchAll(/\b(?:from|import)\s*["']([^"']+)["']/g)].map(([, target]) =>
    packages.has(target!) ? packageFile(target!) : posix.join(posix.dirname(name), target!),
  )
}

function packageFile(name: string): string {
  return `packages/${name.replace('@', '').replaceAll('/', '-')}.js`
}

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }

function fileOf(name: string, text: string): ConsoleFile {
  const contentType = `${types[name.slice(name.lastIndexOf('.') + 1)]!}; charset=utf-8`
  return { name, contentType, bytes: Buffer.from(text) }
}

/** The packages name source maps that we do not serve; developer tools would ask for them, and find nothing. */
function withoutSourceMap(text: string): string {
  return text.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
}

/**
 * What only we read: lines that are a comment, and what stands before the first letter of a line. It is a tenth of what travels.
 * Neither begins a line inside a text of ours that would change by it: templates of pages have no say about where a line begins.
 */
function withoutRemarks(script: string): string {
  return script
    .replaceAll(/^[ \t]*\/\*\*.*?\*\/[ \t]*\n/gms, '')
    .replaceAll(/^[ \t]*\/\/.*\n/gm, '')
    .replaceAll(/^[ \t]+/gm, '')
}

/** Everybody waits for the sheet, and a fifth of it is how we like to read it. */
function withoutAir(css: string): string {
  return css.replaceAll(/\/\*.*?\*\//gs, '').replaceAll(/\s+/g, ' ')
}
