import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { stringify } from './json.ts'
import { createLog } from './log.ts'
import { Secret } from './secret.ts'

const CANARY = 'the-canary-that-must-never-sing'

test('K-01: a secret shows itself only to whoever asks it to', () => {
  const secret = new Secret(CANARY)
  const lines: string[] = []
  const log = createLog({
    level: 'debug',
    clock: { now: () => 0, sleep: async () => {} },
    write: (line) => lines.push(line),
  })
  log.error('a fault', { secret, deep: { list: [secret] }, error: new Error('x', { cause: { secret } }) })
  for (const printed of [
    `${secret}`,
    String(secret),
    JSON.stringify({ secret }),
    stringify([secret]),
    inspect(secret, { showHidden: true, depth: 9 }),
    inspect({ secret }, { showProxy: true }),
    Object.keys(secret).join(),
    JSON.stringify(Object.getOwnPropertyDescriptors(secret)),
    ...lines,
  ])
    assert.doesNotMatch(printed, /canary/)
  assert.equal(secret.reveal(), CANARY)
})
