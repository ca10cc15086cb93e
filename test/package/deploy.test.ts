import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import {
  chownSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { defaultLimits } from '../../src/config/limits.ts'
import { root } from '../cli/sutler.ts'
import { unprivilegedAccount } from '../support/account.ts'
import { plainPath, registryTrouble } from './installing.ts'

// Tests need no container engine and no running systemd. What can be known without: the lines of the Dockerfile name what is there, the
// files that they bring together run, and what systemd itself says about the unit.

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const run = promisify(execFile)
const work = mkdtempSync(join(tmpdir(), 'sutler-deploy-'))
after(() => rmSync(work, { recursive: true, force: true }))

/** What `docker build` would send to the engine: the last pattern that matches a file, or a folder above it, decides. */
const sent: readonly string[] = (() => {
  const patterns = read('.dockerignore')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ isKept: line.startsWith('!'), pattern: patternOf(line.replace(/^!/, '')) }))
  const isSent = (path: string) => {
    const names = path.split('/').map((_, index, all) => all.slice(0, index + 1).join('/'))
    return patterns.findLast(({ pattern }) => names.some((name) => pattern.test(name)))?.isKept ?? true
  }
  return readdirSync(root)
    .filter((name) => !/^(node_modules|\.git|data)$/.test(name))
    .flatMap((name) =>
      statSync(join(root, name)).isFile()
        ? [name]
        : globSync(`${name}/**/*.*`, { cwd: root, exclude: ['**/node_modules'] }),
    )
    .filter((path) => statSync(join(root, path)).isFile() && isSent(path))
})()

/** As the engine reads it: `*` is anything within one name, a leading dot too, and `**` any number of folders. */
function patternOf(line: string): RegExp {
  const [any, one] = ['(.*/)?', '[^/]*']
  const parts = line.split(/(\*\*\/|\*)/).map((part) => ({ '**/': any, '*': one })[part] ?? part.replaceAll('.', '\\.'))
  return new RegExp(`^${parts.join('')}$`)
}

test('the engine is sent what the image needs, and no test, key or data', () => {
  for (const needed of [
    'package.json',
    'package-lock.json',
    '.npmrc',
    'bin/sutler.js',
    'src/cli/main.ts',
    'web/favicon.ico',
    'docs/signing.md',
    'docs/answers.json',
  ])
    assert.ok(sent.includes(needed), needed)
  const rest = sent.filter(
    (path) =>
      !/^(src|bin|web)\/|^(package(-lock)?\.json|\.npmrc|LICENSE)$|^docs\/(answers|signing).*\.(json|md)$/.test(path),
  )
  assert.deepEqual(rest, [])
  assert.deepEqual(
    sent.filter((path) => /\.(test|cases)\.ts$/.test(path)),
    [],
  )
})

type Step = { readonly word: string; readonly words: readonly string[] }

const steps: readonly Step[] = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => line.split(/ +/))
  .map(([word, ...words]) => ({ word: word!, words }))

/** The files of each COPY that takes from the checkout, by the folder of the image that they come to. */
const copies = steps
  .filter(({ word, words }) => word === 'COPY' && !words.some((option) => option.startsWith('--from=')))
  .map(({ words }) => ({ paths: words.slice(0, -1), to: words.at(-1)! }))

test('every COPY of the Dockerfile names what is sent, and what it makes is a shop that runs', async () => {
  const app = join(work, 'app')
  for (const { paths, to } of copies) {
    for (const path of paths) {
      const found = sent.filter((name) => name === path || name.startsWith(`${path}/`))
      assert.ok(found.length > 0, `${path} is not sent to the engine`)
      for (const name of found)
        cpSync(join(root, name), join(app, to, name === path ? basename(name) : name.slice(path.length + 1)))
    }
  }
  symlinkSync(join(root, 'node_modules'), join(app, 'node_modules'))
  const [, ...entry] = JSON.parse(steps.find(({ word }) => word === 'ENTRYPOINT')!.words.join(' ')) as string[]
  const { stdout } = await run(process.execPath, [...entry, 'start', '--help'], { cwd: app })
  assert.match(stdout, /Without any configuration this is the sandbox/)
})

test('each RUN of the Dockerfile works in an empty folder, for whoever is not root', {
  skip:
    process.env['TEST_IMAGE'] !== '1' &&
    'all packages are installed once already, by the test of the package; --image does it again',
}, async (t) => {
  // Root's own folders stay closed to it, and so does npm's cache: as in an image, everything comes from the registry.
  const folder = mkdtempSync(join(tmpdir(), 'sutler-image-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const path of copies[0]!.paths) cpSync(join(root, path), join(folder, path))
  const account = unprivilegedAccount()
  if (account) for (const name of ['', ...readdirSync(folder)]) chownSync(join(folder, name), account.uid, account.gid)
  const { stdout: registry } = await run('npm', ['config', 'get', 'registry'], { cwd: root })
  const env = { PATH: plainPath, HOME: folder, npm_config_registry: registry.trim(), npm_config_fetch_retries: '0' }
  const lines = steps.filter(({ word }) => word === 'RUN').map(({ words }) => words.join(' '))
  assert.deepEqual(lines, ['npm ci --omit=dev --omit=optional --ignore-scripts', 'mkdir data'])
  for (const line of lines) {
    const trouble = await run('sh', ['-c', line], { cwd: folder, env, ...account }).then(() => null, registryTrouble)
    if (trouble !== null) return t.skip(trouble)
  }
  // What the lock file says, and nothing that ran a script: the program is made of it as the image makes it.
  assert.deepEqual(
    readdirSync(folder).filter((name) => !name.startsWith('.')),
    [...['data', 'node_modules', 'package-lock.json', 'package.json']],
  )
  const app = join(folder, 'app')
  mkdirSync(app)
  for (const name of ['bin', 'src', 'web', 'package.json'])
    cpSync(join(root, name), join(app, name), { recursive: true })
  symlinkSync(join(folder, 'node_modules'), join(app, 'node_modules'))
  const { stdout } = await run(process.execPath, ['bin/sutler.js', '--version'], { cwd: app })
  assert.equal(stdout.trim(), (JSON.parse(read('package.json')) as { version: string }).version)
})

/** For so long a shop says that it is about to stop (SUTLER_DRAIN_SECONDS). */
const DRAIN_MS = 5_000

test('whoever stops the shop waits a little longer than it may take', () => {
  const seconds = (path: string, pattern: RegExp) => Number(pattern.exec(read(path))?.[1])
  for (const limit of [
    seconds('deploy/sutler.service', /^TimeoutStopSec=(\d+)$/m),
    seconds('compose.yaml', /^ +stop_grace_period: (\d+)s$/m),
  ])
    assert.ok(limit * 1000 >= DRAIN_MS + defaultLimits.drainMsMax + 5_000 && limit <= 60, String(limit))
})

const analyze = spawnSync('systemd-analyze', ['--version']).status === 0

test('systemd finds no fault in the unit, and little that it could do harm with', {
  skip: !analyze && 'systemd-analyze is not installed',
}, async () => {
  const unit = join(work, 'sutler.service')
  const installed = read('deploy/sutler.service').replaceAll('/opt/sutler/node_modules/node/bin/node', process.execPath)
  writeFileSync(unit, installed)
  const { stdout, stderr } = await run('systemd-analyze', ['verify', unit])
  assert.equal(stdout + stderr, '')
  const judged = await run('systemd-analyze', ['security', '--offline=yes', '--threshold=20', unit])
  assert.match(judged.stdout, /Overall exposure level/)
})
