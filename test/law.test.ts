import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { citations } from './citations.ts'
import {
  idsIn,
  root,
  statements,
  statementsIn,
  strayReferencesIn,
  texts,
  threats,
  threatsIn,
  threatsNamedIn,
} from './law.ts'

// Ids that lead nowhere, threats that nobody tests, and references to texts that are not here.

const law = [...statements(), ...threats()]
const sources = texts()
const named = new Set([
  ...sources
    .filter(({ file }) => /\.(test|cases)\.ts$/.test(file) && file !== 'test/law.test.ts')
    .flatMap(({ text }) => threatsNamedIn(text)),
  ...citations().map(({ id }) => id),
])

test('no id is defined twice', () => {
  assert.deepEqual(twice(law.map(({ id }) => id)), [])
})

test('every id that code, tests and documents name is a statement of the contract or a row of the threats', () => {
  const known = new Set(law.map(({ id }) => id))
  const lost = sources.flatMap(({ file, text }) =>
    idsIn(text)
      .filter((id) => !known.has(id))
      .map((id) => `${file}: ${id}`),
  )
  assert.deepEqual(lost, [])
})

test('every threat is named by a test, unless its defence is only planned; then none is', () => {
  const wrong = threats().filter(({ id, isPlanned }) => named.has(id) === isPlanned)
  assert.deepEqual(
    wrong.map(
      ({ id, isPlanned }) => `${id}: ${isPlanned ? 'is tested, so it is no longer planned' : 'no test names it'}`,
    ),
    [],
  )
})

test('no text refers to a document that is not in the repository', () => {
  const files = new Set(sources.map(({ file }) => basename(file)))
  const stray = sources.flatMap(({ file, text }) => strayReferencesIn(text, files).map((words) => `${file}: ${words}`))
  assert.deepEqual(stray, [])
})

test('every file and folder that the contract and the threats name is there', () => {
  const pages = sources.filter(({ file }) => ['docs/contract.md', 'docs/threats.md'].includes(file))
  const paths = pages.flatMap(({ text }) => text.match(/\b(?:src|test|docs)\/[\w./-]*\w/g) ?? [])
  assert.ok(paths.length > 20)
  assert.deepEqual(
    paths.filter((path) => !existsSync(join(root, path))),
    [],
  )
})

test('clauses are read with their ids, their words and their marks', () => {
  const contract = '- **5.4.1** craft terms\n- **D5.2** _(planned)_ A page.\n- **no id** words\n'
  assert.deepEqual(statementsIn(contract), [
    { id: '5.4.1', text: 'craft terms', isPlanned: false },
    { id: 'D5.2', text: 'A page.', isPlanned: true },
  ])
  assert.deepEqual(threatsIn('| Id | Threat |\n| M-01 | twice | no |\n| E20 _(planned)_ | a log | yes |\n'), [
    { id: 'M-01', text: 'twice', isPlanned: false },
    { id: 'E20', text: 'a log', isPlanned: true },
  ])
})

test('ids are found where they stand alone, and nowhere else', () => {
  const letter = (number: string) => `M-${number}`
  assert.deepEqual(idsIn(`${letter('98')}, see E9; contract 4.3.6 and D5.2.`), [letter('98'), 'E9', 'D5.2', '4.3.6'])
  assert.deepEqual(idsIn(`P-256, UTF-8, ERC-20, 1.10, 0x${letter('98')}5, D5.2.7, SHA-256, xE1`), [])
  assert.deepEqual(threatsNamedIn("test('M-01, M-02: twice', () => {})\n// M-03: not a test\n['N-06', 1]"), [
    'M-01',
    'M-02',
    'N-06',
  ])
})

test('references that lead outside are found, and those to our own pages and to standards are not', () => {
  const files = new Set(['README.md'])
  const section = '\u00a7'
  const outside = [`interface ${section}5.4`, `CON${'TRACT'} ${section}8`, `X402${'.md'}`, `RELIA${'BILITY'} A-05`]
  for (const words of outside) assert.notDeepEqual(strayReferencesIn(words, files), [], words)
  assert.deepEqual(strayReferencesIn(`README.md, RFC 9457 ${section}3, SUTLER_SALE_CONTRACT, interface`, files), [])
})

function twice(ids: readonly string[]): readonly string[] {
  return ids.filter((id, index) => ids.indexOf(id) !== index)
}
