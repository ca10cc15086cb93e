import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, truncateSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { layCable } from '../proxy/cable.ts'
import { openStore } from '../support/database.ts'
import { createDataDir } from '../support/embedded.ts'
import { freePort } from '../support/free-port.ts'
import { productionEnv } from '../support/production.ts'
import { begin, type Finished, newDataDir, sutler } from './sutler.ts'
import { refusedStart } from './typed.ts'

// A start that cannot succeed says why and what to do, in words, and at once. The first is a process, for its exit
// code, and so is each production, whose log is that of its process; the others are refused in this one, which has loaded the shop already.

function assertRefusal({ code, stdout, stderr }: Finished, words: RegExp): void {
  assert.equal(code, 1, stderr)
  assert.equal(stdout, '')
  assert.match(stderr, words)
  assert.doesNotMatch(stderr, /^\s+at /m, 'a stack trace is not an answer')
}

test('a port that somebody else has is named, together with one that may be free', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = server.address() as AddressInfo
  const dataDir = newDataDir()
  t.after(() => rmSync(dataDir, { recursive: true }))
  const finished = await sutler(['start'], { env: { PORT: String(port), SUTLER_DATA_DIR: dataDir } })
  assertRefusal(finished, new RegExp(`port ${port} is in use; .*PORT=${port + 1}`))
})

test('a damaged database is not opened: a backup is asked for', async (t) => {
  const dataDir = await createDataDir()
  t.after(() => rmSync(dataDir, { recursive: true }))
  truncateSync(join(dataDir, 'pg/global/pg_control'), 7)
  const env = { PORT: String(await freePort()), SUTLER_DATA_DIR: dataDir, SUTLER_LOG: 'error' }
  assertRefusal(await refusedStart(env), /cannot be opened: .*; restore a backup/)
})

test('a database server that does not answer is named by its option, and its password is not shown', async (t) => {
  const dataDir = newDataDir()
  t.after(() => rmSync(dataDir, { recursive: true }))
  const DATABASE_URL = 'postgres://sutler:hunter2@127.0.0.1:1/sutler'
  const finished = await refusedStart({ PORT: String(await freePort()), SUTLER_DATA_DIR: dataDir, DATABASE_URL })
  assertRefusal(finished, /the store cannot be reached .*check DATABASE_URL/)
  assert.doesNotMatch(finished.stderr, /hunter2/)
})

test('misspelt options are all named at once, each with the one that was meant', async () => {
  const finished = await refusedStart({ SUTLER_MDOE: 'x', SUTLER_OPERATR_TOKEN: 'x', PORT: '80000' })
  assertRefusal(finished, /has 3 faults/)
  assert.match(finished.stderr, /SUTLER_MDOE: is not an option; did you mean SUTLER_MODE\?/)
  assert.match(finished.stderr, /SUTLER_OPERATR_TOKEN: is not an option; did you mean SUTLER_OPERATOR_TOKEN\?/)
  assert.match(finished.stderr, /PORT: must be a whole number/)
})

test('production without configuration names everything that is missing, each in a line of JSON, and nothing of the sandbox stands in for it', async () => {
  const { code, stdout, stderr } = await sutler(['start'], { env: { SUTLER_MODE: 'production' } })
  assert.deepEqual([code, stdout], [1, ''])
  const lines = linesOf(stderr)
  assert.ok(lines.every(({ level, message }) => level === 'error' && message === 'the shop does not start'))
  for (const option of ['BASE_URL', 'X402_PAY_TO', 'X402_SETTLER_KEY', 'MPP_SECRET', 'MPP_RECIPIENT', 'GAME_RPC_URL'])
    assert.match(lines.find((line) => line.option === `SUTLER_${option}`)!.detail!, /is missing/)
})

test('a production whose store is of no use says so in lines of JSON, all of it', async () => {
  const DATABASE_URL = 'postgres://sutler:hunter2@127.0.0.1:1/sutler?target_session_attrs=standby'
  const env = productionEnv({ PORT: String(await freePort()), DATABASE_URL })
  const { code, stdout, stderr } = await sutler(['start'], { env })
  assert.deepEqual([code, stdout], [1, ''])
  const last = linesOf(stderr).at(-1)!
  assert.deepEqual([last.level, last.code], ['error', 'database_url_invalid'])
  assert.match(last.detail!, /use read-write, or leave it out/)
  assert.doesNotMatch(stderr, /hunter2/)
})

test('a production that cannot reach its store says so at once, in a line of JSON, and opens when it can', async (t) => {
  const store = await openStore('postgres')
  const cable = await layCable(store.place.url!)
  cable.cut()
  const rpc = 'http://127.0.0.1:1'
  const nodes = { SUTLER_GAME_RPC_URL: rpc, SUTLER_X402_RPC_URL: rpc, SUTLER_MPP_RPC_URL: rpc }
  const DATABASE_URL = cable.url.replace('@', ':hunter2@')
  const own = { PORT: String(await freePort()), DATABASE_URL, SUTLER_SECOND_OPINION_FROM: 'never' }
  const env = productionEnv({ ...nodes, ...own })
  const { child, exit } = begin(['start'], env)
  t.after(async () => {
    child.kill('SIGKILL')
    await exit
    cable.close()
    await store.drop()
  })
  const open = once(createInterface(child.stdout), 'line')
  let stderr = ''
  for await (const line of createInterface(child.stderr)) {
    stderr += `${line}\n`
    if (line.includes('the start waits for it')) break
  }
  const last = linesOf(stderr).at(-1)!
  assert.deepEqual([last.level, last.error?.code], ['warn', 'store_unavailable'], stderr)
  assert.doesNotMatch(stderr, /hunter2/)
  cable.join()
  assert.match(String(await open), /the shop is open/)
})

type LogLine = {
  level: string
  message: string
  code?: string
  option?: string
  detail?: string
  error?: { code?: string }
}

function linesOf(stderr: string): readonly LogLine[] {
  return stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as LogLine)
}
