import assert from 'node:assert/strict'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { assertStopped, begin, lineWith, oldNode, type Place } from './started.ts'
import { newDataDir, root } from './sutler.ts'

// What is left when a shop is ended in the ways that supervisors, terminals and tired people end it: nothing that holds the port or the
// folder. One folder goes through all of these ends, so each test also shows that the next start finds it free. The store is a server's,
// which starts in two thirds of the time: the folder with the chains is held all the same.

const command = join(root, 'bin/sutler.js')
let place: Place
let dataDir: string
let database: TestDatabase

before(async () => {
  dataDir = newDataDir()
  database = await createDatabase()
  const { PATH = '', HOME = '' } = process.env
  const options = { SUTLER_DATA_DIR: dataDir, DATABASE_URL: database.url, SUTLER_LOG: 'error' }
  place = { env: { PATH, HOME, PORT: String(await freePort()), ...options }, cwd: root }
})
after(async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await database.drop()
})

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

test('SIGTERM to `npm start` stops the shop, not only npm; whoever is dead and not yet reaped holds nothing that it needs', async (t) => {
  const isUnreaped = await dieUnreaped(t)
  const shop = begin(t, ['npm', 'start', '--silent'], place)
  await lineWith(shop, 'is open at')
  assert.ok(isUnreaped(), 'nobody has reaped it')
  process.kill(shop.pid, 'SIGTERM')
  await shop.ended
  await assertStopped(shop, place)
})

/** A process that ended by kill -9 with the folder and the port of the shop, and whose parent never asks what became of it. */
async function dieUnreaped(t: TestContext): Promise<() => boolean> {
  // Not a whole shop: what the kernel lets go of is the same, and it holds nothing else.
  const holder = `
    const { claimFolder } = await import(${JSON.stringify(join(root, 'src/base/data-folder.ts'))})
    globalThis.folder = claimFolder(process.env.SUTLER_DATA_DIR)
    const { createServer } = await import('node:net')
    createServer().listen(Number(process.env.PORT), '127.0.0.1', () => console.log('it is open at its port'))`
  // The shell becomes a program that has no children that it would know of.
  const careless = ['sh', '-c', '"$@" & echo $!; exec sleep 3600', 'sh', process.execPath]
  const shop = begin(t, [...careless, '--input-type=module', '--eval', holder], place)
  const pid = Number((await shop.lines.next()).value)
  await lineWith(shop, 'is open at')
  process.kill(pid, 'SIGKILL')
  // Only Linux tells of a process that it is a zombie; elsewhere it is one as well.
  const isZombie = () => process.platform !== 'linux' || readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  await until(async () => isZombie())
  return isZombie
}
