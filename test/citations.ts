import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RequirementId, requirements } from './requirements.ts'

// Who verifies which statement of the interface. `npm run coverage:interface` prints it.

export type Citation = { readonly id: string; readonly file: string; readonly test: string }

const root = join(import.meta.dirname, '..')

/** Every `verifies` in the tests, read from their sources. */
export function citations(): readonly Citation[] {
  return globSync('{src,test}/**/*.{test,cases}.ts', { cwd: root })
    .sort()
    .flatMap((file) => citationsIn(readFileSync(join(root, file), 'utf8'), file))
}

const CITATION = /^ *verifies\(([^)]*)\)$/gm
const TEST = /^ *(?:test|describe)(\.\w+)?\(\s*(?:'((?:[^'\\]|\\.)*)'|`([^`]*)`)/gm

export function citationsIn(source: string, file: string): readonly Citation[] {
  const tests = [...source.matchAll(TEST)]
  return [...source.matchAll(CITATION)].flatMap(({ 1: list = '', index }) => {
    const enclosing = tests.findLast((test) => test.index < index)
    // Neither outside of every test, nor in one that is skipped.
    if (!enclosing || enclosing[1]) throw new Error(`${file}: verifies(${list}) stands in no test that runs`)
    const test = enclosing[2] ?? enclosing[3] ?? ''
    return [...list.matchAll(/'([^']*)'/g)].map(([, id = '']) => ({ id, file, test }))
  })
}

function printTable(): void {
  const byId = Map.groupBy(citations(), ({ id }) => id)
  const ids = Object.keys(requirements) as RequirementId[]
  for (const id of ids) {
    console.log(`${id.padEnd(7)}${requirements[id]}`)
    for (const { file, test } of byId.get(id) ?? []) console.log(`       · ${file}: ${test}`)
  }
  const cited = ids.filter((id) => byId.has(id))
  console.log(`\n${cited.length} of ${ids.length} statements are verified by a test.`)
  if (cited.length < ids.length) process.exitCode = 1
}

if (import.meta.main) printTable()
