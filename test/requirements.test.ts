import assert from 'node:assert/strict'
import { test } from 'node:test'
import { citations, citationsIn } from './citations.ts'
import { requirements } from './requirements.ts'

test('every statement of the interface is verified by a test', () => {
  const cited = new Set(citations().map(({ id }) => id))
  const uncited = Object.entries(requirements).filter(([id]) => !cited.has(id))
  assert.deepEqual(uncited, [])
})

test('no test verifies what the interface does not state', () => {
  const unknown = citations().filter(({ id }) => !(id in requirements))
  assert.deepEqual(unknown, [])
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
