import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, delimiter, dirname, join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { defaultLimits } from '../../src/config/limits.ts'
import { root } from '../cli/sutler.ts'

// There is no container engine and no systemd where tests run, so what those would do is done here: each step of the Dockerfile, in order, in
// a folder that stands for the image, and what systemd itself says about the unit.

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
  ])
    assert.ok(sent.includes(needed), needed)
  const rest = sent.filter((path) => !/^(src|bin|web)\/|^(package(-lock)?\.json|\.npmrc|LICENSE)$/.test(path))
  assert.deepEqual(rest, [])
  assert.deepEqual(
    sent.filter((path) => /\.(test|cases)\.ts$/.test(path)),
    [],
  )
})

type User = { readonly uid?: number; readonly gid?: number }

/** Somebody with no rights beyond their own: `nobody` when the tests run as root, otherwise we are that already. */
function unprivileged(): User {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

type Step = { readonly word: string; readonly rest: string }

const steps: readonly Step[] = read('Dockerfile')
  .replaceAll(/^#.*\n/gm, '')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line.trim() !== '')
  .map((line) => ({ word: line.split(' ')[0]!, rest: line.slice(line.indexOf(' ') + 1).trim() }))

const user = unprivileged()
const { PATH = '' } = process.env
const plainPath = PATH.split(delimiter).filter((folder) => !folder.includes('node_modules'))
const canRunNpm =
  spawnSync('npm', ['--version'], { ...user, cwd: tmpdir(), env: { PATH: plainPath.join(delimiter), HOME: tmpdir() } })
    .status === 0

test('each RUN of the Dockerfile works for a user without rights, and what it makes runs', {
  skip: !canRunNpm && 'npm is installed where only this user can read it',
}, async () => {
  const env = await buildEnvironment()
  let stage = ''
  let folder = '/'
  const inImage = (name: string, path: string) => join(work, name, path)
  let ran = 0
  for (const { word, rest } of steps) {
    if (word === 'FROM') stage = / AS (\w+)$/.exec(rest)?.[1] ?? 'image'
    if (word === 'WORKDIR') {
      folder = rest
      mkdirSync(inImage(stage, folder), { recursive: true })
    }
    if (word === 'COPY') copy(rest, (path) => inImage(stage, resolve(folder, path)), inImage)
    if (word !== 'RUN') continue
    if (user.uid !== undefined) execFileSync('chown', ['-R', `${user.uid}:${user.gid}`, work])
    await run('sh', ['-c', rest], { ...user, env, cwd: inImage(stage, folder) })
    ran++
  }
  assert.ok(ran >= 2)
  assert.ok(existsSync(inImage('image', '/data')), 'the data folder is there, and the user of the image can write it')
  if (user.uid !== undefined) assert.equal(statSync(inImage('image', '/data')).uid, user.uid)
  const { stdout } = await run('node', ['bin/sutler.js', 'start', '--help'], {
    ...user,
    env,
    cwd: inImage('image', '/app'),
  })
  assert.match(stdout, /Without any configuration this is the sandbox/)
})

/** Node as the image has it, and what npm has fetched before; the rest is of the user alone. */
async function buildEnvironment(): Promise<Readonly<Record<string, string>>> {
  mkdirSync(join(work, 'bin'))
  copyFileSync(process.execPath, join(work, 'bin/node'))
  const option = async (name: string) => (await run('npm', ['config', 'get', name], { cwd: root })).stdout.trim()
  const cache = join(await option('cache'), '_cacache')
  if (existsSync(cache)) cpSync(cache, join(work, 'cache/_cacache'), { recursive: true })
  return {
    PATH: [join(work, 'bin'), ...plainPath].join(delimiter),
    HOME: work,
    npm_config_cache: join(work, 'cache'),
    npm_config_prefer_offline: 'true',
    npm_config_registry: await option('registry'),
  }
}

function copy(rest: string, target: (path: string) => string, inImage: (stage: string, path: string) => string): void {
  const words = rest.split(' ')
  const from = /^--from=(\w+)$/.exec(words.find((word) => word.startsWith('--from=')) ?? '')?.[1]
  const paths = words.filter((word) => !word.startsWith('--'))
  const to = paths.pop()!
  for (const path of paths) {
    if (from !== undefined) {
      // Moved, which is as good here: nothing else of that stage is used afterwards.
      mkdirSync(dirname(target(to)), { recursive: true })
      renameSync(inImage(from, path), target(to))
      continue
    }
    const files = sent.filter((name) => name === path || name.startsWith(`${path}/`))
    assert.ok(files.length > 0, `${path} is not sent to the engine`)
    for (const name of files) {
      const place = name === path ? join(target(to), basename(name)) : join(target(to), name.slice(path.length + 1))
      cpSync(join(root, name), place)
    }
  }
}

test('whoever stops the shop waits a little longer than it may take', () => {
  const seconds = (path: string, pattern: RegExp) => Number(pattern.exec(read(path))?.[1])
  for (const limit of [
    seconds('deploy/sutler.service', /^TimeoutStopSec=(\d+)$/m),
    seconds('compose.yaml', /^ +stop_grace_period: (\d+)s$/m),
  ])
    assert.ok(limit * 1000 >= defaultLimits.drainMsMax + 5_000 && limit <= 60, String(limit))
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
