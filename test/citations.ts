import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Clause, isOfInterface, root, statements } from './law.ts'

// Who verifies which statement of the contract. `npm run coverage:interface` prints it.

export type Citation = { readonly id: string; readonly file: string; readonly test: string }

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
  const [ofInterface, decided] = [statements().filter(isOfInterface), statements().filter((one) => !isOfInterface(one))]
  for (const { id, text, isPlanned } of [...ofInterface.toSorted(byNumber), ...decided.toSorted(byNumber)]) {
    console.log(`${id.padEnd(7)}${isPlanned ? '(planned) ' : ''}${text}`)
    for (const { file, test } of byId.get(id) ?? []) console.log(`       · ${file}: ${test}`)
  }
  console.log()
  for (const [clauses, whose] of [
    [ofInterface, 'of the interface'],
    [decided, 'that were decided'],
  ] as const) {
    const built = clauses.filter(({ isPlanned }) => !isPlanned)
    const cited = built.filter(({ id }) => byId.has(id))
    const planned = clauses.length - built.length
    console.log(
      `${cited.length} of ${built.length} statements ${whose} are verified by a test${planned ? `; ${planned} more are planned` : ''}.`,
    )
    if (cited.length < built.length) process.exitCode = 1
  }
}

/** 5.4.10 comes after 5.4.9. */
function byNumber(a: Clause, b: Clause): number {
  return a.id.localeCompare(b.id, 'en', { numeric: true })
}

if (import.meta.main) printTable()
