import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'

// A name that is exported has one meaning and somebody who uses it.

/** Parts that are built alike have the same names in each; the dev chain is the other end of a wire and speaks for itself. */
const ALIKE = /^src\/(rails|surfaces)\/\w+\/|^src\/devchain\//

const EXPORT = /^export (?:async )?(?:const|let|function\*?|class|type|interface) (\w+)/gm

const files = globSync(['*.ts', '{src,test,bench,bin,contracts,docs,examples}/**/*.{ts,js}'])
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
  const used = new Set(files.flatMap(({ file, text }) => importsOf(file, text)))
  const unused = exported.filter(({ file, name }) => !used.has(`${file} ${name}`) && !used.has(`${file} *`))
  assert.deepEqual(unused, [])
})

const NAMED = /(?:import|export)(?: type)? \{([^{}]*)\} from '(\.[^']+)'/g
const AWAITED = /\{([^{}]*)\} = await import\('(\.[^']+)'\)/g
const LOADED = /import\('(\.[^']+)'\)(?:\.then\(\(\{([^{}]*)\}\) =>|\)\.(\w+))/g
/** Whoever declares something anew for another module grows what is there. */
const DECLARED = /declare module '(\.[^']+)' \{\s+interface (\w+)/g
/** Anything else may use whatever there is. */
const WHOLE = /(?:\* as \w+ from |import\()'(\.[^']+)'/g

/** Each as a file and a name in it; `*` where somebody takes a file as a whole. */
function importsOf(file: string, text: string): readonly string[] {
  const named = (names: string, place: string) =>
    names.split(',').map((name) =>
      nameIn(
        place,
        name
          .trim()
          .replace(/^type /, '')
          .split(/ as |:/)[0]!,
      ),
    )
  const nameIn = (place: string, name: string) => `${join(dirname(file), place)} ${name}`
  const rest = text.replaceAll(AWAITED, '').replaceAll(LOADED, '')
  return [
    ...[...text.matchAll(NAMED), ...text.matchAll(AWAITED)].flatMap(([, names, place]) => named(names!, place!)),
    ...[...text.matchAll(LOADED)].flatMap(([, place, names, name]) => named(names ?? name!, place!)),
    ...[...text.matchAll(DECLARED)].map(([, place, name]) => nameIn(place!, name!)),
    ...[...rest.matchAll(WHOLE)].map(([, place]) => nameIn(place!, '*')),
  ]
}
