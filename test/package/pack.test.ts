import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { assertStopped, begin, lineWith, oldNode, type Place } from '../cli/started.ts'
import { root } from '../cli/sutler.ts'
import { freePort } from '../support/free-port.ts'
import { plainPath, registryTrouble } from './installing.ts'

// What npm would publish, in an empty folder of whoever has any Node from 20 on: it starts, sells and stops. With --install npm itself brings
// it there, from the registry, which takes most of a minute; otherwise the packages that the lock file names for production are copied.

const work = mkdtempSync(join(tmpdir(), 'sutler-pack-'))
const home = join(work, 'home')
after(() => rmSync(work, { recursive: true, force: true }))

const run = promisify(execFile)
/** Of our surroundings only what npm needs to find its registry. One of the packages would tell its makers that it was installed. */
const terminal = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) =>
      /^(HOME|npm_config_(registry|cache|userconfig)|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS)$/i.test(name),
    ),
  ),
  PATH: plainPath,
  SCARF_ANALYTICS: 'false',
}

const { filename, files } = await pack()
const trouble = await install(join(work, filename))
const installed = { skip: trouble }
const place: Place = {
  env: { ...terminal, PORT: String(await freePort()), SUTLER_DATA_DIR: join(work, 'data'), SUTLER_LOG: 'error' },
  cwd: home,
}

async function pack(): Promise<{ readonly filename: string; readonly files: readonly string[] }> {
  const checkout = join(work, 'checkout')
  const isOurs = (path: string) => !/^(node_modules|\.git|data|dist|coverage)$/.test(path.slice(root.length + 1))
  cpSync(root, checkout, { recursive: true, filter: isOurs })
  const env = { ...terminal, PATH: [dirname(process.execPath), plainPath].join(delimiter) }
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', work], { cwd: checkout, env })
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  return { filename: packed.filename, files: packed.files.map(({ path }) => path) }
}

/** False, or why it could not be installed: a registry that cannot be reached says nothing about the package. */
async function install(tarball: string): Promise<string | false> {
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{}\n')
  if (!process.env['TEST_INSTALL']) return unpack(tarball)
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--fetch-retries=0', '--fetch-timeout=30000']
  try {
    await run('npm', ['install', ...options, tarball], { cwd: home, env: terminal })
    return false
  } catch (error) {
    return registryTrouble(error)
  }
}

/** As npm lays it out: what is packed, its production packages beside it, and their commands. */
async function unpack(tarball: string): Promise<false> {
  const packages = join(home, 'node_modules')
  const own = join(packages, 'sutler')
  for (const folder of [own, join(packages, '.bin')]) mkdirSync(folder, { recursive: true })
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', own])
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean; bin?: Record<string, string> }>
  }
  for (const [path, { dev, devOptional, bin = {} }] of Object.entries(lock.packages)) {
    if (dev || devOptional || !existsSync(join(root, path))) continue
    const folder = path === '' ? 'sutler' : path.slice('node_modules/'.length)
    if (path !== '')
      cpSync(join(root, path), join(home, path), { recursive: true, filter: (source) => !isNested(source, path) })
    if (!folder.includes('node_modules'))
      for (const [name, file] of Object.entries(bin))
        symlinkSync(join('..', folder, file), join(packages, '.bin', name))
  }
  return false
}

/** Packages within a package have a line of their own in the lock file. */
function isNested(source: string, path: string): boolean {
  return source.slice(join(root, path).length).startsWith('/node_modules')
}

test('the package holds what an operator needs, and nothing that only developers do', () => {
  for (const needed of [
    ...['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'VERSIONING.md', '.env.example', 'Caddyfile'],
    ...['compose.yaml', 'deploy/sutler.service', 'examples/buy-with-x402.ts', 'web/favicon.svg'],
    ...['docs/operating.md', 'docs/operating/open-a-shop.md', 'docs/decisions/0001-one-package.md'],
    ...['bin/sutler.js', 'dist/cli/main.js', 'dist/devchain/worker.js', 'dist/store/embedded/worker.js'],
    ...['dist/artifacts/SaleLots.js', 'contracts/src/SaleLots.sol'],
  ])
    assert.ok(files.includes(needed), needed)
  const migrations = readdirSync(join(root, 'src/store/migrations')).map((name) => `dist/store/migrations/${name}`)
  assert.deepEqual(
    migrations.filter((name) => !files.includes(name)),
    [],
  )
  const unwanted = /^(test|bench|src|data|node_modules|\.ci|\.github|contracts\/test)\/|\.(test|cases)\.|(^|\/)\.env$/
  assert.deepEqual(
    files.filter((path) => unwanted.test(path)),
    [],
  )
})

test('its manifest can be published, and asks for what the checkout asks for', installed, () => {
  const read = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const [ours, theirs] = [read(root), read(join(home, 'node_modules/sutler'))]
  assert.equal(theirs.private, undefined)
  assert.deepEqual(theirs.engines, { node: '>=20' })
  assert.deepEqual(theirs.dependencies, ours.dependencies)
  assert.match(theirs.dependencies.node, /^24\.\d+\.\d+$/)
})

test('on a Node before 24 it finds the Node that was installed with it', installed, async (t) => {
  const { lines, ended } = begin(t, [...oldNode, 'node_modules/sutler/bin/sutler.js', '--version'], place)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  assert.equal((await lines.next()).value, version)
  assert.deepEqual(await ended, [0, null])
})

test(
  'it opens, sells to stock clients as its banner promises, and leaves nothing behind when npx is stopped',
  installed,
  async (t) => {
    const shop = begin(t, ['npx', 'sutler', 'start'], place)
    const url = /http:\/\/\S+/.exec(await lineWith(shop, 'is open at'))![0]
    const promised = [await lineWith(shop, 'buy-with-x402'), await lineWith(shop, 'npx mppx')]
    const [x402, mpp] = await Promise.all(promised.map((line) => run('sh', ['-c', line], place)))
    assert.match(x402!.stdout, /200 confirmed/)
    assert.match(mpp!.stdout, /"status":"confirmed"/)
    for (const path of ['/', '/docs', '/favicon.svg', '/openapi.json'])
      assert.equal((await fetch(url + path)).status, 200, path)
    process.kill(shop.pid, 'SIGTERM')
    await shop.ended
    await assertStopped(shop, place)
  },
)
