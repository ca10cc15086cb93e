import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, existsSync, fsyncSync, globSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { startChild } from '../support/child.ts'
import { makeImage, mountImage } from '../support/mount.ts'
import type { Found } from './children/writer.ts'

// kill -9 proves nothing about fsync, because the kernel still has what was not synced. Here the disk is a file: while the
// writer stands still, a copy of that file is taken. It holds what had reached the device at that instant, and nothing else.
// `npm test -- --power-cuts=50` makes the rounds many.

const CUTS = Number(process.env['TEST_POWER_CUTS'] ?? 1)
const IMAGE_MEGABYTES = 300
const writer = join(import.meta.dirname, 'children/writer.ts')

test(`the power fails ${CUTS} times while the embedded engine writes: every acknowledged entry is there, whole`, async (t) => {
  const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const folder = mkdtempSync(join(memory, 'sutler-power-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const [image, cutImage] = [join(folder, 'disk'), join(folder, 'cut')]
  const disk = makeImage(image, IMAGE_MEGABYTES) ? mountImage(image) : null
  if (disk === null) return t.skip('NOT TESTED: this process may not mount loop devices (that takes root)')
  t.after(() => disk.unmount())

  let acknowledged = 0
  for (let round = 1; round <= CUTS; round++) {
    // The first round makes the database too, with nobody else syncing anything.
    const child = startChild(writer, [join(disk.folder, 'data')], { test: t })
    await child.line()
    for (let n = 0; n < 10 + ((round * 53) % 200); n++) acknowledged = Number(await child.line())
    process.kill(child.pid, 'SIGSTOP')
    syncSome(disk.folder, round)
    copySparse(image, cutImage)
    await child.kill('SIGKILL')
    acknowledged = Number((await child.rest()).at(-1) ?? acknowledged)
    const found = await lookAt(t, cutImage)
    assert.ok(
      found.last >= acknowledged,
      `round ${round}: ${acknowledged} was acknowledged, ${found.last} is the last one there`,
    )
    const { last } = found
    assert.deepEqual(found, { last, rows: last, scanned: last, jobs: last, total: last }, `round ${round}`)
  }
  t.diagnostic(`${acknowledged} entries acknowledged, 0 lost in ${CUTS} power cuts`)
})

/** Some files that the engine has not synced reach the disk before others, as any kernel may choose: each round another half. */
function syncSome(folder: string, round: number): void {
  for (const path of globSync('data/pg/**', { cwd: folder })) {
    if (createHash('sha1').update(`${round} ${path}`).digest()[0]! % 2 === 0) continue
    const file = openSync(join(folder, path), 'r')
    fsyncSync(file)
    closeSync(file)
  }
}

function copySparse(from: string, to: string): void {
  assert.equal(spawnSync('cp', ['--sparse=always', from, to]).status, 0)
}

async function lookAt(t: TestContext, image: string): Promise<Found> {
  const disk = mountImage(image) ?? assert.fail('the copy of the disk cannot be mounted')
  try {
    const child = startChild(writer, [join(disk.folder, 'data'), 'look'], { test: t })
    const found = JSON.parse((await child.line()) ?? 'null') as Found | null
    await child.end()
    return found ?? assert.fail('the database did not open after the power cut')
  } finally {
    disk.unmount()
  }
}
