import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

// A name that is exported has one meaning and somebody who uses it.

/** Parts that are built alike have the same names in each; the dev chain is the other end of a wire and speaks for itself. */
const ALIKE = /^src\/(rails|surfaces)\/\w+\/|^src\/devchain\//

const EXPORT = /^export (?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm

const files = globSync('{src,test,bench,bin,contracts,docs,examples}/**/*.{ts,js}')
  .filter((file) => !file.startsWith('src/artifacts/'))
  .map((file) => ({ file, text: readFileSync(file, 'utf8') }))
const exported = files
  .filter(({ file }) => file.startsWith('src/'))
  .flatMap(({ file, text }) => [...text.matchAll(EXPORT)].map(([, name]) => ({ file, name: name! })))

test('no exported name has two meanings', () => {
  const places = Map.groupBy(exported, ({ file, name }) => `${ALIKE.exec(file)?.[0] ?? ''} ${name}`)
  const doubled = [...places.values()]
    .map((uses) => ({ name: uses[0]!.name, files: [...new Set(uses.map(({ file }) => file))] }))
    .filter(({ files }) => files.length > 1)
  assert.deepEqual(doubled, [])
})

test('nothing is exported that nobody imports', () => {
  const users = new Map<string, Set<string>>()
  for (const { file, text } of files)
    for (const [word] of text.matchAll(/\w+/g)) users.set(word, (users.get(word) ?? new Set()).add(file))
  assert.deepEqual(
    exported.filter(({ file, name }) => [...users.get(name)!].every((user) => user === file)),
    [],
  )
})
