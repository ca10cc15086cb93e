import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { basename } from 'node:path'
import { test } from 'node:test'
import { CLUSTER } from '../src/store/embedded/cluster.ts'

type Locked = {
  readonly version?: string
  readonly dev?: boolean
  readonly hasInstallScript?: boolean
  readonly integrity?: string
  readonly resolved?: string
  readonly os?: readonly string[]
  readonly libc?: readonly string[]
  readonly engines?: { readonly node?: string }
}

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly scripts: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
}
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  readonly packages: Readonly<Record<string, Locked>>
}
const installed = Object.entries(packages).filter(([path]) => path !== '')
const nameOf = (path: string): string => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)

test('L-01: every version is exact, every package has its digest, and install scripts are named one by one, none of them ours', () => {
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies }))
    assert.match(version, /^(npm:.+@)?\d+\.\d+\.\d+(-[\w.]+)?$/, name)
  for (const [path, { integrity, resolved, os, libc }] of installed) {
    // Binaries of other platforms are named by whoever brings them along; `lockfile.ts` could not look at them.
    const isOfOtherPlatform = (os !== undefined && !os.includes('linux')) || libc?.includes('musl')
    assert.ok(integrity ?? isOfOtherPlatform, path)
    assert.equal(resolved, undefined, `${path} names the server it was fetched from`)
  }
  // Ours would run in the folder of the packages of others, which we know nothing about.
  assert.deepEqual(
    Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$|^(pre|post)?prepare$/.test(name)),
    [],
  )
  assert.equal(packages['']?.hasInstallScript, undefined)
  const scripted = installed.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path))
  assert.deepEqual(
    scripted.filter((name) => manifest.allowScripts[name] === undefined),
    [],
  )
})

test('a new data folder begins with a database of the very PGlite that is installed', () => {
  const packed = globSync('src/store/embedded/*.tar.br').map((file) => basename(file))
  const version = manifest.dependencies['@electric-sql/pglite']
  assert.deepEqual(packed, [`cluster-${version}.tar.br`], 'after a change of PGlite: npm run cluster')
  assert.equal(basename(CLUSTER.pathname), packed[0])
})

/** The first versions without the published holes of this stack. Whatever is below is not installed, in any corner of the tree. */
const floors: Readonly<Record<string, string>> = {
  mppx: '0.8.0',
  hono: '4.12.21',
  '@hono/node-server': '1.19.10',
  '@modelcontextprotocol/sdk': '1.26.0',
  '@x402/core': '2.6.0',
  '@x402/evm': '2.6.0',
}

test('L-01: no package is below the version that closed its published holes', () => {
  for (const [name, floor] of Object.entries(floors)) {
    const copies = installed.filter(([path]) => nameOf(path) === name)
    assert.ok(copies.length > 0, name)
    for (const [path, { version }] of copies) assert.ok(isAtLeast(version!, floor), `${path} ${version} < ${floor}`)
  }
})

function isAtLeast(version: string, floor: string): boolean {
  const [ours, least] = [version, floor].map((text) => text.split('-')[0]!.split('.').map(Number))
  for (const [index, part] of least!.entries()) if (ours![index] !== part) return ours![index]! > part
  return true
}

test('every package takes Node 20, which is enough to begin with: npm warns of none', () => {
  const refusing = installed.filter(([, { engines }]) => engines?.node && !takes(engines.node, '20.19.0'))
  assert.deepEqual(refusing, [])
  assert.equal(takes('^18 || >=22', '20.19.0'), false)
  assert.equal(takes('>=20.19.0 <21.0.0', '20.19.0'), true)
})

/** As far as packages write ranges: alternatives of bounds. */
function takes(range: string, version: string): boolean {
  const full = (text: string) => [...text.replaceAll(/\.x/g, '').split('.'), '0', '0'].slice(0, 3).join('.')
  return range.split('||').some((alternative) =>
    [...alternative.matchAll(/([<>^~=]*)\s*([\d.x]+)/g)].every(([, sign, text]) => {
      const bound = full(text!)
      if (sign === '<') return !isAtLeast(version, bound)
      const isSame = sign === '>=' || version.split('.')[0] === bound.split('.')[0]
      return isSame && isAtLeast(version, bound)
    }),
  )
}

test('what the shop imports is installed without the development packages', () => {
  const missing = globSync('{src,bin}/**/*.{ts,js}')
    .filter((file) => !/\.(test|cases)\.ts$|rails\/\w+\/documents\.ts$/.test(file))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/(?:^import\b(?:[^']* from)? |\bimport\()'([^.'][^']*)'/gm)]
        .map(([, target]) => packageOf(target!))
        .filter(
          (name) => !name.startsWith('node:') && !builtinModules.includes(name) && !(name in manifest.dependencies),
        )
        .map((name) => `${file} imports ${name}`),
    )
  assert.deepEqual(missing, [])
})

function packageOf(target: string): string {
  return target.split('/', target.startsWith('@') ? 2 : 1).join('/')
}
