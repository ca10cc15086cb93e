import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { sha256Hex } from '../../base/json.ts'

/** A file of the console as it goes out. */
export type ConsoleFile = {
  /** As the other files call it: `screens/orders.js`. */
  readonly name: string
  readonly contentType: string
  readonly plain: Buffer
  readonly packed: Buffer
}

export type ConsoleFiles = {
  /** All of them lie below this address, which holds their digest: another version is elsewhere, so they may be kept for ever. */
  readonly folder: string
  readonly all: readonly ConsoleFile[]
  /** Where the browser finds what our own files import by a bare name. */
  readonly importMap: string
}

const require = createRequire(import.meta.url)
const SIGNALS = require.resolve('@preact/signals')
const beside = (file: string, name: string) => join(dirname(file), name)

/** The form for browsers of each package, as it was published. Nothing is bundled, so nothing has to be built. */
const packages: Readonly<Record<string, string>> = {
  preact: require.resolve('preact'),
  'preact/hooks': require.resolve('preact/hooks'),
  '@preact/signals-core': beside(createRequire(SIGNALS).resolve('@preact/signals-core'), 'signals-core.module.js'),
  '@preact/signals': beside(SIGNALS, 'signals.module.js'),
  htm: beside(require.resolve('htm'), 'htm.module.js'),
}

const web = new URL('../../../web/', import.meta.url).pathname

/** Reads and packs everything the console is made of. It is small: some tens of kilobytes. */
export function readConsoleFiles(): ConsoleFiles {
  const home = join(web, 'console')
  const found = (pattern: string) => globSync(pattern, { cwd: home }).sort()
  const all = [
    ...found('**/*.js').map((name) => fileOf(name, readFileSync(join(home, name)))),
    // One sheet: the browser waits for it before it paints, and should wait once.
    fileOf('style.css', Buffer.concat(found('*.css').map((name) => readFileSync(join(home, name))))),
    ...Object.entries(packages).map(([name, file]) => fileOf(packageFile(name), readFileSync(file))),
    fileOf('favicon.svg', readFileSync(join(web, 'favicon.svg'))),
  ]
  const digest = sha256Hex(Buffer.concat(all.flatMap(({ name, plain }) => [Buffer.from(`${name}\n`), plain])))
  const folder = `/operator/assets/${digest.slice(0, 16)}`
  const imports = Object.fromEntries(
    Object.keys(packages).map((name) => [name, `${folder}/${packageFile(name)}`] as const),
  )
  return { folder, all, importMap: JSON.stringify({ imports }) }
}

function packageFile(name: string): string {
  return `packages/${name.replace('@', '').replaceAll('/', '-')}.js`
}

const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }

function fileOf(name: string, bytes: Buffer): ConsoleFile {
  const plain = withoutSourceMap(bytes)
  const contentType = `${types[name.slice(name.lastIndexOf('.') + 1)]!}; charset=utf-8`
  return { name, contentType, plain, packed: gzipSync(plain, { level: 9 }) }
}

/** The packages name source maps that we do not serve; developer tools would ask for them, and find nothing. */
function withoutSourceMap(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('utf8').replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n'))
}
