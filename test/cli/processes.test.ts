import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { copyTree, embeddedTemplate } from '../support/embedded.ts'
import { freePort } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { assertStopped, begin, lineWith, oldNode, type Place } from './started.ts'
import { newDataDir, openShop, root } from './sutler.ts'

// What is left when a shop is ended in the ways that supervisors, terminals and tired people end it: nothing that holds the port or the
// folder. One folder goes through all of these ends, so each test also shows that the next start finds it free.

const command = join(root, 'bin/sutler.js')
let place: Place
let dataDir: string

before(async () => {
  dataDir = newDataDir()
  copyTree(await embeddedTemplate(), dataDir)
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, PORT: String(await freePort()), SUTLER_DATA_DIR: dataDir, SUTLER_LOG: 'error' }
  place = { env, cwd: root }
})
after(() => rmSync(dataDir, { recursive: true, force: true }))

test('on a Node before 24 the output and the exit code are those of the pinned one', async (t) => {
  const { said, ended } = begin(t, [...oldNode, command, 'strat'], place)
  assert.deepEqual(await ended, [2, null])
  assert.match(await said, /there is no command strat/)
})

test('kill -9 of the parent: the child notices, finishes and ends', async (t) => {
  const shop = begin(t, [...oldNode, command, 'start'], place)
  await lineWith(shop, 'is open at')
  process.kill(shop.pid, 'SIGKILL')
  assert.deepEqual(await shop.ended, [null, 'SIGKILL'])
  await assertStopped(shop, place)
})

test('signals are passed on, and however many come the shop is stopped once', async (t) => {
  const shop = begin(t, [...oldNode, command, 'start'], place)
  await lineWith(shop, 'is open at')
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGTERM'] as const) process.kill(shop.pid, signal)
  assert.deepEqual(await shop.ended, [0, null])
  await assertStopped(shop, place)
})

test('SIGTERM to `npm start` stops the shop, not only npm', async (t) => {
  const shop = begin(t, ['npm', 'start', '--silent'], place)
  await lineWith(shop, 'is open at')
  process.kill(shop.pid, 'SIGTERM')
  await shop.ended
  await assertStopped(shop, place)
})

test('a process that is dead and not yet reaped holds nothing: the next start has the folder at once', {
  skip: process.platform !== 'linux' && 'only Linux tells of a process that it is a zombie',
}, async (t) => {
  // The shell becomes a program that never asks what became of its child.
  const careless = ['sh', '-c', '"$@" & echo $!; exec sleep 3600', 'sh', process.execPath, command, 'start']
  const shop = begin(t, careless, place)
  const pid = Number((await shop.lines.next()).value)
  await lineWith(shop, 'is open at')
  process.kill(pid, 'SIGKILL')
  await until(async () => readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '))
  const { PATH: _, HOME: __, ...options } = place.env
  const next = await openShop(options, dataDir)
  assert.ok(readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '), 'nobody has reaped it')
  assert.equal((await next.stop()).code, 0)
})
