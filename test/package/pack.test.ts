import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { assertStopped, begin, lineWith, oldNode, type Place } from '../cli/started.ts'
import { root } from '../cli/sutler.ts'
import { freePort } from '../support/shop.ts'

// What npm would publish, installed into an empty folder by whoever has any Node from 20 on: it starts, sells and stops.

const work = mkdtempSync(join(tmpdir(), 'sutler-pack-'))
const home = join(work, 'home')
const { PATH = '', HOME = '' } = process.env
/** As in a terminal: nothing of the checkout that these tests run in. */
const plainPath = PATH.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter)
const run = promisify(execFile)
let files: readonly string[]
let place: Place

before(async () => {
  const checkout = join(work, 'checkout')
  const isOurs = (path: string) => !/^(node_modules|\.git|data|dist|coverage)$/.test(path.slice(root.length + 1))
  cpSync(root, checkout, { recursive: true, filter: isOurs })
  const env = { PATH: [dirname(process.execPath), plainPath].join(delimiter), HOME }
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', work], { cwd: checkout, env })
  const [packed] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  files = packed.files.map(({ path }) => path)
  mkdirSync(home)
  writeFileSync(join(home, 'package.json'), '{}\n')
  const options = ['--prefer-offline', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, join(work, packed.filename)], { cwd: home, env: { PATH: plainPath, HOME } })
  const shop = { PORT: String(await freePort()), SUTLER_DATA_DIR: join(work, 'data'), SUTLER_LOG: 'error' }
  place = { env: { PATH: plainPath, HOME, ...shop }, cwd: home }
})
after(() => rmSync(work, { recursive: true, force: true }))

test('the package holds what an operator needs, and nothing that only developers do', () => {
  for (const needed of [
    ...['LICENSE', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'VERSIONING.md', '.env.example', 'Caddyfile'],
    ...['compose.yaml', 'deploy/sutler.service', 'docs/operating.md', 'examples/buy-with-x402.ts', 'web/favicon.svg'],
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

test('its manifest can be published, and asks for what the checkout asks for', () => {
  const read = (folder: string) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const [ours, theirs] = [read(root), read(join(home, 'node_modules/sutler'))]
  assert.equal(theirs.private, undefined)
  assert.deepEqual(theirs.engines, { node: '>=20' })
  assert.deepEqual(theirs.dependencies, ours.dependencies)
  assert.match(theirs.dependencies.node, /^24\.\d+\.\d+$/)
})

test('on a Node before 24 it finds the Node that was installed with it', async (t) => {
  const { lines, ended } = begin(t, [...oldNode, 'node_modules/sutler/bin/sutler.js', '--version'], place)
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  assert.equal((await lines.next()).value, version)
  assert.deepEqual(await ended, [0, null])
})

test('it opens, sells on both rails, keeps the promise of its banner, and leaves nothing behind when npx is stopped', async (t) => {
  const shop = begin(t, ['npx', 'sutler', 'start'], place)
  const url = /http:\/\/\S+/.exec(await lineWith(shop, 'is open at'))![0]
  const line = await lineWith(shop, 'buy-with-x402')
  const { stdout: bought } = await run('sh', ['-c', line], { cwd: home, env: place.env })
  assert.match(bought, /200 confirmed/)
  const { stdout } = await run('npx', ['sutler', 'demo', '--json', '--url', url], { cwd: home, env: place.env })
  assert.equal((JSON.parse(stdout) as { purchases: unknown[] }).purchases.length, 11)
  for (const path of ['/', '/docs', '/favicon.svg', '/openapi.json'])
    assert.equal((await fetch(url + path)).status, 200, path)
  process.kill(shop.pid, 'SIGTERM')
  await shop.ended
  await assertStopped(shop, place)
})
