import { readFileSync } from 'node:fs'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
  readonly devDependencies: Readonly<Record<string, string>>
}

/** The version of this very program, from its manifest. */
export const VERSION = manifest.version

/** Which versions of others the tests and examples were run with. */
export const TESTED_WITH = manifest.devDependencies

/** A checkout runs its TypeScript; the package that npm installs holds the same files without types (pack.ts). */
export const IS_PACKED = import.meta.filename.endsWith('.js')
