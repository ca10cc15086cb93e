import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startChild } from '../support/child.ts'
import { copyTree, dataDirFor, embeddedTemplate } from '../support/embedded.ts'
import { mountMemory } from '../support/mount.ts'
import type { Voyage } from './children/sinking.ts'
import type { Found } from './children/writer.ts'

// What the embedded engine must survive. `npm test -- --kills=1000` makes the rounds many.

const KILLS = Number(process.env['TEST_KILLS'] ?? 1)
const child = (name: string) => join(import.meta.dirname, 'children', name)
const preload = join(import.meta.dirname, 'faults/disk.ts')

test(`kill -9 in the middle of writing, ${KILLS} times: every acknowledged entry is there, whole`, async (t) => {
  const dataDir = await dataDirFor(t)
  let acknowledged = 0
  for (let round = 0; round <= KILLS; round++) {
    const isLast = round === KILLS
    const writer = startChild(child('writer.ts'), [dataDir, isLast ? 'look' : 'write'], { test: t })
    const found = JSON.parse((await writer.line()) ?? '{}') as Found
    assert.ok(found.last >= acknowledged, `${acknowledged} was acknowledged, ${found.last} is the last one there`)
    assert.deepEqual(found, {
      last: found.last,
      rows: found.last,
      scanned: found.last,
      jobs: found.last,
      total: found.last,
    })
    if (isLast) break
    // Another number of entries each time, so that the kill meets other steps of the writer.
    for (let n = 0; n < 20 + ((round * 37) % 150); n++) acknowledged = Number(await writer.line())
    await writer.kill('SIGKILL')
    acknowledged = Number((await writer.rest()).at(-1) ?? acknowledged)
  }
  t.diagnostic(`${acknowledged} entries acknowledged, 0 lost`)
})

test('a disk that does not sync stops the engine instead of acknowledging, and it comes back', async (t) => {
  const dataDir = await dataDirFor(t)
  const faultFile = join(dataDir, 'fault')
  const broken = startChild(child('broken-sync.ts'), [dataDir, faultFile], {
    test: t,
    preload,
    env: { FAULT_SYNC: faultFile },
  })
  assert.deepEqual(JSON.parse((await broken.line()) ?? '{}'), { answer: 'store_unavailable', entries: [1, 3] })
})

test('on a full disk new sales are refused first, then writes, and nothing acknowledged is lost', async (t) => {
  const disk = mountMemory(100)
  const voyage = disk ? await sinkSmallDisk(t, disk) : await sinkByFault(t)
  t.diagnostic(
    disk ? 'on a real disk of 100 MB' : 'this process cannot mount a small disk: a fault in the file calls instead',
  )
  assert.deepEqual(voyage.gate, ['ok', 'store_full', 'ok'])
  assert.equal(voyage.refusal, 'store_full')
  assert.ok(
    voyage.found.every((entries) => entries === voyage.acknowledged),
    JSON.stringify(voyage),
  )
})

test('a disk too small for a new database is said to be full, and nothing is left on it', async (t) => {
  const disk = mountMemory(20)
  if (disk === null) return t.skip('NOT TESTED: this process may not mount a small disk (that takes root)')
  t.after(() => disk.unmount())
  const dataDir = join(disk.folder, 'data')
  const opener = startChild(child('open.ts'), [dataDir], { test: t })
  assert.equal(JSON.parse((await opener.line()) ?? '{}').code, 'store_full')
  assert.equal(await opener.end(), 0)
  assert.deepEqual(readdirSync(dataDir), ['lock'])
})

async function sinkSmallDisk(t: TestContext, disk: { folder: string; unmount(): void }): Promise<Voyage> {
  t.after(() => disk.unmount())
  const dataDir = join(disk.folder, 'data')
  copyTree(await embeddedTemplate(), dataDir)
  const ship = startChild(child('sinking.ts'), [dataDir], { test: t })
  const voyage = JSON.parse((await ship.line()) ?? '{}') as Voyage
  await ship.end()
  return voyage
}

async function sinkByFault(t: TestContext): Promise<Voyage> {
  const dataDir = await dataDirFor(t)
  const faultFile = join(dataDir, 'fault')
  const ship = startChild(child('sinking.ts'), [dataDir, faultFile], {
    test: t,
    preload,
    env: { FAULT_WRITE: faultFile },
  })
  const voyage = JSON.parse((await ship.line()) ?? '{}') as Voyage
  await ship.end()
  return voyage
}
