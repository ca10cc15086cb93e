import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { test } from 'node:test'
import { eventTypes } from '../src/domain/event.ts'
import { texts } from './law.ts'
import { verifies } from './support/verifies.ts'

// What a reader is sent to is there, and what a reader is told to type exists.

const pages = texts().filter(({ file }) => file.endsWith('.md'))
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as {
  readonly files: readonly string[]
  readonly scripts: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** Each thing that a page names and that is missing, with the page. */
function missing(pattern: RegExp, isThere: (name: string, file: string) => boolean): readonly string[] {
  const found = pages.flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([, name = '']) => ({ file, name })))
  assert.ok(found.length > 0, `no page has ${pattern}`)
  return found.filter(({ file, name }) => !isThere(name, file)).map(({ file, name }) => `${file}: ${name}`)
}

test('every link between pages leads to a file', () => {
  assert.deepEqual(
    missing(/\]\((?!https?:|#)([^)#]+)/g, (path, file) => existsSync(join(dirname(file), path))),
    [],
  )
})

test('every link to a heading leads to one', () => {
  const headings = new Map(pages.map(({ file, text }) => [file, new Set(slugsOf(text))]))
  assert.deepEqual(
    missing(/\]\((?!https?:)([^)#]*#[^)]+)/g, (link, file) => {
      const [path = '', slug = ''] = link.split('#')
      const target = path === '' ? file : join(dirname(file), path)
      return headings.get(target)?.has(slug) ?? !target.endsWith('.md')
    }),
    [],
  )
})

/** What a forge calls the headings of a page. */
function slugsOf(text: string): readonly string[] {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

test('every page under docs/ is linked from another', () => {
  const links = pages.flatMap(({ file, text }) =>
    [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => ({ file, to: join(dirname(file), path) })),
  )
  const linked = new Set(links.filter(({ file, to }) => file !== to).map(({ to }) => to))
  const ours = pages.map(({ file }) => file).filter((file) => file.startsWith('docs/'))
  assert.ok(ours.length > 70)
  assert.deepEqual(
    ours.filter((file) => !linked.has(file)),
    [],
  )
})

test('docs/README.md has a line for every page under docs/', () => {
  const index = readFileSync('docs/README.md', 'utf8')
  const listed = [...index.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path = '']) => join('docs', path))
  const ours = globSync('docs/**/*.md').filter((file) => file !== 'docs/README.md')
  assert.deepEqual(
    listed.filter((path) => path.startsWith('docs/') && path.endsWith('.md')).toSorted(),
    ours.toSorted(),
  )
})

test('every name of the code that a recipe has between backticks is in the code', () => {
  const code = texts().filter(({ file }) => /^(src|test|docs|contracts)\/.*\.(ts|sol)$/.test(file))
  const words = new Set(code.flatMap(({ text }) => text.match(/\w+/g) ?? []))
  const names = new Set(code.map(({ file }) => basename(file)))
  const isFile = /\.(ts|sql|md|json|txt)$/
  const unknown = pages
    .filter(({ file }) => file.startsWith('docs/recipes/'))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/`([A-Za-z_]\w*(?:[.-]\w+)*)(?:\([^`]*\))?`/g)]
        .map(([, name = '']) => name)
        .filter((name) => (isFile.test(name) ? name.endsWith('.ts') && !names.has(name) : !isKnown(name, words)))
        .map((name) => `${file}: ${name}`),
    )
  assert.deepEqual(unknown, [])
})

/** `printed.text` is known when both of its words are. */
function isKnown(name: string, words: ReadonlySet<string>): boolean {
  return name.split(/[.-]/).every((word) => words.has(word))
}

test('every file and folder that a page names by its path is there', () => {
  const path = /`((?:src|test|docs|bin|web|bench(?!\/results)|deploy|contracts|examples)\/[\w./*-]+)`/g
  assert.deepEqual(
    missing(path, (name) => globSync(name).length > 0),
    [],
  )
})

test('every script that a page tells to run exists', () => {
  assert.deepEqual(
    missing(/\bnpm run ([\w:]+)/g, (name) => name in manifest.scripts),
    [],
  )
  assert.deepEqual(
    missing(/\bnpx node (?:--test )?([\w./-]+\.ts)/g, (name) => existsSync(name)),
    [],
  )
  assert.deepEqual(
    missing(/\bnpm test -- ([\w./-]+\.ts)/g, (name) => existsSync(name)),
    [],
  )
})

test('the page about dependencies has a reason for each package that the shop runs on, and for no other', () => {
  const page = readFileSync('docs/dependencies.md', 'utf8')
  const named = [...page.matchAll(/^\| `([^`]+)` +\| \S/gm)].map(([, name]) => name!)
  assert.deepEqual(named, Object.keys(manifest.dependencies).sort())
})

test('the page about events has a row for each type, and for no other', () => {
  verifies('D10.2')
  const page = readFileSync('docs/webhooks.md', 'utf8')
  const table = /\n## Event types\n(.*?)\n## /s.exec(page)![1]!
  const rows = [...table.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, types]) => types!)
  assert.deepEqual(
    rows.flatMap((types) => [...types.matchAll(/`([^`]+)`/g)].map(([, type]) => type!)).sort(),
    [...eventTypes].sort(),
  )
})

test('everything that the package shall hold is there, and `dist` is made by packing', () => {
  assert.deepEqual(
    manifest.files.filter((pattern) => globSync(pattern).length === 0),
    ['dist'],
  )
})

test('every link of a page in the package leads to a file in the package', () => {
  const inFolders = manifest.files.flatMap((pattern) => [...globSync(pattern), ...globSync(`${pattern}/**/*`)])
  const shipped = new Set([...inFolders, 'package.json', 'README.md', 'LICENSE'])
  // The pictures of the console would make the package three quarters larger; where they are not, their words are shown.
  const lost = missing(/(?<!!\[[^\]]*)\]\((?!https?:|#)([^)#]+)/g, (path, file) => {
    const target = join(dirname(file), path)
    return !shipped.has(file) || shipped.has(target) || [...shipped].some((name) => name.startsWith(`${target}/`))
  })
  assert.deepEqual(lost, [])
})

test('the workflow and the templates call what the README calls, and nothing else of ours', () => {
  const allowed = new Set(['npm install', 'npm test', 'npm start'])
  for (const file of globSync('.github/**/*.{yml,md}')) {
    const commands = readFileSync(file, 'utf8').match(/\bnpm [a-z]+/g) ?? []
    for (const command of commands) assert.ok(allowed.has(command), `${file}: ${command}`)
  }
})
