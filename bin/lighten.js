// Takes away what packages bring along and nobody here opens. Run by npm after an installation, on Node 20 too; without it everything works
// the same and is larger.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import module from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

removeHeaders()
// What lies beside a package belongs to whoever installed it. In a checkout that is us.
if (existsSync(join(root, 'package-lock.json'))) removeUnopened(join(root, 'node_modules'))

/** The pinned Node comes with everything that is needed to build it into another program: a third of its size. */
function removeHeaders() {
  const parts = join(packageFolder('node'), 'node_modules')
  if (!existsSync(parts)) return
  for (const name of readdirSync(parts).filter((name) => name.startsWith('node-')))
    for (const part of ['include', 'share']) rmSync(join(parts, name, part), { recursive: true, force: true })
}

/** Source maps, the sources that they lead to, and the form of viem that only `require` opens. */
function removeUnopened(folder) {
  if (!existsSync(folder)) return
  rmSync(join(folder, 'viem/_cjs'), { recursive: true, force: true })
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (entry.isFile() && isUnopened(entry.name)) rmSync(join(entry.parentPath ?? entry.path, entry.name))
  }
}

function isUnopened(name) {
  return name.endsWith('.map') || (/\.[cm]?ts$/.test(name) && !/\.d\.[cm]?ts$/.test(name))
}

function packageFolder(name) {
  try {
    return dirname(module.createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch {
    return join(root, 'node_modules', name)
  }
}
