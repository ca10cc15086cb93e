import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const { resolve } = createRequire(import.meta.url)

/** A file of an installed package, whatever the package says that it exports. */
export function installed(name: string, file: string): string {
  return join(dirname(resolve(`${name}/package.json`)), file)
}
