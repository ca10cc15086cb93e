import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startChild } from '../support/child.ts'
import { freePort } from '../support/free-port.ts'

const command = join(import.meta.dirname, '../../bin/sutler.js')

test('C-10: a second shop on the folder of a running one refuses to start and says why, and the first goes on', async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'sutler-second-'))
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  const envOf = (port: number) => ({ PORT: String(port), SUTLER_DATA_DIR: dataDir, SUTLER_LOG: 'error' })
  const port = await freePort()
  const first = startChild(command, ['start'], { test: t, env: envOf(port) })
  const url = `http://localhost:${port}`
  for (let line = await first.line(); !line?.includes(url); line = await first.line())
    assert.notEqual(line, null, 'the first one starts')

  const second = promisify(execFile)(process.execPath, [command, 'start'], {
    env: { ...process.env, ...envOf(await freePort()) },
  })
  await assert.rejects(second, ({ code, stderr }: { code: number; stderr: string }) => {
    assert.notEqual(code, 0)
    assert.match(stderr, /in use by another process; stop that one, or choose another folder/)
    assert.ok(stderr.includes(dataDir), stderr)
    return true
  })
  assert.equal((await fetch(`${url}/health/ready`)).status, 200)
  await first.kill('SIGTERM')
})
