import assert from 'node:assert/strict'
import { test } from 'node:test'
import { citations, citationsIn } from './citations.ts'
import { statements, threats } from './law.ts'

test('every statement of the contract is verified by a test, unless it is only planned; then by none', () => {
  const cited = new Set(citations().map(({ id }) => id))
  const wrong = statements().filter(({ id, isPlanned }) => cited.has(id) === isPlanned)
  assert.deepEqual(
    wrong.map(
      ({ id, isPlanned }) => `${id}: ${isPlanned ? 'is verified, so it is no longer planned' : 'no test verifies it'}`,
    ),
    [],
  )
})

test('no test verifies what neither the contract nor the threats state', () => {
  const known = new Set([...statements(), ...threats()].map(({ id }) => id))
  assert.deepEqual(
    citations().filter(({ id }) => !known.has(id)),
    [],
  )
})

test('a citation counts where a test runs it, and nowhere else', () => {
  const source = (call: string) =>
    `import { verifies } from './x.ts'\n${call}(\n  'it sells',\n  () => {\n    verifies('1.1', '9')\n`
  const cited = { file: 'a.test.ts', test: 'it sells' }
  assert.deepEqual(citationsIn(source('test'), 'a.test.ts'), [
    { ...cited, id: '1.1' },
    { ...cited, id: '9' },
  ])
  for (const call of ['test.skip', 'test.todo', '// test'])
    assert.throws(() => citationsIn(source(call), 'a.test.ts'), /stands in no test that runs/)
  assert.deepEqual(citationsIn(`test('it sells', () => {\n  // verifies('1.1')\n`, 'a.test.ts'), [])
})
