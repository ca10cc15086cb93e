import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, before, type TestContext, test } from 'node:test'
import { claimFolder } from '../../src/base/data-folder.ts'
import { copyTree, embeddedTemplate } from '../support/embedded.ts'
import { freePort } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { newDataDir, openShop, root } from './sutler.ts'

// What is left when a shop is ended in the ways that supervisors, terminals and tired people end it: nothing that holds the port or the
// folder. One folder goes through all of these ends, so each test also shows that the next start finds it free.

const command = join(root, 'bin/sutler.js')
let env: Readonly<Record<string, string>>
let dataDir: string

before(async () => {
  dataDir = newDataDir()
  copyTree(await embeddedTemplate(), dataDir)
  const { PATH = '', HOME = '' } = process.env
  env = { PATH, HOME, PORT: String(await freePort()), SUTLER_DATA_DIR: dataDir, SUTLER_LOG: 'error' }
})
after(() => rmSync(dataDir, { recursive: true, force: true }))

/** A Node before 24, with its arguments: the one that is installed beside the pinned one, or the pinned one that says it is old. */
const oldNode: readonly string[] = (() => {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter).filter((path) => !path.includes('node_modules'))) {
    const program = join(folder, 'node')
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    if (stdout && Number.parseInt(stdout.slice(1), 10) < 24) return [program]
  }
  const lie = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(lie)}`]
})()

/** Everything that was started holds our ends of these pipes, so they close when the last of it has ended. */
type Started = {
  readonly pid: number
  readonly lines: AsyncIterator<string>
  readonly said: Promise<string>
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>
}

function begin(t: TestContext, [program, ...args]: readonly string[]): Started {
  // A group of its own, so that whatever a failed test leaves behind can be ended as a whole.
  const child = spawn(program!, args, { env, cwd: root, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {}
  })
  return {
    pid: child.pid!,
    lines: createInterface(child.stdout)[Symbol.asyncIterator](),
    said: text(child.stderr),
    ended: once(child, 'close').then(([code, signal]) => [code, signal]),
  }
}

async function opened({ lines, said }: Started): Promise<void> {
  for (let next = await lines.next(); !next.done; next = await lines.next())
    if (next.value.includes('is open at')) return
  assert.fail(await said)
}

/** It ended as it does on SIGTERM, once, and nobody holds the folder or the port. */
async function assertStopped({ said }: Started): Promise<void> {
  assert.equal((await said).match(/stopping: what was accepted is finished or handed over/g)?.length, 1)
  claimFolder(dataDir).release()
  const server = createServer().listen(Number(env['PORT']), '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

test('on a Node before 24 the output and the exit code are those of the pinned one', async (t) => {
  const { said, ended } = begin(t, [...oldNode, command, 'strat'])
  assert.deepEqual(await ended, [2, null])
  assert.match(await said, /there is no command strat/)
})

test('kill -9 of the parent: the child notices, finishes and ends', async (t) => {
  const shop = begin(t, [...oldNode, command, 'start'])
  await opened(shop)
  process.kill(shop.pid, 'SIGKILL')
  assert.deepEqual(await shop.ended, [null, 'SIGKILL'])
  await assertStopped(shop)
})

test('signals are passed on, and however many come the shop is stopped once', async (t) => {
  const shop = begin(t, [...oldNode, command, 'start'])
  await opened(shop)
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGTERM'] as const) process.kill(shop.pid, signal)
  assert.deepEqual(await shop.ended, [0, null])
  await assertStopped(shop)
})

test('SIGTERM to `npm start` stops the shop, not only npm', async (t) => {
  const shop = begin(t, ['npm', 'start', '--silent'])
  await opened(shop)
  process.kill(shop.pid, 'SIGTERM')
  await shop.ended
  await assertStopped(shop)
})

test('a process that is dead and not yet reaped holds nothing: the next start has the folder at once', {
  skip: process.platform !== 'linux' && 'only Linux tells of a process that it is a zombie',
}, async (t) => {
  // The shell becomes a program that never asks what became of its child.
  const careless = ['sh', '-c', '"$@" & echo $!; exec sleep 3600', 'sh', process.execPath, command, 'start']
  const shop = begin(t, careless)
  const pid = Number((await shop.lines.next()).value)
  await opened(shop)
  process.kill(pid, 'SIGKILL')
  await until(async () => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '))
  const { PATH: _, HOME: __, ...options } = env
  const next = await openShop(options, dataDir)
  assert.ok(readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '), 'nobody has reaped it')
  assert.equal((await next.stop()).code, 0)
})
