import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from './sutler.ts'

// A log that is read by machines must not change its form on the worst day.

const module = join(root, 'src/cli/last-words.ts')

for (const [what, code] of [
  ['an error that nobody caught', `setTimeout(() => { throw new Error('no\\nluck', { cause: new Error('deep') }) })`],
  ['a promise that nobody waited for', `void Promise.reject(new Error('no luck'))`],
  ['something that is no error at all', `setTimeout(() => { throw 'no luck' })`],
] as const)
  test(`${what} ends the process with one line of JSON`, () => {
    const { status, stderr, stdout } = dying(code)
    assert.deepEqual([status, stdout], [1, ''])
    const lines = stderr.trimEnd().split('\n')
    assert.equal(lines.length, 1, stderr)
    const { level, message, error } = JSON.parse(lines[0]!)
    assert.deepEqual([level, message], ['error', 'uncaught exception, exiting'])
    assert.match(JSON.stringify(error), /no.*luck/)
  })

test('a warning of Node is a line of JSON too', () => {
  const { status, stderr } = dying(`process.emitWarning('old ways')`)
  assert.equal(status, 0)
  const { level, error } = JSON.parse(stderr)
  assert.deepEqual([level, error.message], ['warn', 'old ways'])
})

function dying(code: string) {
  const script = `const { logLastWords } = await import(${JSON.stringify(module)}); logLastWords('info'); ${code}`
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
}
