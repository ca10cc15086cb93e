import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startSandbox } from '../cli/sutler.ts'
import { refusedStart } from '../cli/typed.ts'
import { freePort } from '../support/free-port.ts'

test('C-10: a second shop on the folder of a running one refuses to start and says why, and the first goes on', async (t) => {
  const first = await startSandbox()
  t.after(() => first.remove())
  // The second is this process: who runs it and from where is nothing that the folder knows.
  const { code, stderr } = await refusedStart({ ...first.env, PORT: String(await freePort()) })
  assert.equal(code, 1)
  assert.match(stderr, /in use by another process; stop that one, or choose another folder/)
  assert.ok(stderr.includes(first.dataDir), stderr)
  assert.equal((await fetch(`${first.url}/health/ready`)).status, 200)
  assert.equal((await first.stop()).code, 0)
})
